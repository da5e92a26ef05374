#pragma once
// Which of the user's nodes a class is a value of.
#include <span>
#include <string>
#include <unordered_map>

#include "passes/language.hpp"

namespace weft::passes {

struct ClassName {
  ir::NodeId node;     ///< of the graph that was inserted: the first named one with the value
  bool moved = false;  ///< the class holds it in another layout
};

/// By canonical class. A moved value is one transpose or reshape away from a class that has a name itself.
std::unordered_map<egraph::ClassId, ClassName> name_classes(const TensorLanguage& language,
                                                            const egraph::FrozenGraph& frozen,
                                                            const Inserted& inserted);

/// "a + b' + c": the names of the classes that have one, with a prime where the value is moved. `name_of` gives the
/// name of a node.
template <typename NameOf>
std::string provenance_text(const std::unordered_map<egraph::ClassId, ClassName>& names,
                            const egraph::FrozenGraph& frozen, std::span<const egraph::ClassId> classes,
                            NameOf&& name_of) {
  std::string text;
  for (egraph::ClassId id : classes)
    if (auto it = names.find(frozen.find(id)); it != names.end()) {
      if (!text.empty()) text += " + ";
      text += name_of(it->second.node);
      if (it->second.moved) text += '\'';
    }
  return text;
}

}  // namespace weft::passes
