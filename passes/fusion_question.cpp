#include "passes/fusion_question.hpp"

#include <fmt/format.h>

#include "ir/support/hash.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

// In a signature: a value by its number or type, or the class of a known value that is written into the program.
enum Tag : uint32_t { kValue, kFixed, kImmediate };
constexpr uint32_t tagged(Tag tag, uint32_t value) { return value << 2 | tag; }

}  // namespace

FusionQuestions::FusionQuestions(const egraph::FrozenGraph& frozen, const TensorLanguage& language,
                                 const TensorAnalysis& facts, std::span<const ir::Target* const> targets, int threads,
                                 bool contract)
    : frozen_(frozen),
      language_(language),
      facts_(facts),
      targets_(targets),
      threads_(threads),
      contract_(contract),
      type_numbers_(frozen.id_bound(), 0) {}

size_t FusionQuestions::SignatureHash::operator()(const Signature& s) const {
  return static_cast<size_t>(hash_bytes(s.data(), s.size() * sizeof(uint32_t)).low);
}

std::optional<FusionQuestions::Asked> FusionQuestions::ask(const FusionCandidate& candidate, ClassId also) {
  const std::vector<size_t> order = evaluation_order(candidate);
  if (order.empty()) return std::nullopt;
  std::vector<ClassId> inputs = inputs_of(candidate, order, true);
  auto [entry, fresh] = questions_.try_emplace(signature(candidate, order, inputs, also));
  if (fresh) entry->second = question(candidate, order, also);
  const Question& known = entry->second;
  if (!known.program) return std::nullopt;
  if (!known.immediates) inputs = inputs_of(candidate, order, false);
  return Asked{known.program, std::move(inputs), *known.answers};
}

FusionQuestions::Question FusionQuestions::question(const FusionCandidate& candidate, std::span<const size_t> order,
                                                    ClassId also) {
  Question made;
  std::vector<ClassId> inputs;
  for (bool immediates : {true, false}) {  // where a value written as a scalar loses a shape, it is an operand
    made.immediates = immediates;
    inputs = inputs_of(candidate, order, immediates);
    made.program = program_of(candidate, order, also, inputs);
    if (made.program) break;
  }
  if (!made.program) return made;
  ir::KernelRequest request{made.program, {}, threads_, contract_};
  for (ClassId input : inputs)
    request.operands.push_back(facts_[input].fixed ? ir::OperandKind::parameter : ir::OperandKind::value);
  made.answers = &answers(request, candidate.members.size() == 1);
  return made;
}

/// Members so that each stands after the members it reads; empty where they depend on each other in a circle.
std::vector<size_t> FusionQuestions::evaluation_order(const FusionCandidate& candidate) const {
  std::vector<size_t> order;
  std::vector<bool> placed(candidate.members.size(), false);
  while (order.size() < candidate.members.size()) {
    size_t before = order.size();
    for (size_t m = 0; m < candidate.members.size(); ++m) {
      if (placed[m]) continue;
      bool ready = true;
      for (ClassId raw : frozen_.children(candidate.members[m])) {
        auto at = std::find(candidate.classes.begin(), candidate.classes.end(), frozen_.find(raw));
        ready = ready && (at == candidate.classes.end() || placed[at - candidate.classes.begin()]);
      }
      if (ready) placed[m] = true, order.push_back(m);
    }
    if (order.size() == before) return {};
  }
  if (order.back() != candidate.members.size() - 1) return {};  // the result must come last: nothing may read it
  return order;
}

FusionQuestions::Signature FusionQuestions::signature(const FusionCandidate& candidate, std::span<const size_t> order,
                                                      std::span<const ClassId> inputs, ClassId also) {
  Signature s;
  std::vector<ClassId> values(inputs.begin(), inputs.end());  // by number: inputs, then members
  const auto number = [&](ClassId id) {
    return static_cast<uint32_t>(std::find(values.begin(), values.end(), id) - values.begin());
  };
  s.push_back(static_cast<uint32_t>(inputs.size()));
  for (ClassId input : inputs) s.push_back(tagged(facts_[input].fixed ? kFixed : kValue, type_number(input)));
  for (size_t m : order) {
    s.push_back(frozen_.symbol(candidate.members[m]).value);
    s.push_back(type_number(candidate.classes[m]));
    for (ClassId raw : frozen_.children(candidate.members[m])) {
      const ClassId child = frozen_.find(raw);
      const uint32_t known = number(child);
      s.push_back(known < values.size() ? tagged(kValue, known) : tagged(kImmediate, child.value));
    }
    values.push_back(candidate.classes[m]);
  }
  s.push_back(also.valid() ? tagged(kValue, number(also)) : tagged(kImmediate, 0));
  return s;
}

