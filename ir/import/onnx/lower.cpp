#include "ir/import/onnx/lower.hpp"

#include <algorithm>
#include <set>

#include "ir/import/onnx/emit.hpp"
#include "ir/import/onnx/handlers.hpp"
#include "ir/import/onnx/order.hpp"
#include "ir/support/error.hpp"

namespace weft::ir::onnx_import {
namespace {

constexpr int kMaxCalls = 40;                  // functions and branches inside one another
constexpr size_t kMaxNodes = size_t{1} << 20;  // after functions are expanded: a small file must not mean endless work

constexpr const char* kConditionUnknown =
    "the condition is computed at run time; it must be known at import (bind the graph input that it comes from)";

bool is_initialized(const ::onnx::GraphProto& graph, const std::set<std::string>& initializers, int input) {
  return initializers.contains(graph.input(input).name());
}

std::set<std::string> initializer_names(const ::onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) names.insert(tensor.values().name());
  return names;
}

GraphNames names_of(const ::onnx::GraphProto& graph) {
  GraphNames names;
  std::set<std::string> initialized = initializer_names(graph);
  for (int i = 0; i < graph.input_size(); ++i)
    if (!is_initialized(graph, initialized, i)) names.given.emplace_back(graph.input(i).name(), "a graph input");
  for (const auto& tensor : graph.initializer()) names.given.emplace_back(tensor.name(), "an initializer");
  for (const auto& tensor : graph.sparse_initializer())
    names.given.emplace_back(tensor.values().name(), "a sparse initializer");
  for (const auto& output : graph.output()) names.wanted.push_back(output.name());
  return names;
}

std::string domain_text(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

}  // namespace

void UnsupportedOps::add(const std::string& domain, const std::string& op, int64_t opset, const std::string& place,
                         const std::string& reason) {
  auto [it, fresh] = entries_.try_emplace({domain, op, reason}, Entry{opset, place, 0, entries_.size()});
  ++it->second.count;
}

void UnsupportedOps::report() const {
  constexpr size_t kShown = 100;
  std::vector<std::pair<size_t, std::string>> lines;
  for (const auto& [key, entry] : entries_) {
    const auto& [domain, op, reason] = key;
    std::string line = fmt::format("{} (domain {}, opset {}) at {}", op, domain_text(domain),
                                   entry.opset ? std::to_string(entry.opset) : "not imported", entry.place);
    if (entry.count > 1) line += fmt::format(", {} times", entry.count);
    if (!reason.empty()) {
      line += ": " + reason;
    } else if (std::string_view nearest = nearest_op(domain, op); !nearest.empty()) {
      line += fmt::format("; nearest supported: {}", nearest);
    }
    lines.emplace_back(entry.order, std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  std::string message = fmt::format("{} unsupported op{}:", lines.size(), lines.size() == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(lines.size(), kShown); ++i) message += "\n  " + lines[i].second;
  if (lines.size() > kShown) message += fmt::format("\n  and {} more", lines.size() - kShown);
  throw Error(ErrorCode::unsupported, std::move(message));
}

Lowering::Lowering(const Model& model, const OnnxOptions& options, const std::filesystem::path& base_dir)
    : model_(model),
      options_(options),
      reader_(model.proto, base_dir),
      builder_(model.proto->graph().name().empty() ? "main" : model.proto->graph().name()) {
  for (const auto& function : model.proto->functions())
    if (!functions_.emplace(std::pair(canonical_domain(function.domain()), function.name()), &function).second)
      fail(ErrorCode::parse, "function '{}' of domain '{}' is defined twice", function.name(), function.domain());
}

const Ref* Lowering::Scope::find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->outer)
    if (auto it = s->names.find(name); it != s->names.end()) return &it->second;
  return nullptr;
}

Graph Lowering::run() {
  const ::onnx::GraphProto& graph = model_.proto->graph();
  if (graph.output_size() == 0) fail(ErrorCode::parse, "the model has no outputs");
  check_function_calls();
  Scope scope;
  GraphNames names = names_of(graph);
  names.is_outer = [](const std::string&) { return false; };
  std::vector<int> order = order_nodes(graph.node(), names);
  declare_inputs(graph, scope);
  declare_initializers(graph, scope);
  Frame frame{&model_.opsets};
  lower_nodes(graph.node(), order, scope, frame);
  check_dead_nodes(graph.node(), order, frame);
  if (!unsupported_.empty()) unsupported_.report();
  std::set<std::string> used;
  for (const auto& output : graph.output()) {
    const Ref* ref = scope.find(output.name());
    if (!ref) fail(ErrorCode::parse, "graph output '{}' is produced by no node, input or initializer", output.name());
    WEFT_CHECK(ref->valid(), "output '{}' was not translated", output.name());
    std::string name = output.name();
    for (int i = 1; !used.insert(name).second; ++i) name = output.name() + "_" + std::to_string(i);
    builder_.output(name, *ref);
  }
  return builder_.finish();
}

void Lowering::declare_inputs(const ::onnx::GraphProto& graph, Scope& scope) {
  for (auto& [name, type] : input_types(graph, options_)) {
    auto bound = options_.binds.find(name);
    scope.names[name] =
        bound == options_.binds.end() ? builder_.input(name, type) : builder_.constant(bound->second, name);
  }
}

void Lowering::declare_initializers(const ::onnx::GraphProto& graph, Scope& scope) {
  auto declare = [&](const std::string& name, const auto& proto) {
    if (name.empty()) fail(ErrorCode::parse, "an initializer has no name");
    auto bound = options_.binds.find(name);
    Tensor tensor = reader_.read(proto);
    if (bound != options_.binds.end() && scope.outer == nullptr) {
      if (bound->second.type() != tensor.type())
        fail(ErrorCode::type_mismatch, "initializer '{}' is {}, bound to {}", name, to_string(tensor.type()),
             to_string(bound->second.type()));
      tensor = bound->second;
    }
    scope.names[name] = builder_.constant(std::move(tensor), name);
  };
  for (const auto& tensor : graph.initializer()) declare(tensor.name(), tensor);
  for (const auto& tensor : graph.sparse_initializer()) declare(tensor.values().name(), tensor);
}

void Lowering::lower_nodes(const Nodes& nodes, const std::vector<int>& order, Scope& scope, const Frame& frame) {
  for (int i : order) lower_node(nodes[i], node_place(nodes[i], i), scope, frame);
}

const ::onnx::FunctionProto* Lowering::find_function(const ::onnx::NodeProto& node) const {
  auto it = functions_.find({canonical_domain(node.domain()), node.op_type()});
  return it == functions_.end() ? nullptr : it->second;
}

void Lowering::lower_node(const ::onnx::NodeProto& node, const std::string& place, Scope& scope, const Frame& frame) {
  if (++lowered_ > kMaxNodes)
    fail(ErrorCode::limit, "more than {} nodes after expanding functions and branches", kMaxNodes);
  auto refuse = [&](int64_t opset, const std::string& reason) {
    unsupported_.add(canonical_domain(node.domain()), node.op_type(), opset, place, reason);
    for (const std::string& name : node.output())
      if (!name.empty()) scope.names[name] = Ref{};
  };
  std::string domain = canonical_domain(node.domain());
  auto imported = frame.opsets->find(domain);
  int64_t opset = imported == frame.opsets->end() ? 0 : imported->second;
  const ::onnx::FunctionProto* function = find_function(node);
  Handler handler = find_handler(domain, node.op_type());
  bool is_if = domain.empty() && node.op_type() == "If";
  if (!function && !handler && !is_if) return refuse(opset, "");
  if (!function && opset == 0) return refuse(opset, "its domain is not in the model's opset_import");
  Refs operands;
  for (const std::string& name : node.input()) {
    if (name.empty() || scope.absent.contains(name)) {
      operands.push_back(Ref{});
      continue;
    }
    const Ref* ref = scope.find(name);
    WEFT_CHECK(ref, "input '{}' of {} is not defined", name, place);
    if (!ref->valid()) {  // made by something unsupported, which is reported already
      for (const std::string& output : node.output())
        if (!output.empty()) scope.names[output] = Ref{};
      return;
    }
    operands.push_back(*ref);
  }
  Refs results;
  try {
    results = function ? lower_function(*function, node, operands, frame)
                       : call_handler(node, handler, opset, operands, scope, frame);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::invalid_argument)  // of the graph: here it is the model that is wrong, not the caller
      throw Error(ErrorCode::parse, e.message(), e.where()).within(place);
    if (e.code() != ErrorCode::unsupported || !e.where().empty()) throw e.within(place);
    return refuse(opset, e.message());
  }
  for (size_t i = 0; i < static_cast<size_t>(node.output_size()); ++i) {
    const std::string& name = node.output(static_cast<int>(i));
    if (!name.empty()) scope.names[name] = i < results.size() ? results[i] : Ref{};
  }
}

