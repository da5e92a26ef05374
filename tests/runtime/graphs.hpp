#pragma once
// Small graphs and sessions for the tests of the runtime.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text.hpp"
#include "runtime/session.hpp"

namespace weft::runtime::test {

/// A directory of its own that goes when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Parameters of a parsed graph get values: `seed` makes them differ.
ir::Graph with_weights(ir::Graph graph, uint64_t seed = 1);

/// Nothing cached, the plainest compile.
inline SessionOptions plain() {
  SessionOptions options;
  options.cache.memory = options.cache.disk = false;
  options.compile.threads = 1;
  return options;
}
/// Cached in memory and in the given directory.
inline SessionOptions cached(const std::filesystem::path& directory) {
  SessionOptions options;
  options.cache.directory = directory;
  options.compile.threads = 1;
  return options;
}

inline Session make_session(std::string_view text, SessionOptions options = plain()) {
  return Session(with_weights(ir::parse_graph(text)), std::move(options));
}

template <typename T>
std::vector<T> values(const ir::Tensor& tensor) {
  std::span<const T> s = tensor.as<T>();
  return {s.begin(), s.end()};
}

/// MatMul(64x64) -> Add -> Softmax -> MatMul, weights as parameters.
inline constexpr std::string_view kSmallNet = R"(
graph small(x: f32[64,64]) {
  w = parameter f32[64,64] "w"
  b = parameter f32[64] "b"
  v = parameter f32[64,64] "v"
  return y: matmul(softmax(add(matmul(x, w), b), axis=-1), v)
})";

}  // namespace weft::runtime::test
