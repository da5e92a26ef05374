#pragma once
// What the targets are asked of a candidate, and what they answered: the program of a group of e-nodes, once for all
// groups that are equal but for the classes that they read.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "egraph/frozen.hpp"
#include "ir/target.hpp"
#include "passes/fusion_candidate.hpp"
#include "passes/language.hpp"

namespace weft::passes {

class FusionQuestions {
 public:
  /// One target's answer.
  struct Answer {
    bool accepted;
    std::string backend, text;  ///< text: the kernel, or why not
    uint64_t nanoseconds = 0;
  };
  struct Asked {
    ir::ProgramRef program;
    std::vector<egraph::ClassId> inputs;  ///< what the members read and do not compute, in order of first use
    std::span<const Answer> answers;      ///< live as long as this object
  };

  FusionQuestions(const egraph::FrozenGraph& frozen, const TensorLanguage& language, const TensorAnalysis& facts,
                  std::span<const ir::Target* const> targets, int threads, bool contract);

  /// What each target says of a candidate; the value of a member class `also` is an output beside the result where it
  /// is valid. Empty where the group has no program: members that depend on each other in a circle, or a result that
  /// others read.
  std::optional<Asked> ask(const FusionCandidate& candidate, egraph::ClassId also = {});

 private:
  /// Everything that a program, and so an answer, depends on: symbols, types and how the members read each other.
  using Signature = std::vector<uint32_t>;
  struct SignatureHash {
    size_t operator()(const Signature& s) const;
  };
  struct Question {
    ir::ProgramRef program;  ///< null: none
    bool immediates = true;  ///< known values are written into the program
    const std::vector<Answer>* answers = nullptr;
  };

  std::vector<size_t> evaluation_order(const FusionCandidate& candidate) const;
  Signature signature(const FusionCandidate& candidate, std::span<const size_t> order,
                      std::span<const egraph::ClassId> inputs, egraph::ClassId also);
  std::vector<egraph::ClassId> inputs_of(const FusionCandidate& candidate, std::span<const size_t> order,
                                         bool immediates) const;
  ir::ProgramRef program_of(const FusionCandidate& candidate, std::span<const size_t> order, egraph::ClassId also,
                            std::span<const egraph::ClassId> inputs) const;
  Question question(const FusionCandidate& candidate, std::span<const size_t> order, egraph::ClassId also);
  const std::vector<Answer>& answers(const ir::KernelRequest& request, bool single);
  uint32_t type_number(egraph::ClassId id);
  bool immediate(egraph::ClassId id, ir::Op user) const;
  const ir::Tensor& immediate_value(egraph::ClassId id, ir::Op user) const;

  const egraph::FrozenGraph& frozen_;
  const TensorLanguage& language_;
  const TensorAnalysis& facts_;
  std::span<const ir::Target* const> targets_;
  int threads_;
  bool contract_;
  std::unordered_map<Signature, Question, SignatureHash> questions_;
  std::unordered_map<std::string, std::vector<Answer>> answers_;  // by the request as text; entries stay where they are
  std::vector<uint32_t> type_numbers_;                            // by class; 0 = not asked yet
  std::unordered_map<std::string, uint32_t> types_;
};

}  // namespace weft::passes