Refs Lowering::call_handler(const ::onnx::NodeProto& node, Handler handler, int64_t opset, const Refs& operands,
                            Scope& scope, const Frame& frame) {
  Call call(builder_, node, operands, opset, reader_, frame.attributes,
            [&](const ::onnx::GraphProto& graph) { return lower_subgraph(graph, scope, frame); });
  Refs results = handler ? handler(call) : lower_if(call);
  call.expect_all_read();
  return results;
}

/// The branch of a known condition; else both branches and a choice between their results.
Refs Lowering::lower_if(Call& call) {
  call.expect_inputs(1, 1);
  const ::onnx::GraphProto &then_branch = call.graph("then_branch"), &else_branch = call.graph("else_branch");
  if (builder_.dtype(call.in(0)) != DType::boolean || product(builder_.shape(call.in(0))) != Dim(1))
    fail(ErrorCode::type_mismatch, "condition {}, expected one bool", builder_.describe(call.in(0)));
  if (const Tensor* condition = builder_.known(call.in(0)))
    return call.lower(condition->at_int(0) ? then_branch : else_branch);
  // A branch that is not meant for these shapes would never run; only a known condition can leave it out.
  auto lower_branch = [&](const ::onnx::GraphProto& branch) {
    try {
      return call.lower(branch);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::limit || e.code() == ErrorCode::internal) throw;
      fail(ErrorCode::unsupported, "{} because a branch does not fit: {}", kConditionUnknown, e.what());
    }
  };
  return choose_branch(reshape(builder_, call.in(0), {}), lower_branch(then_branch), lower_branch(else_branch));
}

