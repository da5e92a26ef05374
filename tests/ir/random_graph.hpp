#pragma once
// Random static graphs, the same for the same seed: for round trips, interpreters, optimizers and backends.
#include <cstdint>
#include <string>
#include <vector>

#include "ir/eval.hpp"
#include "ir/graph.hpp"

namespace weft::test {

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(double p) { return static_cast<double>(next() >> 11) * 0x1p-53 < p; }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(next() % from.size())];
  }

 private:
  uint64_t state_;
};

struct RandomGraphOptions {
  uint64_t seed = 1;
  int nodes = 20;                                    ///< of ops, besides leaves
  std::vector<ir::Op> ops;                           ///< empty: every op of the table but the leaves and `kernel`
  std::vector<ir::DType> dtypes = {ir::DType::f32};  ///< of inputs and parameters
  int inputs = 3, parameters = 2;
  int64_t max_dim = 4, max_rank = 4;
  int64_t max_elements = 4096;  ///< of any value
  bool hostile_names = false;   ///< quotes, newlines, words of the language, bytes, duplicates of hints
  bool programs = false;        ///< also `kernel` nodes over random programs
};

/// A graph of about `nodes` ops that passes verify(): fewer where an op of the list fits no value at hand. Parameters
/// have data; a few values beside the last are outputs.
ir::Graph random_graph(const RandomGraphOptions& options);
/// Values for every input: small numbers, with zeros of both signs, and `nasty` also infinities and NaN.
ir::NamedTensors random_inputs(const ir::Graph& graph, uint64_t seed, bool nasty = false);
ir::Tensor random_tensor(const ir::TensorType& type, Random& random, bool nasty = false);
/// Attributes of an op for these operands, drawn by the op's schema; they may not fit.
ir::Attributes random_attributes(ir::Op op, const std::vector<ir::TensorType>& operands, Random& random,
                                 int64_t max_dim);

}  // namespace weft::test
