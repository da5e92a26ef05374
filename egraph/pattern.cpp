#include "egraph/pattern.hpp"

#include <algorithm>

#include "egraph/frozen.hpp"
#include "ir/support/error.hpp"

namespace weft::egraph {

Pattern::Part Pattern::push(Node node) {
  for (Part child : node.children)
    if (child >= parts_.size()) fail(ErrorCode::invalid_argument, "pattern part {} does not exist yet", child);
  if (node.kind != Node::Kind::variable) {
    if (applications_ == kMaxParts) fail(ErrorCode::limit, "a pattern has more than {} applications", kMaxParts);
    node.application = applications_++;
  }
  parts_.push_back(std::move(node));
  return static_cast<Part>(parts_.size() - 1);
}

Pattern::Part Pattern::variable(uint32_t variable) {
  if (variable > 0xffff) fail(ErrorCode::out_of_range, "pattern variable {} is beyond 65535", variable);
  variables_ = std::max(variables_, variable + 1);
  return push({Node::Kind::variable, variable, kNone, kNone, kNone, {}});
}

Pattern::Part Pattern::apply(uint32_t op, std::vector<Part> children, uint32_t matcher) {
  return push({Node::Kind::apply, kNone, op, matcher, kNone, std::move(children)});
}

Pattern::Part Pattern::apply_sequence(uint32_t op, uint32_t sequence, uint32_t matcher) {
  if (sequence > 0xffff) fail(ErrorCode::out_of_range, "sequence variable {} is beyond 65535", sequence);
  sequences_ = std::max(sequences_, sequence + 1);
  return push({Node::Kind::sequence, sequence, op, matcher, kNone, {}});
}

void Pattern::root(Part part) {
  if (part >= parts_.size()) fail(ErrorCode::invalid_argument, "pattern part {} does not exist", part);
  roots_.push_back(part);
}

std::span<const ClassId> Substitution::sequence(uint32_t variable) const {
  return frozen->children(sequence_nodes[variable]);
}

}  // namespace weft::egraph
