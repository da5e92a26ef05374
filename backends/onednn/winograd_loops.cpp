// Minimal filtering F(2x2, 3x3) and F(4x4, 3x3): A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2015. F(4x4) at the points 0, +-5/8, +-3/2 and infinity, all exact in binary: its error is twice that of
// plain sums, where the usual points 0, +-1, +-2 make it five times.
#include "backends/onednn/winograd_loops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/onednn/winograd_loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/onednn/micro_gemm_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::backends::onednn::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kLanes = static_cast<int64_t>(kPanelLanes);

struct F4 {
  static constexpr int kOutput = 4, kPoints = 6;
  static constexpr float kP = 0.625f, kQ = 1.5f;  // the points
  static constexpr float kP2 = kP * kP, kQ2 = kQ * kQ;

  /// y = B^T x of six vectors `from` apart, to places `to` apart.
  static HWY_INLINE void source(const PanelVec* x, int from, PanelVec* y, int to) {
    const PanelTag d;
    const PanelVec x1 = x[from], x2 = x[2 * from], x3 = x[3 * from], x4 = x[4 * from];
    const PanelVec both = hn::Set(d, kP2 * kQ2), sum = hn::Set(d, kP2 + kQ2);
    y[0] = hn::MulAdd(both, x[0], hn::NegMulAdd(sum, x2, x4));
    PanelVec even = hn::NegMulAdd(hn::Set(d, kQ2), x2, x4), odd = hn::NegMulAdd(hn::Set(d, kQ2), x1, x3);
    y[to] = hn::MulAdd(hn::Set(d, kP), odd, even);
    y[2 * to] = hn::NegMulAdd(hn::Set(d, kP), odd, even);
    even = hn::NegMulAdd(hn::Set(d, kP2), x2, x4), odd = hn::NegMulAdd(hn::Set(d, kP2), x1, x3);
    y[3 * to] = hn::MulAdd(hn::Set(d, kQ), odd, even);
    y[4 * to] = hn::NegMulAdd(hn::Set(d, kQ), odd, even);
    y[5 * to] = hn::MulAdd(both, x1, hn::NegMulAdd(sum, x3, x[5 * from]));
  }
  /// y = A^T x.
  static HWY_INLINE void sums(const PanelVec* x, int from, PanelVec* y, int to) {
    const PanelTag d;
    const PanelVec x1 = x[from], x2 = x[2 * from], x3 = x[3 * from], x4 = x[4 * from];
    const PanelVec even_p = hn::Add(x1, x2), odd_p = hn::Sub(x1, x2), even_q = hn::Add(x3, x4), odd_q = hn::Sub(x3, x4);
    y[0] = hn::Add(x[0], hn::Add(even_p, even_q));
    y[to] = hn::MulAdd(hn::Set(d, kP), odd_p, hn::Mul(hn::Set(d, kQ), odd_q));
    y[2 * to] = hn::MulAdd(hn::Set(d, kP2), even_p, hn::Mul(hn::Set(d, kQ2), even_q));
    y[3 * to] = hn::MulAdd(hn::Set(d, kP2 * kP), odd_p, hn::MulAdd(hn::Set(d, kQ2 * kQ), odd_q, x[5 * from]));
  }
  /// G.
  static void weights(double g[kPoints][3]) {
    const double points[] = {0, kP, -kP, kQ, -kQ};
    for (int i = 0; i < 5; ++i) {
      double product = 1;
      for (int j = 0; j < 5; ++j)
        if (i != j) product *= points[i] - points[j];
      for (int j = 0; j < 3; ++j) g[i][j] = (j > 0 ? points[i] : 1) * (j > 1 ? points[i] : 1) / product;
    }
    g[5][0] = g[5][1] = 0, g[5][2] = 1;
  }
};

