// Any bytes as text: a weft::Error or something that reads back, never a crash, a hang or an error of our own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ir/merkle.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"

namespace {

using namespace weft;

[[noreturn]] void broken(const char* what, std::string_view detail) {
  std::fprintf(stderr, "%s\n%.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

/// Runs a step on foreign text. An Error is an answer, unless it blames ourselves.
template <typename F>
void answers(F&& step) {
  try {
    step();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) broken("internal error", e.what());
  }
}

void check_expression(const std::string& printed) {
  try {
    if (ir::print_expression(ir::parse_expression(printed)) != printed)
      broken("expression prints differently", printed);
  } catch (const Error& e) {
    broken(e.what(), printed);
  }
}

void check_graph(const ir::Graph& graph) {
  std::string printed = ir::print_graph(graph, {.parameter_data = true});
  try {
    ir::verify(graph);
    ir::Graph back = ir::parse_graph(printed);
    if (ir::print_graph(back, {.parameter_data = true}) != printed) broken("graph prints differently", printed);
    if (!(ir::structural_key(back) == ir::structural_key(graph))) broken("graph has another key", printed);
  } catch (const Error& e) {
    broken(e.what(), printed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  answers([&] {
    for (const ir::Expr& e : ir::parse_expressions(text)) check_expression(ir::print_expression(e));
  });
  answers([&] { check_graph(ir::parse_graph(text)); });
  return 0;
}
