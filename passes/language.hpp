#pragma once
// How tensor programs live in the e-graph: symbols for ops with attributes, facts for classes, graphs in and out.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "egraph/analysis.hpp"
#include "egraph/egraph.hpp"
#include "egraph/rule.hpp"
#include "ir/graph.hpp"

namespace weft::passes {

/// Projection of one output of a node with several: get{index}(tuple). Beside the ops of ir, which keep their numbers.
inline constexpr uint32_t kGetOp = static_cast<uint32_t>(ir::kOpCount);

inline constexpr uint32_t op_number(ir::Op op) { return static_cast<uint32_t>(op); }

/// What is known of every value of a class. A tuple class (a node with several outputs) has several types.
struct Facts {
  std::vector<ir::TensorType> types;
  bool fixed = false;   ///< depends on parameters and constants alone: computed once, in the prologue
  ir::Tensor constant;  ///< the value, where it belongs to the structure; else undefined
  ir::Tensor splat;     ///< rank 0: the value of every element, where known to be one; else undefined
  const ir::TensorType& type() const { return types[0]; }
};

/// Symbols of the tensor language. The attributes half of a symbol is an id of interned attributes; of an input or
/// parameter the node of the source graph; of a constant an id of interned tensors.
class TensorLanguage : public egraph::SymbolTable {
 public:
  explicit TensorLanguage(const ir::Graph& source);

  egraph::SymbolId symbol(ir::Op op, const ir::Attributes& complete);
  egraph::SymbolId leaf(ir::NodeId source_node);
  egraph::SymbolId constant(const ir::Tensor& tensor);
  egraph::SymbolId get(uint32_t index);
  std::string name(egraph::SymbolId id) const override;

  const ir::Graph& source() const { return source_; }
  ir::Op op_of(egraph::SymbolId id) const { return static_cast<ir::Op>(op(id)); }
  const std::shared_ptr<const ir::Attributes>& attributes_of(egraph::SymbolId id) const {
    return records_[attributes(id)].attributes;
  }
  const ir::Tensor& constant_of(egraph::SymbolId id) const { return constants_[attributes(id)]; }
  uint32_t index_of(egraph::SymbolId id) const { return attributes(id); }  ///< of a get: the output

  /// Attribute values as numbers: equal numbers for equal bits, so that patterns compare without looking.
  uint32_t intern_value(const ir::AttributeValue& value);
  const ir::AttributeValue& value(uint32_t id) const { return values_[id]; }
  /// The id of an attribute of a symbol by name, or egraph::kNone.
  uint32_t attribute_value(egraph::SymbolId id, std::string_view attribute) const;
  std::span<const std::pair<std::string, uint32_t>> attribute_values(egraph::SymbolId id) const {
    return records_[attributes(id)].values;
  }

 private:
  struct Record {
    std::shared_ptr<const ir::Attributes> attributes;
    std::vector<std::pair<std::string, uint32_t>> values;
  };
  uint32_t intern_attributes(const ir::Attributes& attributes);

  const ir::Graph& source_;
  std::vector<Record> records_;
  std::unordered_map<std::string, uint32_t> record_ids_, value_ids_, constant_ids_;
  std::vector<ir::AttributeValue> values_;
  std::vector<ir::Tensor> constants_;
};

/// Types, constants and what is fixed, for every class; folds what is known into constants.
class TensorAnalysis : public egraph::Analysis {
 public:
  explicit TensorAnalysis(TensorLanguage& language) : language_(language) {}
  void make(egraph::EGraph& graph, egraph::NodeId node, egraph::ClassId id) override;
  bool join(egraph::EGraph& graph, egraph::ClassId into, egraph::ClassId from) override;
  bool update(egraph::EGraph& graph, egraph::NodeId node, egraph::ClassId id) override;
  void modify(egraph::EGraph& graph, egraph::ClassId id) override;
  /// Facts of a canonical class.
  const Facts& operator[](egraph::ClassId id) const { return facts_[id.value]; }

 private:
  Facts facts_of(const egraph::EGraph& graph, egraph::NodeId node) const;
  void know_value(const egraph::EGraph& graph, egraph::NodeId node, Facts& facts) const;

  TensorLanguage& language_;
  std::vector<Facts> facts_;
};

/// A graph in its e-graph: the classes of its outputs, in order.
struct Inserted {
  std::vector<egraph::ClassId> outputs;
  std::vector<egraph::ClassId> class_of_node;  ///< by source node id; invalid where dead
  std::vector<egraph::NodeId> e_node;          ///< by source node id: as it was written
};
Inserted insert(const ir::Graph& graph, egraph::EGraph& egraph, TensorLanguage& language);

/// Adds an op node with completed attributes; of an op with one output the class of its value.
egraph::ClassId add_op(egraph::EGraph& graph, TensorLanguage& language, ir::Op op,
                       std::span<const egraph::ClassId> children, const ir::Attributes& attributes);

}  // namespace weft::passes