struct F2 {
  static constexpr int kOutput = 2, kPoints = 4;
  static HWY_INLINE void source(const PanelVec* x, int from, PanelVec* y, int to) {
    const PanelVec x0 = x[0], x1 = x[from], x2 = x[2 * from], x3 = x[3 * from];
    y[0] = hn::Sub(x0, x2);
    y[to] = hn::Add(x1, x2);
    y[2 * to] = hn::Sub(x2, x1);
    y[3 * to] = hn::Sub(x3, x1);
  }
  static HWY_INLINE void sums(const PanelVec* x, int from, PanelVec* y, int to) {
    y[0] = hn::Add(x[0], hn::Add(x[from], x[2 * from]));
    y[to] = hn::Add(hn::Sub(x[from], x[2 * from]), x[3 * from]);
  }
  static void weights(double g[kPoints][3]) {
    constexpr double kG[kPoints][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    for (int i = 0; i < kPoints; ++i)
      for (int j = 0; j < 3; ++j) g[i][j] = kG[i][j];
  }
};

/// Where the points of a tile lie; `zeros` outside of the image.
template <class F>
void locate(const WinogradShape& s, const WinogradTile& tile, const float* source, const float* zeros,
            const float** points) {
  constexpr int kN = F::kPoints;
  const float* image = source + s.source.offset + tile.image * s.source.image;
  for (int i = 0; i < kN; ++i) {
    const int64_t row = tile.row + i * s.row_dilation - s.row_pad;
    for (int j = 0; j < kN; ++j) {
      const int64_t column = tile.column + j * s.column_dilation - s.column_pad;
      const bool inside = row >= 0 && row < s.rows && column >= 0 && column < s.columns;
      points[i * kN + j] = inside ? image + row * s.source.row + column * s.source.pixel : zeros;
    }
  }
}

template <class F>
void transform_source(const WinogradShape& s, std::span<const WinogradTile> tiles, int64_t group, const float* source,
                      const float* zeros, float* v) {
  constexpr int kN = F::kPoints;
  const PanelTag d;
  const int64_t point_step = kGroup * s.row();
  for (size_t t = 0; t < tiles.size(); ++t) {
    const float* points[kN * kN];
    locate<F>(s, tiles[t], source, zeros, points);
    const auto place = static_cast<int64_t>(t);
    float* to = v + place / group * kN * kN * point_step + place % group * s.row();
    for (int64_t c = 0; c < s.channels; c += kLanes) {
      PanelVec x[kN * kN], y[kN * kN], row[kN];
      for (int i = 0; i < kN * kN; ++i) x[i] = hn::LoadU(d, points[i] + c);
      for (int j = 0; j < kN; ++j) F::source(x + j, kN, y + j, kN);
      for (int i = 0; i < kN; ++i) {
        F::source(y + i * kN, 1, row, 1);
        for (int j = 0; j < kN; ++j) hn::StoreU(row[j], d, to + (i * kN + j) * point_step + c);
      }
    }
  }
}

void multiply(const WinogradShape& s, int64_t tiles, int64_t group, const float* v, const float* u_panel, float* m) {
  const int64_t points = s.points(), point_step = kGroup * s.row();
  for (int64_t p = 0; p < points; ++p) {
    const float* u = u_panel + p * s.channels * kPanel;
    for (int64_t t = 0; t < tiles; t += group) {
      const int64_t rows = tiles - t < group ? tiles - t : group;
      const float* a = v + (t / group * points + p) * point_step;
      float* c = m + (t * points + p) * kPanel;
      if (t == 0)
        multiply_group<true>(rows, a, s.row(), u, c, points * kPanel, s.channels);
      else
        multiply_group<false>(rows, a, s.row(), u, c, points * kPanel, s.channels);
    }
  }
}

template <class F>
bool transform_sums(const float* m_tile, const float* bias, int64_t channels, float* sums) {
  constexpr int kN = F::kPoints, kM = F::kOutput;
  const PanelTag d;
  const PanelVec zero = hn::Zero(d);
  PanelVec doubt = zero;
  for (int64_t c = 0; c < channels; c += kLanes) {
    PanelVec x[kN * kN], y[kM * kN], row[kM];
    for (int i = 0; i < kN * kN; ++i) x[i] = hn::Load(d, m_tile + i * kPanel + c);
    for (int j = 0; j < kN; ++j) F::sums(x + j, kN, y + j, kN);
    const PanelVec add = bias ? hn::LoadU(d, bias + c) : zero;
    for (int i = 0; i < kM; ++i) {
      F::sums(y + i * kN, 1, row, 1);
      for (int j = 0; j < kM; ++j) {
        doubt = hn::MulAdd(row[j], zero, doubt);  // NaN where a sum is not finite
        hn::Store(hn::Add(row[j], add), d, sums + (i * kM + j) * kPanel + c);
      }
    }
  }
  return hn::AllTrue(d, hn::Eq(doubt, zero));
}

template <class F>
void transform_weights(int64_t channels, const float* weights, float* u_panel) {
  constexpr int kN = F::kPoints;
  const hn::CappedTag<double, 4> d;
  const hn::Rebind<float, decltype(d)> narrow;
  using Vec = hn::Vec<decltype(d)>;
  double g[kN][3];
  F::weights(g);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t o = 0; o < kPanel; o += static_cast<int64_t>(hn::Lanes(d))) {
      Vec half[kN][3];
      for (int j = 0; j < 3; ++j) {
        Vec w[3];
        for (int i = 0; i < 3; ++i)
          w[i] = hn::PromoteTo(d, hn::LoadU(narrow, weights + ((i * 3 + j) * channels + c) * kPanel + o));
        for (int i = 0; i < kN; ++i)
          half[i][j] = hn::Add(hn::Add(hn::Mul(hn::Set(d, g[i][0]), w[0]), hn::Mul(hn::Set(d, g[i][1]), w[1])),
                               hn::Mul(hn::Set(d, g[i][2]), w[2]));
      }
      for (int i = 0; i < kN; ++i)
        for (int j = 0; j < kN; ++j) {
          const Vec sum =
              hn::Add(hn::Add(hn::Mul(hn::Set(d, g[j][0]), half[i][0]), hn::Mul(hn::Set(d, g[j][1]), half[i][1])),
                      hn::Mul(hn::Set(d, g[j][2]), half[i][2]));
          hn::StoreU(hn::DemoteTo(narrow, sum), narrow, u_panel + ((i * kN + j) * channels + c) * kPanel + o);
        }
    }
  }
}

