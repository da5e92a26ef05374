#include "backends/onednn/matmul_kernel.hpp"

#include <algorithm>

#include "backends/onednn/cost.hpp"
#include "backends/onednn/launcher.hpp"
#include "ir/support/error.hpp"

namespace weft::backends::onednn {
namespace {

class MatmulKernel : public Kernel {
 public:
  MatmulKernel(MatmulForm form, const MatmulSplit& split) : form_(std::move(form)), axis_(split.axis) {
    const SingleThreaded guard;
    resources_.parts = split.parts;
    const int64_t total = axis_size(form_.destination.axes[axis_]);
    for (int p = 0; p < split.parts; ++p) {
      const int64_t first = total * p / split.parts, count = total * (p + 1) / split.parts - first;
      size_t v = 0;
      while (v < variants_.size() && variants_[v].count != count) ++v;
      if (v == variants_.size()) variants_.push_back(build(count));
      parts_.push_back({first, v});
    }
  }

  const ir::KernelResources& resources() const override { return resources_; }

  void run(const RunContext& context, int part) const override {
    const SingleThreaded guard;
    const Part& p = parts_[static_cast<size_t>(part)];
    const Variant& v = variants_[p.variant];
    const auto input = [&](const View& view) {
      return static_cast<const float*>(context.inputs[static_cast<size_t>(view.input)]) + view.offset;
    };
    std::vector<Argument> list{{input(form_.a) + (splits_a() ? step(form_.a, p.first) : 0)},
                               {input(form_.b) + (splits_b() ? step(form_.b, p.first) : 0)},
                               {static_cast<float*>(context.outputs[0]) + step(form_.destination, p.first)},
                               {context.scratch}};
    for (const Step& s : form_.steps) {
      if (s.spread == Spread::constant) list.push_back({&s.constant});
      if (s.spread == Spread::full) list.push_back({input(s.operand) + step(s.operand, p.first)});
    }
    v.launcher->execute(list);
  }

 private:
  struct Variant {
    int64_t count;
    std::unique_ptr<Launcher> launcher;
  };
  struct Part {
    int64_t first;
    size_t variant;
  };

  // The split axis is a row of the result (no axis of b), a column (no axis of a), or a batch axis of all three.
  bool splits_a() const { return axis_ + 1 < form_.destination.axes.size(); }
  bool splits_b() const { return axis_ + 2 != form_.destination.axes.size(); }
  int64_t step(const View& view, int64_t first) const { return first * even_stride(view.axes[axis_]).value_or(0); }

  /// Descriptor of a view with `count` entries along the split axis where the view has that axis at all; repeated axes
  /// are 1.
  Desc describe(const View& view, int64_t count, bool splits) const {
    Dims dims, strides;
    for (size_t i = 0; i < view.axes.size(); ++i) {
      const int64_t stride = even_stride(view.axes[i]).value_or(0);
      const int64_t size = axis_size(view.axes[i]);
      dims.push_back(stride == 0 ? 1 : splits && i == axis_ ? count : size);
      strides.push_back(stride);
    }
    // A unit axis may have any stride; oneDNN wants one that nests.
    int64_t reach = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (strides[i] == 0) strides[i] = reach;
      reach = std::max(reach, strides[i] * dims[i]);
    }
    return f32_desc(dims, strides);
  }

  Variant build(int64_t count) {
    const size_t rank = form_.destination.axes.size();
    const Desc a = describe(form_.a, count, splits_a()), b = describe(form_.b, count, splits_b());
    const Desc to = describe(form_.destination, count, true);
    std::vector<PostOp> post_ops;
    std::vector<std::pair<int, Desc>> operands;
    for (const Step& s : form_.steps) {
      if (s.spread == Spread::none) {
        append_eltwise(s, post_ops);
        continue;
      }
      const Desc desc = s.spread == Spread::constant ? f32_desc(Dims(rank, 1)) : describe(s.operand, count, true);
      operands.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(post_ops.size())) | DNNL_ARG_SRC_1, desc});
      post_ops.push_back({PostOp::Kind::binary, binary_algorithm(s.kind), 0, 0, desc});
    }
    Compiled c = make_matmul(a, b, to, form_.scale, post_ops);
    if (c.implementation.find("ref") != std::string::npos) {
      fail(ErrorCode::unsupported, "oneDNN would run this matmul by its slow implementation {}", c.implementation);
    }
    resources_.implementation = c.implementation;
    resources_.scratch_bytes = std::max(resources_.scratch_bytes, static_cast<int64_t>(c.scratchpad.get_size()));
    std::vector<std::pair<int, Desc>> list{
        {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, to}, {DNNL_ARG_SCRATCHPAD, c.scratchpad}};
    list.insert(list.end(), operands.begin(), operands.end());
    return {count, std::make_unique<Launcher>(std::move(c.primitive), std::move(list))};
  }

  MatmulForm form_;
  size_t axis_;
  std::vector<Variant> variants_;
  std::vector<Part> parts_;
  ir::KernelResources resources_;
};

}  // namespace

double matmul_flops(const MatmulForm& form) {
  return 2.0 * static_cast<double>(element_count(form.destination)) *
         static_cast<double>(axis_size(form.a.axes.back()));
}

MatmulSplit split_matmul(const MatmulForm& form, int threads, double nanoseconds) {
  const int parts = worthwhile_parts(nanoseconds, threads);
  MatmulSplit best;
  for (size_t i = 0; i < form.destination.axes.size(); ++i) {  // batch axes first, then rows, then columns
    const int64_t size = axis_size(form.destination.axes[i]);
    const int fit = static_cast<int>(std::min<int64_t>(parts, size));
    if (fit < 2) continue;
    const int64_t largest = (size + fit - 1) / fit;
    const MatmulSplit split{fit, i, static_cast<double>(size) / static_cast<double>(largest * fit)};
    if (split.parts * split.balance > 1.05 * best.parts * best.balance) best = split;
  }
  return best;
}

std::unique_ptr<Kernel> make_matmul_kernel(MatmulForm form, const MatmulSplit& split) {
  return std::make_unique<MatmulKernel>(std::move(form), split);
}

}  // namespace weft::backends::onednn
