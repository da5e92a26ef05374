#include "passes/recorded_search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "passes/canonicalise.hpp"
#include "passes/chosen_graph.hpp"
#include "passes/lower_direct.hpp"
#include "passes/pass_runner.hpp"
#include "passes/schedule.hpp"

namespace weft::passes {

using egraph::ClassId;
using egraph::NodeId;

namespace {

const Options& searching(const Options& options) {
  if (options.level < 1)
    fail(ErrorCode::unsupported, "at level 0 nothing is searched: there is no e-graph; use -O1 or more");
  return options;
}

/// `conv+add+relu`: the ops of a program in order.
std::string ops_of(const ir::Graph& program) {
  std::string text;
  for (const ir::Node& node : program.nodes())
    if (!ir::info(node.op).has(ir::kLeaf)) text += (text.empty() ? "" : "+") + std::string(to_string(node.op));
  return text.empty() ? "nothing" : text;
}

}  // namespace

RecordedSearch::RecordedSearch(const ir::Graph& graph, std::span<const ir::Target* const> targets,
                               const Options& options)
    : targets_(targets), options_(searching(options)) {
  PassRunner run(options, report_);
  std::vector<ir::NodeId> canonical_ids;
  run.graph_pass("canonicalise", canonical_, [&] { canonical_ = canonicalise(graph, &canonical_ids); });
  if (canonical_ids.empty()) {  // skipped
    canonical_ = graph;
    for (uint32_t n = 0; n < graph.size(); ++n) canonical_ids.emplace_back(n);
  }
  run.graph_pass("roll", canonical_, [&] {
    rolled_ = roll(canonical_);
    run.detail(describe(rolled_));
  });
  search(run);
  if (run_->obstacle()) {
    rolled_ = Rolled();
    search(run);
  }
  find_new_ids(canonical_ids);
  for (const egraph::PhaseReport& phase : run_->phases())
    for (const egraph::Growth& growth : phase.growth) made_.push_back({growth.first, growth.end, growth.rule});
  names_ = name_classes(run_->language(), run_->frozen(), run_->inserted());
  for (uint32_t n = 0; n < run_->searched().size(); ++n) {
    const ir::Node& node = run_->searched().node(ir::NodeId(n));
    const NodeId written = run_->inserted().e_node[n];
    if (written.valid() && !node.name.empty() && node.types.size() == 1 && !ir::info(node.op).has(ir::kLeaf))
      written_.try_emplace(written, n);
  }
}

void RecordedSearch::search(PassRunner& run) {
  run_ = std::make_unique<SearchRun>(canonical_, rolled_, targets_, options_, report_, true);
  run_search(*run_, run_->searched(), run, result_);
}

void RecordedSearch::find_new_ids(const std::vector<ir::NodeId>& canonical_ids) {
  places_.assign(canonical_ids.size(), {});
  new_ids_ = canonical_ids;
  if (rolled_.rolls.empty()) return;
  std::vector<ir::NodeId> searched(canonical_.size());
  std::vector<Place> places(canonical_.size());
  for (size_t r = 0; r < rolled_.rolls.size(); ++r) {
    const Roll& roll = rolled_.rolls[r];
    for (size_t block = 0; block < roll.left_out.size(); ++block)
      for (size_t role = 0; role < roll.left_out[block].size(); ++role) {
        const uint32_t node = roll.left_out[block][role].value;
        searched[node] = roll.blocks[1][role], places[node] = {roll.copies, r, block + 1, role};
      }
  }
  for (uint32_t n = 0; n < rolled_.source_of.size(); ++n)
    if (rolled_.source_of[n].valid())
      searched[rolled_.source_of[n].value] = ir::NodeId(n), places[rolled_.source_of[n].value] = {};
  for (size_t r = 0; r < rolled_.rolls.size(); ++r) {  // the neighbours of those that were left out
    const Roll& roll = rolled_.rolls[r];
    for (size_t role = 0; role < roll.blocks[1].size(); ++role) {
      if (roll.blocks[0][role] == roll.blocks[1][role]) continue;  // shared by all blocks
      for (size_t kept : {1, 2})
        if (const ir::NodeId source = rolled_.source_of[roll.blocks[kept][role].value]; source.valid())
          places[source.value] = {0, r, kept == 1 ? 0 : roll.left_out.size() + 1, role};
    }
  }
  for (size_t n = 0; n < new_ids_.size(); ++n) {
    if (!new_ids_[n].valid()) continue;
    places_[n] = places[new_ids_[n].value];
    new_ids_[n] = searched[new_ids_[n].value];
  }
}

NodeId RecordedSearch::e_node_before(ir::NodeId node) const {
  if (node.value >= places_.size() || places_[node.value].roll == kNone) return NodeId();
  const Place& place = places_[node.value];
  const Roll& roll = rolled_.rolls[place.roll];
  return place.block <= roll.left_out.size() ? run_->inserted().e_node[roll.blocks[0][place.role].value] : NodeId();
}

RecordedSearch::Names RecordedSearch::names_around(ir::NodeId node, bool by_first) const {
  if (node.value >= places_.size() || places_[node.value].roll == kNone) return {};
  const Place& place = places_[node.value];
  const Roll& roll = rolled_.rolls[place.roll];
  const size_t copies = roll.left_out.size();
  if (place.block == 0 && !by_first) return {};
  Names names = rolled_.source_of;
  const auto tell = [&](size_t searched, size_t block) {
    for (size_t role = 0; role < roll.blocks[searched].size(); ++role)
      names[roll.blocks[searched][role].value] = block > 0 && block <= copies
                                                     ? roll.left_out[block - 1][role]
                                                     : rolled_.source_of[roll.blocks[block ? 2 : 1][role].value];
  };
  const size_t first = by_first ? place.block : std::min(place.block, copies) - 1;  // what the first block stands for
  tell(0, first), tell(2, first + 2), tell(1, first + 1);
  return names;
}

const std::string& RecordedSearch::name(ir::NodeId searched, const Names& names) const {
  const bool own = names.empty() || !names[searched.value].valid();
  return own ? run_->searched().node(searched).name : canonical_.node(names[searched.value]).name;
}

uint32_t RecordedSearch::stage_of(uint32_t number, uint32_t Stage::*end) const {
  const std::vector<Stage>& stages = run_->stages();
  const auto at = std::upper_bound(stages.begin(), stages.end(), number,
                                   [&](uint32_t n, const Stage& stage) { return n < stage.*end; });
  return static_cast<uint32_t>(std::min<ptrdiff_t>(at - stages.begin(), static_cast<ptrdiff_t>(stages.size()) - 1));
}

Birth RecordedSearch::birth(NodeId node) const {
  Birth birth{stage_of(node.value, &Stage::node_end), {}, {}};
  const auto made =
      std::upper_bound(made_.begin(), made_.end(), node.value, [](uint32_t n, const Made& m) { return n < m.end; });
  if (made != made_.end() && made->first <= node.value && made->rule < run_->rules().size()) {
    birth.rule = run_->rules()[made->rule].name;
    birth.origin = run_->rules()[made->rule].origin;
  } else if (birth.stage == 0) {
    birth.rule = "written in the model";
  } else {
    birth.rule = birth.stage + 1 == run_->stages().size() ? "offered by a backend" : "folded by the analysis";
  }
  return birth;
}

Birth RecordedSearch::reason(egraph::Reason reason, uint32_t record) const {
  Birth birth{stage_of(record, &Stage::merge_end), {}, {}};
  if (reason.rule < run_->rules().size()) {
    birth.rule = run_->rules()[reason.rule].name;
    birth.origin = run_->rules()[reason.rule].origin;
  } else {
    birth.rule = reason.rule == egraph::Reason::kCongruence ? "equal operands"
                 : reason.rule == egraph::Reason::kAnalysis ? "known value"
                                                            : "kernel of this value";
  }
  return birth;
}

NodeId RecordedSearch::e_node(ir::NodeId node) const {
  const ir::NodeId searched = node.value < new_ids_.size() ? new_ids_[node.value] : ir::NodeId();
  return searched.valid() ? run_->inserted().e_node[searched.value] : NodeId();
}

std::string RecordedSearch::provenance_of(std::span<const ClassId> classes, const Names& names) const {
  return provenance_text(names_, run_->frozen(), classes,
                         [&](ir::NodeId n) -> const std::string& { return name(n, names); });
}

std::string RecordedSearch::name_of(ClassId id, const Names& names) const { return provenance_of({&id, 1}, names); }

std::string RecordedSearch::provenance(NodeId node, const Names& names) const {
  std::vector<ClassId> classes{run_->frozen().class_of(node)};
  if (auto it = run_->fusion().kernels.find(node); it != run_->fusion().kernels.end()) classes = it->second.computes;
  return provenance_of(classes, names);
}

std::string RecordedSearch::with_attributes(egraph::SymbolId symbol, std::span<const ClassId> children) const {
  const ir::Op op = run_->language().op_of(symbol);
  const ir::Attributes& attributes = *run_->language().attributes_of(symbol);
  std::vector<ir::TensorType> types;
  for (ClassId child : children) types.push_back(run_->facts(child).type());
  std::string text;
  for (const ir::AttributeSpec& spec : ir::info(op).attributes)
    if (const ir::AttributeValue* value = attributes.find(spec.name);
        value && !ir::is_default(op, attributes, spec.name, types))
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", spec.name, ir::print_attribute(*value));
  return text;
}

std::string RecordedSearch::label(NodeId node) const {
  const egraph::SymbolId symbol = run_->frozen().symbol(node);
  const uint32_t number = run_->frozen().op(node);
  if (number == kGetOp) return run_->language().name(symbol);
  if (static_cast<ir::Op>(number) == ir::Op::constant) return term(node);
  if (ir::info(static_cast<ir::Op>(number)).has(ir::kLeaf)) return std::string(to_string(static_cast<ir::Op>(number)));
  if (static_cast<ir::Op>(number) == ir::Op::kernel) {
    const ir::Attributes& attributes = *run_->language().attributes_of(symbol);
    return fmt::format("{}.{}: {}", attributes.text("backend"), attributes.text("kernel"),
                       ops_of(attributes.program("program")->graph()));
  }
  const std::string attributes = with_attributes(symbol, run_->frozen().children(node));
  return std::string(to_string(static_cast<ir::Op>(number))) + (attributes.empty() ? "" : " ") + attributes;
}

std::string RecordedSearch::term(NodeId node, const Names& names, uint32_t depth) const {
  const egraph::EGraph& graph = run_->graph();
  const egraph::SymbolId symbol = graph.symbol(node);
  const uint32_t number = graph.op(node);
  const std::span<const ClassId> children = graph.original_children(node);
  if (number != kGetOp && static_cast<ir::Op>(number) == ir::Op::kernel) return label(node);
  if (number != kGetOp && ir::info(static_cast<ir::Op>(number)).has(ir::kLeaf)) {
    if (static_cast<ir::Op>(number) != ir::Op::constant)
      return name(ir::NodeId(run_->language().attributes(symbol)), names);
    const ir::Tensor& tensor = run_->language().constant_of(symbol);
    std::string text = ir::print_tensor(tensor);
    if (tensor.elements() == 1) text = text.substr(text.rfind('[') + 1, text.rfind(']') - text.rfind('[') - 1);
    return text.size() <= 40 ? text : text.substr(0, 36) + "...";
  }
  if (depth == 0) {
    const std::string known = name_of(graph.class_of(node), names);
    return known.empty() ? "..." : known;
  }
  std::string text = number == kGetOp ? fmt::format("get[{}]", run_->language().index_of(symbol))
                                      : std::string(to_string(static_cast<ir::Op>(number)));
  text += '(';
  for (size_t i = 0; i < children.size(); ++i) {
    const NodeId child(children[i].value);
    const auto known = written_.find(child);
    text += (i ? ", " : "") + (known == written_.end() ? term(child, names, depth - 1) : name(known->second, names));
  }
  const std::string attributes = number == kGetOp ? "" : with_attributes(symbol, children);
  return text + (attributes.empty() || children.empty() ? "" : ", ") + attributes + ')';
}

RecordedPlan RecordedSearch::plan() const {
  const int threads = std::max(1, options_.threads);
  RecordedPlan out{
      schedule(lower_direct(result_.lowered, targets_, threads), targets_, threads, may_contract(options_)), {}, {}};
  const auto read_marks = [](std::vector<ir::Step>& steps, std::vector<NodeId>& nodes) {
    for (ir::Step& step : steps) {
      const size_t mark = step.source.rfind(kNodeMark);
      nodes.push_back(mark == std::string::npos ? NodeId() : NodeId(std::stoi(step.source.substr(mark + 1))));
      if (mark != std::string::npos) step.source.resize(mark);
    }
  };
  read_marks(out.plan.steps, out.steps);
  read_marks(out.plan.prologue, out.prologue);
  return out;
}

std::string RecordedSearch::full_label(NodeId node) const { return run_->language().name(run_->frozen().symbol(node)); }

std::string RecordedSearch::facts(ClassId id) const {
  const Facts& facts = run_->facts(id);
  std::string text;
  for (const ir::TensorType& type : facts.types) text += (text.empty() ? "" : ", ") + to_string(type);
  if (facts.constant.defined())
    text += " constant";
  else if (facts.splat.defined())
    text += " all " + ir::print_tensor(facts.splat);
  else if (facts.fixed)
    text += " fixed";
  return text;
}

}  // namespace weft::passes