void source_transform(const WinogradShape& s, std::span<const WinogradTile> tiles, int64_t group, const float* source,
                      const float* zeros, float* v) {
  return s.output == 4 ? transform_source<F4>(s, tiles, group, source, zeros, v)
                       : transform_source<F2>(s, tiles, group, source, zeros, v);
}
bool sums_transform(int64_t output, const float* m_tile, const float* bias, int64_t channels, float* sums) {
  return output == 4 ? transform_sums<F4>(m_tile, bias, channels, sums)
                     : transform_sums<F2>(m_tile, bias, channels, sums);
}
void weights_transform(int64_t output, int64_t channels, const float* weights, float* u_panel) {
  return output == 4 ? transform_weights<F4>(channels, weights, u_panel)
                     : transform_weights<F2>(channels, weights, u_panel);
}
double dot(const float* a, const float* b, int64_t count) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);  // two chains hide the latency of an addition
  const auto product = [&](int64_t i) {
    return hn::Mul(hn::PromoteTo(d, hn::LoadU(narrow, a + i)), hn::PromoteTo(d, hn::LoadU(narrow, b + i)));
  };
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    first = hn::Add(first, product(i));
    second = hn::Add(second, product(i + lanes));
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  for (; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}
void finish(std::span<const PanelStep> steps, const PanelBox& box, float* sums, float* destination, int64_t row_step,
            int64_t pixel_step) {
  for (const PanelStep& s : steps) apply_panel_step(s, box, sums);
  store_panel(box, sums, destination, row_step, pixel_step);
}

}  // namespace weft::backends::onednn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::backends::onednn {
HWY_EXPORT(source_transform);
HWY_EXPORT(multiply);
HWY_EXPORT(sums_transform);
HWY_EXPORT(weights_transform);
HWY_EXPORT(dot);
HWY_EXPORT(finish);

void winograd_transform_source(const WinogradShape& shape, std::span<const WinogradTile> tiles, int64_t group,
                               const float* source, const float* zeros, float* v) {
  HWY_DYNAMIC_DISPATCH(source_transform)(shape, tiles, group, source, zeros, v);
}
void winograd_multiply(const WinogradShape& shape, int64_t tiles, int64_t group, const float* v, const float* u_panel,
                       float* m) {
  HWY_DYNAMIC_DISPATCH(multiply)(shape, tiles, group, v, u_panel, m);
}
bool winograd_transform_sums(const WinogradShape& shape, const float* m_tile, const float* bias, int64_t channels,
                             float* sums) {
  return HWY_DYNAMIC_DISPATCH(sums_transform)(shape.output, m_tile, bias, channels, sums);
}
void winograd_transform_weights(int64_t output, int64_t channels, const float* weights, float* u_panel) {
  HWY_DYNAMIC_DISPATCH(weights_transform)(output, channels, weights, u_panel);
}
double winograd_dot(const float* a, const float* b, int64_t count) { return HWY_DYNAMIC_DISPATCH(dot)(a, b, count); }
void finish_panel(std::span<const PanelStep> steps, const PanelBox& box, float* sums, float* destination,
                  int64_t row_step, int64_t pixel_step) {
  HWY_DYNAMIC_DISPATCH(finish)(steps, box, sums, destination, row_step, pixel_step);
}

}  // namespace weft::backends::onednn
#endif