/// Numbers of equal type lists are equal, from 1.
uint32_t FusionQuestions::type_number(ClassId id) {
  uint32_t& known = type_numbers_[id.value];
  if (known != 0) return known;
  std::string text;
  for (const ir::TensorType& type : facts_[id].types) text += to_string(type) + ';';
  return known = types_.try_emplace(std::move(text), static_cast<uint32_t>(types_.size() + 1)).first->second;
}

std::vector<ClassId> FusionQuestions::inputs_of(const FusionCandidate& candidate, std::span<const size_t> order,
                                                bool immediates) const {
  std::vector<ClassId> inputs;
  for (size_t m : order) {
    const NodeId node = candidate.members[m];
    for (ClassId raw : frozen_.children(node)) {
      const ClassId child = frozen_.find(raw);
      if (candidate.has(child) || std::find(inputs.begin(), inputs.end(), child) != inputs.end()) continue;
      if (immediates && immediate(child, static_cast<ir::Op>(frozen_.op(node)))) continue;
      inputs.push_back(child);
    }
  }
  return inputs;
}

/// What is neither member nor input is a known value, written into the program; null where that loses a shape (then all
/// must be inputs).
ir::ProgramRef FusionQuestions::program_of(const FusionCandidate& candidate, std::span<const size_t> order,
                                           ClassId also, std::span<const ClassId> inputs) const {
  ir::Graph program("program");
  std::unordered_map<ClassId, ir::Value> values;
  for (ClassId input : inputs)  // first, so that they are numbered by first use
    values.emplace(input, program.input(fmt::format("a{}", values.size()), facts_[input].type()));
  bool keeps_shapes = true;
  // Operands before what reads them, in their order: the order of a canonical program.
  const auto write = [&](const auto& self, size_t m) -> void {
    const NodeId node = candidate.members[m];
    const ir::Op op = static_cast<ir::Op>(frozen_.op(node));
    std::vector<ir::Value> operands;
    for (ClassId raw : frozen_.children(node)) {
      const ClassId child = frozen_.find(raw);
      if (!values.contains(child)) {
        const auto member = std::find(candidate.classes.begin(), candidate.classes.end(), child);
        if (member == candidate.classes.end()) {
          operands.push_back(program.constant(immediate_value(child, op)));
          continue;
        }
        self(self, static_cast<size_t>(member - candidate.classes.begin()));
      }
      if (!keeps_shapes) return;
      operands.push_back(values.at(child));
    }
    const ir::NodeId made = program.add(op, operands, *language_.attributes_of(frozen_.symbol(node)));
    keeps_shapes = program.node(made).types == facts_[candidate.classes[m]].types;
    values[candidate.classes[m]] = {made, 0};
  };
  write(write, order.back());
  if (!keeps_shapes) return nullptr;
  const ir::NodeId last = values.at(candidate.classes[order.back()]).node;
  for (uint32_t o = 0; o < program.node(last).types.size(); ++o) program.output("", {last, o});
  if (also.valid()) program.output("", values.at(also));
  return ir::make_program(program);
}

/// Whether an operand is written into the program: structure as it is, a number throughout as a scalar where it may
/// broadcast.
bool FusionQuestions::immediate(ClassId id, ir::Op user) const {
  return facts_[id].constant.defined() || (facts_[id].splat.defined() && ir::info(user).has(ir::kElementwise));
}
const ir::Tensor& FusionQuestions::immediate_value(ClassId id, ir::Op user) const {
  const Facts& f = facts_[id];
  return f.splat.defined() && ir::info(user).has(ir::kElementwise) ? f.splat : f.constant;
}

/// The last of several targets takes anything: it is asked for single ops only.
const std::vector<FusionQuestions::Answer>& FusionQuestions::answers(const ir::KernelRequest& request, bool single) {
  std::string key(single ? "1" : "n");
  for (ir::OperandKind kind : request.operands) key += kind == ir::OperandKind::parameter ? 'p' : 'v';
  key += request.program->text();
  auto [it, fresh] = answers_.try_emplace(std::move(key));
  if (!fresh) return it->second;
  for (const ir::Target* target : targets_) {
    if (!single && target == targets_.back() && targets_.size() > 1) continue;
    auto answer = target->estimate(request);
    if (auto* ok = std::get_if<ir::KernelEstimate>(&answer))
      it->second.push_back({true, std::string(target->name()), ok->kernel, ok->nanoseconds});
    else
      it->second.push_back({false, std::string(target->name()), std::get<ir::Refusal>(answer).reason});
  }
  return it->second;
}

}  // namespace weft::passes
