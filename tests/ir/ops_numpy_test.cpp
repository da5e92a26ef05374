// Convolutions, pools and resize against literal values. They were computed in float64 by numpy 1.24 from the
// definitions of ONNX, by another way than ours: conv over a padded array and slices, conv_transpose as a convolution
// of the zero-stuffed input with the flipped kernel, pools over padded windows with a mask that counts, resize as one
// matrix an axis.
#include "tests/ir/tensors.hpp"

namespace weft::ir {
namespace {

using Ints = std::vector<int64_t>;

TEST_CASE("conv with groups, strides, pads and dilations", "[ops]") {
  Tensor x = f32({1, 2, 4, 5},
                 {-2.75f, -1,   0.75f, 2.5f,   -1.5f, 0.25f, 2,      -2,    -0.25f, 1.5f,   -2.5f, -0.75f, 1,    2.75f,
                  -1.25f, 0.5f, 2.25f, -1.75f, 0,     1.75f, -2.25f, -0.5f, 1.25f,  -2.75f, -1,    0.75f,  2.5f, -1.5f,
                  0.25f,  2,    -2,    -0.25f, 1.5f,  -2.5f, -0.75f, 1,     2.75f,  -1.25f, 0.5f,  2.25f});
  Tensor w = f32({4, 1, 3, 2}, {-1.5f, -0.25f, 1,      -1, 0.25f, 1.5f,  -0.5f, 0.75f, -1.25f, 0,      1.25f, -0.75f,
                                0.5f,  -1.5f,  -0.25f, 1,  -1,    0.25f, 1.5f,  -0.5f, 0.75f,  -1.25f, 0,     1.25f});
  Tensor expected =
      f32({1, 4, 3, 4}, {-6.4375f, -3.375f, 4,       2.4375f, -5.875f,  -5.875f,  7.0625f, 3.125f,  -0.3125f, -3.375f,
                         2.1875f,  0,       5.25f,   3.9375f, -4.5625f, -3.4375f, 3.4375f, 2.5625f, -2.625f,  -3.3125f,
                         -1.5625f, -1.125f, 2.1875f, 0,       0.6875f,  -5.0625f, 0.6875f, 0.4375f, 3.3125f,  -4.1875f,
                         -3.0625f, 0.25f,   2.375f,  0.625f,  -4,       0.25f,    -5.125f, 3.375f,  4.6875f,  -2.0625f,
                         -3.0625f, 7.1875f, 1.625f,  -1.5f,   2.125f,   3.875f,   -3,      0.75f});
  check_near(
      run(Op::conv, {x, w},
          {{"groups", int64_t{2}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 2, 1}}, {"dilations", Ints{1, 2}}}),
      expected, 1e-6, 1e-6);
}

TEST_CASE("conv in one dimension", "[ops]") {
  Tensor x = f32({2, 3, 7},
                 {-2,    -0.75f, 0.5f, 1.75f, -1.25f, 0,    1.25f, -1.75f, -0.5f, 0.75f, 2,      -1,    0.25f, 1.5f,
                  -1.5f, -0.25f, 1,    -2,    -0.75f, 0.5f, 1.75f, -1.25f, 0,     1.25f, -1.75f, -0.5f, 0.75f, 2,
                  -1,    0.25f,  1.5f, -1.5f, -0.25f, 1,    -2,    -0.75f, 0.5f,  1.75f, -1.25f, 0,     1.25f, -1.75f});
  Tensor w = f32({2, 3, 3}, {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f, -0.5f, 0.25f,
                             1, -1, -0.25f, 0.5f});
  Tensor expected =
      f32({2, 2, 3}, {1.0625f, 2, -0.8125f, 0, -0.375f, 2, 0.5f, 1.4375f, 2.875f, 0.1875f, 0.3125f, -4.75f});
  check_near(run(Op::conv, {x, w}, {{"strides", Ints{3}}, {"pads", Ints{2, 1}}}), expected, 1e-6, 1e-6);
}

TEST_CASE("conv in three dimensions", "[ops]") {
  Tensor x = f32({1, 2, 2, 3, 2}, {-2,    -0.75f, 0.5f,  1.75f,  -1.25f, 0,  1.25f,  -1.75f, -0.5f, 0.75f,  2, -1,
                                   0.25f, 1.5f,   -1.5f, -0.25f, 1,      -2, -0.75f, 0.5f,   1.75f, -1.25f, 0, 1.25f});
  Tensor w = f32({1, 2, 2, 2, 2},
                 {-1.25f, -0.5f, 0.25f, 1, -1, -0.25f, 0.5f, 1.25f, -0.75f, 0, 0.75f, -1.25f, -0.5f, 0.25f, 1, -1});
  Tensor expected = f32({1, 1, 2, 3, 2}, {-5.75f, 0.5625f, 7.125f, 0.6875f, 0.1875f, -2.875f, -2.625f, -0.0625f, 3.375f,
                                          1.0625f, -3.125f, 0.6875f});
  check_near(run(Op::conv, {x, w}, {{"pads", Ints{0, 1, 0, 1, 0, 1}}}), expected, 1e-6, 1e-6);
}

TEST_CASE("conv_transpose with strides, pads and output padding", "[ops]") {
  Tensor x = f32({1, 2, 3, 2}, {-2.75f, -1, 0.75f, 2.5f, -1.5f, 0.25f, 2, -2, -0.25f, 1.5f, -2.5f, -0.75f});
  Tensor w = f32({2, 2, 3, 2}, {-1.5f, -0.25f, 1,      -1, 0.25f, 1.5f,  -0.5f, 0.75f, -1.25f, 0,      1.25f, -0.75f,
                                0.5f,  -1.5f,  -0.25f, 1,  -1,    0.25f, 1.5f,  -0.5f, 0.75f,  -1.25f, 0,     1.25f});
  Tensor expected =
      f32({1, 2, 7, 6},
          {-3.25f,   4.75f,   0, -0.5f,    -1,      0, -3.9375f, -3.4375f, 0, -1.25f,  -4.875f, 0, 0.8125f, -1,      0,
           2.125f,   -1,      0, 1.4375f,  5.1875f, 0, -1.625f,  5.1875f,  0, -0.875f, -1,      0, 0.4375f, -1,      0,
           2.125f,   -2.875f, 0, 0.8125f,  0.1875f, 0, 0,        0,        0, 0,       0,       0, 4.9375f, -2.5f,   0,
           -0.25f,   2.5f,    0, -4.1875f, 5.25f,   0, -0.25f,   -0.625f,  0, -1.125f, 0.3125f, 0, -2,      -1.875f, 0,
           -2.0625f, -0.75f,  0, 1.875f,   0.5625f, 0, 0,        3.125f,   0, -0.875f, 0.9375f, 0, -1.875f, -2,      0,
           0.3125f,  -1.125f, 0, 0,        0,       0, 0,        0,        0});
  check_near(run(Op::conv_transpose, {x, w},
                 {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}, {"output_padding", Ints{1, 2}}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("conv_transpose with groups and dilations", "[ops]") {
  Tensor x = f32({1, 4, 3}, {-2.75f, -1, 0.75f, 2.5f, -1.5f, 0.25f, 2, -2, -0.25f, 1.5f, -2.5f, -0.75f});
  Tensor w = f32({4, 2, 3}, {-1.5f, -0.25f, 1,      -1, 0.25f, 1.5f,  -0.5f, 0.75f, -1.25f, 0,      1.25f, -0.75f,
                             0.5f,  -1.5f,  -0.25f, 1,  -1,    0.25f, 1.5f,  -0.5f, 0.75f,  -1.25f, 0,     1.25f});
  Tensor expected = f32(
      {1, 4, 9},
      {2.875f, 0, 4.8125f, 0, -8,     0, 0.875f,  0, 0.4375f, 2.75f,  0, 3.4375f, 0, -8.875f, 0, 0.125f,  0, 0.9375f,
       3.25f,  0, -8.5f,   0, 3.625f, 0, -0.625f, 0, -0.5f,   0.125f, 0, -0.875f, 0, 5.0625f, 0, -3.375f, 0, -1});
  check_near(run(Op::conv_transpose, {x, w}, {{"strides", Ints{2}}, {"dilations", Ints{2}}, {"groups", int64_t{2}}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("max_pool with pads, dilations and ceil_mode", "[ops]") {
  Tensor x = f32({1, 2, 5, 4}, {-4.5f, -2.75f, -1, 0.75f,  2.5f,  4.25f, -3.25f, -1.5f, 0.25f,  2,
                                3.75f, -3.75f, -2, -0.25f, 1.5f,  3.25f, -4.25f, -2.5f, -0.75f, 1,
                                2.75f, 4.5f,   -3, -1.25f, 0.5f,  2.25f, 4,      -3.5f, -1.75f, 0,
                                1.75f, 3.5f,   -4, -2.25f, -0.5f, 1.25f, 3,      -4.5f, -2.75f, -1});
  Tensor expected = f32({1, 2, 3, 3}, {4.25f, 4.25f, -1.5f, 4.25f, 4.25f, 3.25f, -0.25f, 3.25f, 3.25f, 2.25f, 4, -3.5f,
                                       2.25f, 4, 1.25f, -2.25f, 1.25f, 1.25f});
  check_near(run(Op::max_pool, {x},
                 {{"kernel", Ints{2, 3}},
                  {"strides", Ints{2, 2}},
                  {"pads", Ints{1, 1, 0, 1}},
                  {"dilations", Ints{2, 1}},
                  {"ceil_mode", true}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("avg_pool, leaving out padding, rounded down", "[ops]") {
  Tensor x = f32({1, 1, 5, 6}, {-4.5f, -2.75f, -1, 0.75f,  2.5f, 4.25f, -3.25f, -1.5f, 0.25f,  2,
                                3.75f, -3.75f, -2, -0.25f, 1.5f, 3.25f, -4.25f, -2.5f, -0.75f, 1,
                                2.75f, 4.5f,   -3, -1.25f, 0.5f, 2.25f, 4,      -3.5f, -1.75f, 0});
  Tensor expected = f32({1, 1, 3, 2}, {-3.875f, 0.5f, -2, 2.375f, -0.125f, 1.9375f});
  check_near(run(Op::avg_pool, {x},
                 {{"kernel", Ints{3, 2}},
                  {"strides", Ints{2, 3}},
                  {"pads", Ints{1, 1, 1, 0}},
                  {"count_include_pad", false},
                  {"ceil_mode", false}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("avg_pool, leaving out padding, rounded up", "[ops]") {
  Tensor x = f32({1, 1, 5, 6}, {-4.5f, -2.75f, -1, 0.75f,  2.5f, 4.25f, -3.25f, -1.5f, 0.25f,  2,
                                3.75f, -3.75f, -2, -0.25f, 1.5f, 3.25f, -4.25f, -2.5f, -0.75f, 1,
                                2.75f, 4.5f,   -3, -1.25f, 0.5f, 2.25f, 4,      -3.5f, -1.75f, 0});
  Tensor expected = f32({1, 1, 3, 3}, {-3.875f, 0.5f, 0.25f, -2, 2.375f, -2.5f, -0.125f, 1.9375f, -0.625f});
  check_near(run(Op::avg_pool, {x},
                 {{"kernel", Ints{3, 2}},
                  {"strides", Ints{2, 3}},
                  {"pads", Ints{1, 1, 1, 0}},
                  {"count_include_pad", false},
                  {"ceil_mode", true}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("avg_pool, counting padding, rounded down", "[ops]") {
  Tensor x = f32({1, 1, 5, 6}, {-4.5f, -2.75f, -1, 0.75f,  2.5f, 4.25f, -3.25f, -1.5f, 0.25f,  2,
                                3.75f, -3.75f, -2, -0.25f, 1.5f, 3.25f, -4.25f, -2.5f, -0.75f, 1,
                                2.75f, 4.5f,   -3, -1.25f, 0.5f, 2.25f, 4,      -3.5f, -1.75f, 0});
  Tensor expected = f32({1, 1, 3, 2}, {-1.29166663f, 0.333333343f, -1, 2.375f, -0.0416666679f, 1.29166663f});
  check_near(run(Op::avg_pool, {x},
                 {{"kernel", Ints{3, 2}},
                  {"strides", Ints{2, 3}},
                  {"pads", Ints{1, 1, 1, 0}},
                  {"count_include_pad", true},
                  {"ceil_mode", false}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("avg_pool, counting padding, rounded up", "[ops]") {
  Tensor x = f32({1, 1, 5, 6}, {-4.5f, -2.75f, -1, 0.75f,  2.5f, 4.25f, -3.25f, -1.5f, 0.25f,  2,
                                3.75f, -3.75f, -2, -0.25f, 1.5f, 3.25f, -4.25f, -2.5f, -0.75f, 1,
                                2.75f, 4.5f,   -3, -1.25f, 0.5f, 2.25f, 4,      -3.5f, -1.75f, 0});
  Tensor expected = f32({1, 1, 3, 3}, {-1.29166663f, 0.333333343f, 0.166666672f, -1, 2.375f, -2.5f, -0.0416666679f,
                                       1.29166663f, -0.416666657f});
  check_near(run(Op::avg_pool, {x},
                 {{"kernel", Ints{3, 2}},
                  {"strides", Ints{2, 3}},
                  {"pads", Ints{1, 1, 1, 0}},
                  {"count_include_pad", true},
                  {"ceil_mode", true}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize linear half_pixel", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected =
      f32({1, 1, 5, 3}, {-4.20833349f, -1.875f, 0.458333343f, -1.4083333f, -0.925000012f, -0.441666663f, 2.79166675f,
                         0.5f, -1.79166663f, 1.44166672f, 1.92499995f, -2.2166667f, 0.541666687f, 2.875f, -2.5f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 5, 3}},
                  {"scales", std::vector<double>{1.0, 1.0, 1.6666666666666667, 0.75}},
                  {"mode", std::string("linear")},
                  {"coordinate", std::string("half_pixel")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize linear align_corners", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 5, 7}, {-4.5f,   -3.625f,  -2.75f,  -1.875f, -1,      -0.125f, 0.75f,   -1,    -0.125f,
                                       0.75f,   -0.6875f, -2.125f, -1.25f,  -0.375f, 2.5f,    3.375f,  4.25f, 0.5f,
                                       -3.25f,  -2.375f,  -1.5f,   1.375f,  2.25f,   3.125f,  1.6875f, 0.25f, -1.1875f,
                                       -2.625f, 0.25f,    1.125f,  2,       2.875f,  3.75f,   0,       -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 5, 7}},
                  {"scales", std::vector<double>{1.0, 1.0, 1.6666666666666667, 1.75}},
                  {"mode", std::string("linear")},
                  {"coordinate", std::string("align_corners")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize linear asymmetric", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected =
      f32({1, 1, 6, 8},
          {-4.5f,   -3.625f, -2.75f,  -1.875f, -1,    -0.125f,  0.75f,   0.75f,   -1,     -0.125f, 0.75f,  -0.6875f,
           -2.125f, -1.25f,  -0.375f, -0.375f, 2.5f,  3.375f,   4.25f,   0.5f,    -3.25f, -2.375f, -1.5f,  -1.5f,
           1.375f,  2.25f,   3.125f,  1.6875f, 0.25f, -1.1875f, -2.625f, -2.625f, 0.25f,  1.125f,  2,      2.875f,
           3.75f,   0,       -3.75f,  -3.75f,  0.25f, 1.125f,   2,       2.875f,  3.75f,  0,       -3.75f, -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 6, 8}},
                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 2.0}},
                  {"mode", std::string("linear")},
                  {"coordinate", std::string("asymmetric")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize linear pytorch_half_pixel", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 1, 6}, {-4.5f, -3.625f, -2.45833325f, -1.29166663f, -0.125f, 0.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 1, 6}},
                  {"scales", std::vector<double>{1.0, 1.0, 0.3333333333333333, 1.5}},
                  {"mode", std::string("linear")},
                  {"coordinate", std::string("pytorch_half_pixel")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize linear half_pixel_symmetric", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32(
      {1, 1, 5, 3}, {-3.81944442f, -1.875f, 0.0694444478f, -0.708333313f, -0.819444418f, -0.930555582f, 3.18055558f,
                     0.5f, -2.18055558f, 1.93055558f, 1.81944442f, -1.43209875f, 0.930555582f, 2.875f, -0.833333313f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 5, 3}},
                  {"scales", std::vector<double>{1.0, 1.0, 1.8, 0.9}},
                  {"mode", std::string("linear")},
                  {"coordinate", std::string("half_pixel_symmetric")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize cubic half_pixel", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected =
      f32({1, 1, 5, 6}, {-5.32390976f,  -4.54431248f,  -2.92187047f,  -1.28412962f, 0.338312507f, 1.11790967f,
                         -1.77390969f,  -0.512156248f, -0.121548608f, -2.19682646f, -1.40384376f, 0.248722225f,
                         2.34809017f,   4.078125f,     3.29513884f,   -2.29513884f, -3.078125f,   -1.34809029f,
                         1.47509027f,   2.73684382f,   3.23729515f,   1.60139239f,  -1.31834376f, -3.37849665f,
                         -0.117909722f, 0.661687493f,  2.46013665f,   4.80190516f,  0.475312501f, -4.69412518f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 5, 6}},
                  {"scales", std::vector<double>{1.0, 1.0, 1.6666666666666667, 1.5}},
                  {"mode", std::string("cubic")},
                  {"coordinate", std::string("half_pixel")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize cubic align_corners a=-0.5", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 2, 7}, {-4.5f, -3.734375f, -2.75f, -1.875f, -1, -0.015625f, 0.75f, 0.25f, 1.015625f, 2,
                                       3.453125f, 3.75f, 0.109375f, -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 2, 7}},
                  {"scales", std::vector<double>{1.0, 1.0, 0.6666666666666666, 1.75}},
                  {"mode", std::string("cubic")},
                  {"coordinate", std::string("align_corners")},
                  {"cubic_coeff_a", -0.5}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize cubic asymmetric excluding outside", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 6, 3}, {-4.5f, -2.10185194f, 0.341666669f, -1.10714281f, -0.333862424f, -0.969761908f,
                                       2.5f, 1.98611116f, -2.3708334f, 1.87857139f, 2.97486782f, -2.15095234f, 0.25f,
                                       3.16203713f, -1.53750002f, -0.171875f, 3.38252306f, -1.38125002f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 6, 3}},
                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 0.75}},
                  {"mode", std::string("cubic")},
                  {"coordinate", std::string("asymmetric")},
                  {"exclude_outside", true}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize nearest half_pixel round_prefer_floor", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected =
      f32({1, 1, 6, 8}, {-4.5f, -4.5f, -2.75f, -2.75f, -1,     -1,     0.75f, 0.75f, -4.5f,  -4.5f,  -2.75f, -2.75f,
                         -1,    -1,    0.75f,  0.75f,  2.5f,   2.5f,   4.25f, 4.25f, -3.25f, -3.25f, -1.5f,  -1.5f,
                         2.5f,  2.5f,  4.25f,  4.25f,  -3.25f, -3.25f, -1.5f, -1.5f, 0.25f,  0.25f,  2,      2,
                         3.75f, 3.75f, -3.75f, -3.75f, 0.25f,  0.25f,  2,     2,     3.75f,  3.75f,  -3.75f, -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 6, 8}},
                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 2.0}},
                  {"mode", std::string("nearest")},
                  {"coordinate", std::string("half_pixel")},
                  {"nearest", std::string("round_prefer_floor")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize nearest asymmetric floor", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected =
      f32({1, 1, 6, 6}, {-4.5f, -4.5f, -2.75f, -1,     -1,     0.75f,  -4.5f, -4.5f, -2.75f, -1,     -1,     0.75f,
                         2.5f,  2.5f,  4.25f,  -3.25f, -3.25f, -1.5f,  2.5f,  2.5f,  4.25f,  -3.25f, -3.25f, -1.5f,
                         0.25f, 0.25f, 2,      3.75f,  3.75f,  -3.75f, 0.25f, 0.25f, 2,      3.75f,  3.75f,  -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 6, 6}},
                  {"scales", std::vector<double>{1.0, 1.0, 2.0, 1.5}},
                  {"mode", std::string("nearest")},
                  {"coordinate", std::string("asymmetric")},
                  {"nearest", std::string("floor")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize nearest align_corners round_prefer_ceil", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 5, 8}, {-4.5f,  -4.5f,  -2.75f, -2.75f, -1,    -1,    0.75f, 0.75f, 2.5f,   2.5f,
                                       4.25f,  4.25f,  -3.25f, -3.25f, -1.5f, -1.5f, 2.5f,  2.5f,  4.25f,  4.25f,
                                       -3.25f, -3.25f, -1.5f,  -1.5f,  0.25f, 0.25f, 2,     2,     3.75f,  3.75f,
                                       -3.75f, -3.75f, 0.25f,  0.25f,  2,     2,     3.75f, 3.75f, -3.75f, -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 5, 8}},
                  {"scales", std::vector<double>{1.0, 1.0, 1.6666666666666667, 2.0}},
                  {"mode", std::string("nearest")},
                  {"coordinate", std::string("align_corners")},
                  {"nearest", std::string("round_prefer_ceil")}}),
             expected, 1e-6, 1e-6);
}

TEST_CASE("resize nearest half_pixel ceil", "[ops]") {
  Tensor x = f32({1, 1, 3, 4}, {-4.5f, -2.75f, -1, 0.75f, 2.5f, 4.25f, -3.25f, -1.5f, 0.25f, 2, 3.75f, -3.75f});
  Tensor expected = f32({1, 1, 2, 3}, {4.25f, -3.25f, -1.5f, 2, 3.75f, -3.75f});
  check_near(run(Op::resize, {x},
                 {{"shape", Ints{1, 1, 2, 3}},
                  {"scales", std::vector<double>{1.0, 1.0, 0.6666666666666666, 0.75}},
                  {"mode", std::string("nearest")},
                  {"coordinate", std::string("half_pixel")},
                  {"nearest", std::string("ceil")}}),
             expected, 1e-6, 1e-6);
}

}  // namespace
}  // namespace weft::ir
