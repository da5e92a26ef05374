// gather: rows of an operand by index; f32 results may go through an elementwise epilogue (token + position
// embeddings).
#include <algorithm>
#include <cstring>

#include "backends/tbb/kernel.hpp"

namespace weft::backends::tbb {
namespace {

constexpr int64_t kPiece = 1024;  // result elements that wait for the epilogue

struct GatherShape {
  int64_t outer = 1, size = 1, inner = 1, indices = 1;
};

int64_t read_index(const void* data, ir::DType dtype, int64_t at) {
  return ir::dispatch(dtype, [&]<typename T>() -> int64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<int64_t>(static_cast<const T*>(data)[at]);
    return 0;
  });
}

class GatherKernel : public FamilyKernel {
 public:
  GatherKernel(const FamilyRequest& request, GatherShape shape, int x, int indices, ir::DType dtype,
               ir::DType index_dtype, std::optional<Epilogue> epilogue)
      : FamilyKernel(request.analysis),
        shape_(shape),
        x_(x),
        indices_(indices),
        bytes_(ir::size_of(dtype)),
        index_dtype_(index_dtype),
        epilogue_(std::move(epilogue)) {
    const double rows = static_cast<double>(shape_.outer * shape_.indices),
                 n = rows * static_cast<double>(shape_.inner);
    Load load;
    load.bytes = 2 * n * static_cast<double>(bytes_) + static_cast<double>(shape_.indices) * 8;
    load.footprint = load.bytes + static_cast<double>(shape_.size);
    load.compute_ns = rows * 4 + 100;
    if (epilogue_) {
      load.compute_ns += n * epilogue_->code().nanoseconds_per_element();
      load.bytes += leaf_bytes(*analysis_, epilogue_->code());
      resources_.scratch_bytes = align64(epilogue_->scratch_bytes()) + align64(4 * std::max(kPiece, shape_.inner));
    }
    load.units = std::max<int64_t>(1, static_cast<int64_t>(n) / 4096);
    name = "gather";
    price(load, request.threads, name);
  }

  void run(const RunContext& context, int part) const override {
    const Sources bases = sources(context);
    const char* x = static_cast<const char*>(bases[static_cast<size_t>(x_)]);
    const void* indices = bases[static_cast<size_t>(indices_)];
    const Share share = share_of(shape_.outer * shape_.indices, 1, part, parts());
    if (shape_.inner == 0) return;
    if (!epilogue_ || epilogue_->trivial) {
      char* out = static_cast<char*>(context.outputs[0]);
      for (int64_t row = share.begin; row < share.end; ++row) copy_row(x, indices, row, out + row * row_bytes());
      return;
    }
    char* scratch = static_cast<char*>(context.scratch);
    Epilogue::Runner runner(*epilogue_, bases, scratch, context);
    float* buffer = reinterpret_cast<float*>(scratch + align64(epilogue_->scratch_bytes()));
    const int64_t most = std::max<int64_t>(1, kPiece / shape_.inner);
    for (int64_t row = share.begin; row < share.end; row += most) {
      const int64_t count = std::min(most, share.end - row);
      for (int64_t i = 0; i < count; ++i)
        copy_row(x, indices, row + i, reinterpret_cast<char*>(buffer) + i * row_bytes());
      runner.finish(row * shape_.inner, count * shape_.inner, buffer);
    }
  }

 private:
  int64_t row_bytes() const { return shape_.inner * static_cast<int64_t>(bytes_); }

  void copy_row(const char* x, const void* indices, int64_t row, char* to) const {
    const int64_t position = row % shape_.indices;
    int64_t index = read_index(indices, index_dtype_, position);
    const bool wrapped = index < 0 && !ir::is_signed(index_dtype_);  // an u64 above 2^63
    if (index < -shape_.size || index >= shape_.size || wrapped) {
      fail(ErrorCode::out_of_range, "index {} at position {} is outside [{}, {}]", index, position, -shape_.size,
           shape_.size - 1);
    }
    if (index < 0) index += shape_.size;
    const char* from = x + (row / shape_.indices * shape_.size + index) * row_bytes();
    if (bytes_ == 4 && shape_.inner == 1)
      std::memcpy(to, from, 4);
    else
      std::memcpy(to, from, static_cast<size_t>(row_bytes()));
  }

  GatherShape shape_;
  int x_, indices_;
  size_t bytes_;
  ir::DType index_dtype_;
  std::optional<Epilogue> epilogue_;
};

ir::Refusal no(std::string why) { return {"gather: " + std::move(why)}; }

}  // namespace

Match match_gather(const FamilyRequest& request) {
  const Analysis& analysis = *request.analysis;
  if (analysis.anchors.size() != 1) return no("not exactly one structured op");
  const Anchor& anchor = analysis.anchors[0];
  const ir::Node& node = *anchor.node;
  if (node.op != ir::Op::gather) return no(fmt::format("'{}' is no gather", ir::to_string(node.op)));
  const Source* x = plain_source(analysis, anchor.operands[0]);
  const Source* indices = plain_source(analysis, anchor.operands[1]);
  if (!x || !indices) return no("an operand is computed inside the program");
  const Ints dims = analysis.exprs[anchor.operands[0]].dims;
  int64_t axis = node.attributes->integer("axis");
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  GatherShape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i);
    (at < axis ? shape.outer : at == axis ? shape.size : shape.inner) *= dims[i];
  }
  shape.indices = product(analysis.exprs[anchor.operands[1]].dims);
  const ir::DType dtype = node.types[0].dtype;
  std::optional<Epilogue> epilogue;
  epilogue.emplace(analysis, anchor.sources[0]);
  if (!epilogue->refusal.empty()) return no(epilogue->refusal);
  if (dtype != ir::DType::f32 && !epilogue->trivial) return no(fmt::format("an epilogue on {}", ir::to_string(dtype)));
  if (epilogue->trivial) epilogue.reset();
  const int x_index = analysis.exprs[anchor.operands[0]].source, i_index = analysis.exprs[anchor.operands[1]].source;
  return std::make_unique<GatherKernel>(request, shape, x_index, i_index, dtype, indices->type.dtype,
                                        std::move(epilogue));
}

}  // namespace weft::backends::tbb
