#include "runtime/plan_codec.hpp"

#include <unordered_map>

#include "ir/text.hpp"
#include "runtime/byte_stream.hpp"
#include "runtime/plan_check.hpp"

namespace weft::runtime {
namespace {

constexpr size_t kMostRank = 64;

// --- writing

void put(ByteWriter& w, const ir::TensorType& type) {
  w.number(static_cast<uint8_t>(type.dtype)).number<uint8_t>(static_cast<uint8_t>(type.rank()));
  for (const ir::Dim& dim : type.shape) w.number<int64_t>(dim.value());
}
void put(ByteWriter& w, const std::vector<ir::PlanValue>& values) {
  w.number<uint64_t>(values.size());
  for (const ir::PlanValue& v : values) {
    w.text(v.name);
    put(w, v.type);
    w.number<uint32_t>(v.buffer.value);
  }
}
void put(ByteWriter& w, const std::vector<ir::BufferId>& ids) {
  w.number<uint64_t>(ids.size());
  for (ir::BufferId id : ids) w.number<uint32_t>(id.value);
}

using ProgramIndex = std::unordered_map<std::string_view, uint32_t>;

void put(ByteWriter& w, const ir::Step& step, const ProgramIndex& programs) {
  w.text(step.backend).text(step.kernel).number<uint32_t>(programs.at(step.program->text()));
  put(w, step.inputs);
  put(w, step.outputs);
  w.number<uint64_t>(step.operands.size());
  for (ir::OperandKind kind : step.operands) w.number(static_cast<uint8_t>(kind));
  const ir::KernelResources& r = step.resources;
  w.number<int32_t>(r.parts)
      .number<int64_t>(r.scratch_bytes)
      .text(r.implementation)
      .number<uint64_t>(r.in_place.size());
  for (int operand : r.in_place) w.number<int32_t>(operand);
  w.number<int64_t>(step.scratch_offset).number<uint64_t>(step.nanoseconds).text(step.source);
}

void put_steps(ByteWriter& w, const std::vector<ir::Step>& steps, const ProgramIndex& programs) {
  w.number<uint64_t>(steps.size());
  for (const ir::Step& step : steps) put(w, step, programs);
}

void put_programs(ByteWriter& w, const ir::Plan& plan, ProgramIndex& index) {
  std::vector<std::string_view> texts;
  for (const auto* steps : {&plan.prologue, &plan.steps})
    for (const ir::Step& step : *steps)
      if (index.try_emplace(step.program->text(), static_cast<uint32_t>(texts.size())).second)
        texts.push_back(step.program->text());
  w.number<uint64_t>(texts.size());
  for (std::string_view text : texts) w.text(text);
}

void put(ByteWriter& w, const ir::PlanStats& s) {
  w.number(s.graph_nodes)
      .number(s.egraph_nodes)
      .number(s.egraph_classes)
      .number(s.steps)
      .number(s.cost)
      .number(s.lower_bound);
  w.number<uint8_t>(s.proven).number(s.arena_lower_bound);
}

// --- reading

ir::TensorType get_type(ByteReader& r) {
  ir::TensorType type;
  type.dtype = r.enumerator(static_cast<ir::DType>(ir::kDTypeCount), "dtype");
  auto rank = r.number<uint8_t>("rank");
  if (rank > kMostRank) fail(ErrorCode::parse, "rank {} at byte {}: more than {}", rank, r.position(), kMostRank);
  for (int d = 0; d < rank; ++d) {
    auto dim = r.number<int64_t>("dimension");
    if (dim < 0) fail(ErrorCode::parse, "dimension {} at byte {}", dim, r.position());
    type.shape.push_back(ir::Dim(dim));
  }
  type.elements();  // throws where the product is too large
  return type;
}

std::vector<ir::PlanValue> get_values(ByteReader& r) {
  std::vector<ir::PlanValue> values(r.count(14, "values"));
  for (ir::PlanValue& v : values) {
    v.name = r.text("name");
    v.type = get_type(r);
    v.buffer.value = r.number<uint32_t>("buffer");
  }
  return values;
}

std::vector<ir::BufferId> get_ids(ByteReader& r) {
  std::vector<ir::BufferId> ids(r.count(4, "buffers of a step"));
  for (ir::BufferId& id : ids) id.value = r.number<uint32_t>("buffer");
  return ids;
}

ir::Tensor get_constant(ByteReader& r) {
  ir::TensorType type = get_type(r);
  std::string_view bytes = r.text("constant");
  if (static_cast<int64_t>(bytes.size()) != type.bytes())
    fail(ErrorCode::parse, "constant of {} bytes for {}", bytes.size(), to_string(type));
  ir::Tensor tensor = ir::Tensor::allocate(std::move(type));
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

ir::ProgramRef get_program(ByteReader& r) {
  std::string_view text = r.text("program");
  ir::ProgramRef program = ir::parse_expression(text, "plan program").program;
  if (!program) fail(ErrorCode::parse, "not a program: {}", text);
  if (program->text() != text) fail(ErrorCode::parse, "a program is not in canonical form: {}", text);
  return program;
}

ir::Step get_step(ByteReader& r, const std::vector<ir::ProgramRef>& programs) {
  ir::Step step;
  step.backend = r.text("backend");
  step.kernel = r.text("kernel");
  auto program = r.number<uint32_t>("program index");
  if (program >= programs.size()) fail(ErrorCode::parse, "program {} of {}", program, programs.size());
  step.program = programs[program];
  step.inputs = get_ids(r);
  step.outputs = get_ids(r);
  step.operands.resize(r.count(1, "operand kinds"));
  for (ir::OperandKind& kind : step.operands) kind = r.enumerator(static_cast<ir::OperandKind>(2), "operand kind");
  step.resources.parts = r.number<int32_t>("parts");
  step.resources.scratch_bytes = r.number<int64_t>("scratch bytes");
  step.resources.implementation = r.text("implementation");
  step.resources.in_place.resize(r.count(4, "operands in place"));
  for (int& operand : step.resources.in_place) operand = r.number<int32_t>("operand in place");
  step.scratch_offset = r.number<int64_t>("scratch offset");
  step.nanoseconds = r.number<uint64_t>("nanoseconds");
  step.source = r.text("source");
  return step;
}

std::vector<ir::Step> get_steps(ByteReader& r, const std::vector<ir::ProgramRef>& programs) {
  std::vector<ir::Step> steps(r.count(64, "steps"));
  for (ir::Step& step : steps) step = get_step(r, programs);
  return steps;
}

ir::PlanStats get_stats(ByteReader& r) {
  ir::PlanStats s;
  for (int64_t* field : {&s.graph_nodes, &s.egraph_nodes, &s.egraph_classes, &s.steps})
    *field = r.number<int64_t>("statistics");
  s.cost = r.number<uint64_t>("cost");
  s.lower_bound = r.number<uint64_t>("lower bound");
  s.proven = r.number<uint8_t>("proven") != 0;
  s.arena_lower_bound = r.number<int64_t>("arena lower bound");
  return s;
}

}  // namespace

std::string encode_plan(const ir::Plan& plan) {
  ByteWriter w;
  w.text(plan.graph_name)
      .number<int32_t>(plan.threads)
      .number<uint8_t>(plan.contract)
      .number<int64_t>(plan.arena_bytes);
  put(w, plan.stats);
  w.number<uint64_t>(plan.buffers.size());
  for (const ir::Buffer& b : plan.buffers)
    w.number(static_cast<uint8_t>(b.placement))
        .number(static_cast<uint8_t>(b.dtype))
        .number(b.bytes)
        .number(b.offset)
        .number(b.index);
  put(w, plan.inputs);
  put(w, plan.outputs);
  put(w, plan.parameters);
  w.number<uint64_t>(plan.constants.size());
  for (const ir::Tensor& c : plan.constants) {
    put(w, c.type());
    w.text({static_cast<const char*>(c.data()), c.bytes()});
  }
  ProgramIndex programs;
  put_programs(w, plan, programs);
  put_steps(w, plan.prologue, programs);
  put_steps(w, plan.steps, programs);
  w.number<uint64_t>(plan.copies.size());
  for (auto [from, to] : plan.copies) w.number(from.value).number(to.value);
  return w.take();
}

ir::Plan decode_plan(std::string_view bytes) {
  ByteReader r(bytes);
  ir::Plan plan;
  plan.graph_name = r.text("graph name");
  plan.threads = r.number<int32_t>("threads");
  plan.contract = r.number<uint8_t>("contract") != 0;
  plan.arena_bytes = r.number<int64_t>("arena bytes");
  plan.stats = get_stats(r);
  plan.buffers.resize(r.count(22, "buffers"));
  for (ir::Buffer& b : plan.buffers) {
    b.placement = r.enumerator(static_cast<ir::Placement>(6), "placement");
    b.dtype = r.enumerator(static_cast<ir::DType>(ir::kDTypeCount), "dtype");
    b.bytes = r.number<int64_t>("buffer bytes");
    b.offset = r.number<int64_t>("buffer offset");
    b.index = r.number<uint32_t>("buffer index");
  }
  plan.inputs = get_values(r);
  plan.outputs = get_values(r);
  plan.parameters = get_values(r);
  plan.constants.resize(r.count(10, "constants"));
  for (ir::Tensor& c : plan.constants) c = get_constant(r);
  std::vector<ir::ProgramRef> programs(r.count(8, "programs"));
  for (ir::ProgramRef& p : programs) p = get_program(r);
  plan.prologue = get_steps(r, programs);
  plan.steps = get_steps(r, programs);
  plan.copies.resize(r.count(8, "copies"));
  for (auto& [from, to] : plan.copies) {
    from.value = r.number<uint32_t>("copy");
    to.value = r.number<uint32_t>("copy");
  }
  r.expect_end();
  check_plan(plan);
  return plan;
}

}  // namespace weft::runtime
