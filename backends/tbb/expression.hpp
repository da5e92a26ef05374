#pragma once
// A program with all movement resolved: elementwise expressions over strided views of the operands, cut at the
// structured ops ("anchors": a reduction, a convolution...), whose results are leaves again.
#include <boost/container/small_vector.hpp>
#include <map>
#include <string>
#include <vector>

#include "ir/program.hpp"

namespace weft::backends::tbb {

using Ints = boost::container::small_vector<int64_t, 6>;
using ExprId = int;
inline constexpr ExprId kNoExpr = -1;

int64_t product(const Ints& dims);
Ints row_major(const Ints& dims);
Ints ints_of(const ir::Shape& shape);

/// Where the bytes of a leaf come from.
struct Source {
  enum class Kind : uint8_t { input, constant, anchor } kind;
  int index;                           ///< of the input, or of the anchor
  uint32_t output = 0;                 ///< of the anchor
  const ir::Tensor* tensor = nullptr;  ///< of a constant
  ir::TensorType type;
};

struct Expr {
  enum class Kind : uint8_t { leaf, elementwise, concat } kind = Kind::leaf;
  ir::DType dtype = ir::DType::f32;
  Ints dims;
  int source = -1;                                     ///< leaf: index into Analysis::sources
  int64_t offset = 0;                                  ///< leaf: of the first element, in elements
  Ints strides;                                        ///< leaf: in elements, 0 where repeated
  const ir::Node* node = nullptr;                      ///< elementwise: op and attributes
  int axis = 0;                                        ///< concat
  boost::container::small_vector<ExprId, 3> children;  ///< of the same dims (concat: but for `axis`)
  bool operator==(const Expr&) const = default;
};

/// A structured op, or a movement that is no view; its results are leaves for what follows.
struct Anchor {
  const ir::Node* node;
  std::vector<ExprId> operands;
  std::vector<int> sources;  ///< one an output
};

/// Movement applied to expressions: leaves get other views, elementwise ops follow their operands. Equal expressions
/// share an id. A result of kNoExpr means that no view says it.
class Expressions {
 public:
  const Expr& operator[](ExprId id) const { return exprs_[static_cast<size_t>(id)]; }
  size_t size() const { return exprs_.size(); }
  ExprId leaf(int source, const ir::TensorType& type);
  ExprId elementwise(const ir::Node& node, std::vector<ExprId> children, ir::DType dtype, const Ints& dims);
  ExprId concat(std::vector<ExprId> children, int axis);
  ExprId transpose(ExprId id, const Ints& permutation);
  ExprId broadcast(ExprId id, const Ints& dims);
  ExprId reshape(ExprId id, const Ints& dims);
  ExprId slice(ExprId id, int axis, int64_t start, int64_t count, int64_t step);
  /// True where the view reads its source from first to last element, in order.
  bool is_identity(ExprId id) const;
  /// Ids reached from `roots`, operands first.
  std::vector<ExprId> reachable(const std::vector<ExprId>& roots) const;

 private:
  ExprId intern(Expr expr);
  template <typename OnLeaf, typename OnConcat>
  ExprId rebuild(ExprId id, const OnLeaf& on_leaf, const OnConcat& on_concat);
  std::vector<Expr> exprs_;
};

/// Programs above this size are refused: recursion over a program is bounded by it.
inline constexpr size_t kMaxProgramNodes = 96;

struct Analysis {
  explicit Analysis(ir::ProgramRef program);
  ir::ProgramRef program;  ///< kept: nodes are pointed to
  Expressions exprs;
  std::vector<Source> sources;  ///< the inputs first, in order
  std::vector<Anchor> anchors;  ///< in topological order, those reached from the outputs
  std::vector<ExprId> outputs;  ///< row-major bytes of each output (a last reshape is taken off)
  std::string refusal;          ///< why there is no analysis, or empty

 private:
  ExprId of(ir::Value value);
  ExprId movement(const ir::Node& node, uint32_t output);
  ExprId anchor(ir::NodeId id, uint32_t output);
  ExprId pad(const ir::Node& node);
  std::map<ir::Value, ExprId> values_;
  std::map<uint32_t, int> anchor_of_;
};

}  // namespace weft::backends::tbb
