#include "backends/tbb/kernel.hpp"

#include <algorithm>
#include <set>

namespace weft::backends::tbb {

Sources FamilyKernel::sources(const RunContext& context) const {
  Sources result;
  for (const Source& source : analysis_->sources) {
    switch (source.kind) {
      case Source::Kind::input:
        result.push_back(context.inputs[static_cast<size_t>(source.index)]);
        break;
      case Source::Kind::constant:
        result.push_back(source.tensor->data());
        break;
      case Source::Kind::anchor:
        result.push_back(nullptr);
        break;
    }
  }
  return result;
}

void FamilyKernel::price(const Load& load, int threads, std::string implementation) {
  resources_.parts = choose_parts(load, threads);
  resources_.implementation = std::move(implementation) + ":" + instruction_set();
  nanoseconds = tbb::nanoseconds(load, threads);
}

namespace {

/// How many times more bytes a view fetches than it reads, because caches hold lines of 64 bytes.
double line_waste(const Ints& dims, const Ints& strides, size_t element_bytes) {
  int64_t run = 1, gap = 0;
  for (size_t again = dims.size(); again-- > 0;) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (strides[i] == run && dims[i] > 1) {
        run *= dims[i];
        break;
      }
    }
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (strides[i] > run && dims[i] > 1 && (gap == 0 || strides[i] < gap)) gap = strides[i];
  }
  const double bytes = static_cast<double>(run) * static_cast<double>(element_bytes);
  if (gap == 0 || bytes >= 64) return 1;
  return std::min(64 / bytes, static_cast<double>(gap) / static_cast<double>(run));
}

}  // namespace

double leaf_bytes(const Analysis& analysis, const Code& code) {
  double bytes = 0;
  std::set<int> seen;
  const auto count = [&](int source, const Ints& strides, ir::DType dtype, double share) {
    if (analysis.sources[static_cast<size_t>(source)].kind == Source::Kind::anchor) return;
    double distinct =
        static_cast<double>(ir::size_of(dtype)) * share * line_waste(code.dims, strides, ir::size_of(dtype));
    for (size_t i = 0; i < code.dims.size(); ++i) {
      if (strides[i] != 0) distinct *= static_cast<double>(code.dims[i]);
    }
    bytes += seen.insert(source).second ? distinct : distinct / 4;  // a second view of the same bytes mostly hits
  };
  for (const CodeLeaf& leaf : code.leaves) {
    for (const CodePiece& piece : leaf.pieces)
      count(piece.source, piece.strides, leaf.dtype,
            static_cast<double>(piece.count) / static_cast<double>(code.dims.back()));
    if (leaf.pieces.empty()) count(leaf.source, leaf.strides, leaf.dtype, 1);
  }
  return bytes;
}

const Source* plain_source(const Analysis& analysis, ExprId id) {
  if (!analysis.exprs.is_identity(id)) return nullptr;
  const Source& source = analysis.sources[static_cast<size_t>(analysis.exprs[id].source)];
  return source.kind == Source::Kind::anchor || source.type.elements() != product(analysis.exprs[id].dims) ? nullptr
                                                                                                           : &source;
}

Epilogue::Epilogue(const Analysis& analysis, int anchor_source, std::vector<size_t> outputs)
    : anchor_source_(anchor_source), outputs_(std::move(outputs)) {
  if (outputs_.empty()) {
    for (size_t i = 0; i < analysis.outputs.size(); ++i) outputs_.push_back(i);
  }
  std::vector<ExprId> roots;
  for (size_t i : outputs_) roots.push_back(analysis.outputs[i]);
  elements_ = analysis.sources[static_cast<size_t>(anchor_source)].type.elements();
  const Expr& first = analysis.exprs[roots[0]];
  for (ExprId root : roots) {
    if (analysis.exprs[root].dims != first.dims) refusal = "the outputs have different shapes";
  }
  if (!refusal.empty()) return;
  if (product(first.dims) != elements_) {
    refusal = "the output does not have one element for each of the structured op's";
    return;
  }
  for (ExprId id : analysis.exprs.reachable(roots)) {
    const Expr& e = analysis.exprs[id];
    if (e.kind == Expr::Kind::concat) refusal = "a concat follows the structured op";
    if (e.kind == Expr::Kind::leaf && e.source == anchor_source && !analysis.exprs.is_identity(id)) {
      refusal = "the structured op's result is moved by what follows it";
    }
    if (e.kind == Expr::Kind::leaf && e.source != anchor_source &&
        analysis.sources[static_cast<size_t>(e.source)].kind == Source::Kind::anchor) {
      refusal = "a second structured op in the epilogue";
    }
  }
  if (!refusal.empty()) return;
  trivial = roots.size() == 1 && first.kind == Expr::Kind::leaf;
  code_.emplace(analysis, roots);
  refusal = code_->refusal;
}

Epilogue::Runner::Runner(const Epilogue& epilogue, Sources sources, char* scratch, const RunContext& context)
    : epilogue_(epilogue) {
  for (size_t i : epilogue.outputs_) outputs_.push_back(context.outputs[i]);
  if (!epilogue.trivial) block_.emplace(*epilogue.code_, std::move(sources), scratch);
}

float* Epilogue::Runner::place(int64_t begin, float* buffer) const {
  return epilogue_.trivial ? static_cast<float*>(outputs_[0]) + begin : buffer;
}

void Epilogue::Runner::finish(int64_t begin, int64_t n, const float* results) {
  if (epilogue_.trivial) {
    float* out = static_cast<float*>(outputs_[0]) + begin;
    if (out != results) std::copy_n(results, n, out);
    return;
  }
  // The leaf's index counts from the first element of the whole result.
  const auto base = reinterpret_cast<uintptr_t>(results) - static_cast<uintptr_t>(begin) * sizeof(float);
  block_->set_source(epilogue_.anchor_source_, reinterpret_cast<const void*>(base));
  block_->run_range(begin, begin + n, outputs_.data());
}

}  // namespace weft::backends::tbb
