#include "egraph/extraction/answer.hpp"

#include "ir/support/error.hpp"

namespace weft::egraph::extraction {

namespace {

Answer add_up(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost, const Offer& offer) {
  Answer answer;
  std::vector<NodeId> choice(graph.id_bound());
  for (NodeId node : offer.picks) choice[graph.class_of(node).value] = node;
  answer.cost = choice_cost(graph, roots, choice, cost);
  WEFT_CHECK(answer.cost <= offer.cost, "the choice costs {}, the search said {}", answer.cost, offer.cost);
  answer.choice.resize(graph.id_bound());
  for (NodeId node : chosen_order(graph, roots, choice)) answer.choice[graph.class_of(node).value] = node;
  return answer;
}

}  // namespace

Answer checked_answer(const FrozenGraph& graph, std::span<const ClassId> roots, const NodeCost& cost,
                      const Offer& found, const Offer& safe) {
  std::string fault;
  try {
    return add_up(graph, roots, cost, found);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::internal) throw;
    fault = error.what();
  }
  Answer answer = add_up(graph, roots, cost, safe);
  answer.fault = std::move(fault);
  return answer;
}

}  // namespace weft::egraph::extraction