Refs Lowering::choose_branch(Ref condition, const Refs& yes, const Refs& no) {
  if (yes.size() != no.size()) fail(ErrorCode::parse, "branches with {} and {} outputs", yes.size(), no.size());
  Refs out;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (!yes[i].valid() || !no[i].valid()) {
      out.push_back(Ref{});
      continue;
    }
    if (builder_.type(yes[i]) != builder_.type(no[i]))
      fail(ErrorCode::unsupported, "{} because its branches give {} and {}", kConditionUnknown,
           to_string(builder_.type(yes[i])), to_string(builder_.type(no[i])));
    out.push_back(where(builder_, condition, yes[i], no[i]));
  }
  return out;
}

Refs Lowering::lower_subgraph(const ::onnx::GraphProto& graph, const Scope& outer, const Frame& frame) {
  if (frame.depth >= kMaxCalls) fail(ErrorCode::limit, "subgraphs and functions nest deeper than {}", kMaxCalls);
  if (graph.input_size()) fail(ErrorCode::parse, "a branch has {} inputs, expected none", graph.input_size());
  Scope scope{&outer, {}, {}};
  GraphNames names = names_of(graph);
  names.is_outer = [&](const std::string& name) { return outer.find(name) != nullptr; };
  std::vector<int> order = order_nodes(graph.node(), names);
  declare_initializers(graph, scope);
  lower_nodes(graph.node(), order, scope, {frame.opsets, frame.attributes, frame.depth + 1});
  Refs out;
  for (const auto& output : graph.output()) {
    const Ref* ref = scope.find(output.name());
    if (!ref) fail(ErrorCode::parse, "output '{}' of a branch is produced by no node", output.name());
    out.push_back(*ref);
  }
  return out;
}

Refs Lowering::lower_function(const ::onnx::FunctionProto& function, const ::onnx::NodeProto& node,
                              const Refs& operands, const Frame& frame) try {
  if (frame.depth >= kMaxCalls) fail(ErrorCode::limit, "functions nest deeper than {}", kMaxCalls);
  if (operands.size() > static_cast<size_t>(function.input_size()))
    fail(ErrorCode::parse, "{} inputs, expected at most {}", operands.size(), function.input_size());
  for (const auto& attribute : node.attribute())
    if (std::find(function.attribute().begin(), function.attribute().end(), attribute.name()) ==
        function.attribute().end())
      fail(ErrorCode::parse, "unknown attribute '{}'", attribute.name());
  Scope scope;
  GraphNames names;
  for (int i = 0; i < function.input_size(); ++i) {
    names.given.emplace_back(function.input(i), "a function input");
    bool given = static_cast<size_t>(i) < operands.size() && operands[static_cast<size_t>(i)].valid();
    if (given)
      scope.names[function.input(i)] = operands[static_cast<size_t>(i)];
    else
      scope.absent.insert(function.input(i));
  }
  names.wanted.assign(function.output().begin(), function.output().end());
  names.is_outer = [](const std::string&) { return false; };
  Opsets opsets = read_opsets(function.opset_import());
  if (opsets.empty()) opsets = model_.opsets;
  AttributeScope attributes{&node, &function, frame.attributes};
  lower_nodes(function.node(), order_nodes(function.node(), names), scope, {&opsets, &attributes, frame.depth + 1});
  Refs out;
  for (const std::string& name : function.output()) {
    const Ref* ref = scope.find(name);
    if (!ref) fail(ErrorCode::parse, "output '{}' is produced by no node", name);
    out.push_back(*ref);
  }
  return out;
} catch (const Error& e) {
  throw e.within("function '" + function.name() + "'");
}

/// Nodes that no output needs are not translated, but an op that nobody knows is still reported.
void Lowering::check_dead_nodes(const Nodes& nodes, const std::vector<int>& order, const Frame& frame) {
  std::vector<char> live(static_cast<size_t>(nodes.size()));
  for (int i : order) live[static_cast<size_t>(i)] = 1;
  for (int i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[i];
    std::string domain = canonical_domain(node.domain());
    if (live[static_cast<size_t>(i)] || find_function(node) || find_handler(domain, node.op_type())) continue;
    if (domain.empty() && node.op_type() == "If") continue;
    auto imported = frame.opsets->find(domain);
    unsupported_.add(domain, node.op_type(), imported == frame.opsets->end() ? 0 : imported->second,
                     node_place(node, i), "");
  }
}

}  // namespace weft::ir::onnx_import
