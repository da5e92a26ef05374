// weft ops: the op table.
#include <fmt/format.h>

#include <memory>

#include "ir/import/onnx.hpp"
#include "ir/op.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tools {
namespace {

std::string signature(const ir::OpInfo& op) {
  std::string text(op.name);
  text += '(';
  for (size_t i = 0; i < op.operands.size(); ++i)
    text += fmt::format("{}{}{}", i ? ", " : "", op.operands[i].name, op.operands[i].variadic ? "..." : "");
  for (const ir::AttributeSpec& a : op.attributes)
    text += fmt::format("{}{}: {}{}", text.back() == '(' ? "" : ", ", a.name, ir::to_string(a.kind),
                        a.fallback ? " = " + ir::print_attribute(*a.fallback) : "");
  return text + ')';
}

struct Ops {
  std::string name;
  bool onnx = false;

  void run() const {
    if (onnx) {
      for (const ir::OnnxOpSupport& op : ir::onnx_ops())
        fmt::print("{}{}{}\n", op.domain, op.domain.empty() ? "" : ".", op.name);
      return;
    }
    if (!name.empty()) return one();
    for (const ir::OpInfo& op : ir::all_ops()) fmt::print("{:16} {}\n", op.name, op.summary);
  }
  void one() const {
    std::optional<ir::Op> op = ir::op_from_string(name);
    if (!op) fail(ErrorCode::invalid_argument, "no op named '{}'", name);
    const ir::OpInfo& info = ir::info(*op);
    fmt::print("{}\n  {}\n", signature(info), info.summary);
    if (!info.gradient.empty()) fmt::print("  gradient: {}\n", info.gradient);
    for (std::string_view example : info.examples) fmt::print("  {}\n", example);
  }
};

}  // namespace

void add_ops(CLI::App& app, Outcome&) {
  CLI::App* command = app.add_subcommand("ops", "list the ops, or explain one");
  auto state = std::make_shared<Ops>();
  command->add_option("op", state->name, "the op to explain");
  command->add_flag("--onnx", state->onnx, "list the ONNX ops that models may use instead");
  command->callback([state] { state->run(); });
}

}  // namespace weft::tools
