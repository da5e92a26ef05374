// The smallest program that runs a model through weft: embed MODEL [NAME=1x3x224x224]...
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "runtime/session.hpp"

int main(int argc, char** argv) {
  try {
    weft::runtime::SessionOptions options;
    for (int i = 2; i < argc; ++i) {
      const char* equals = std::strchr(argv[i], '=');
      if (argc < 2 || !equals) return std::fprintf(stderr, "usage: embed MODEL [NAME=1x3x224x224]...\n"), 2;
      std::vector<int64_t> dims;
      for (char* at = const_cast<char*>(equals); *at;) dims.push_back(std::strtoll(at + 1, &at, 10));
      options.shapes.emplace_back(std::string(argv[i], static_cast<size_t>(equals - argv[i])), dims);
    }
    weft::runtime::Session session = weft::runtime::Session::load(argc > 1 ? argv[1] : "model.onnx", options);
    weft::ir::NamedTensors inputs;
    for (const auto& input : session.inputs()) inputs[input.name] = weft::ir::filled(input.type, 0.5);
    std::printf("a run takes %lld bytes\n", static_cast<long long>(session.peak_bytes()));
    for (const auto& [name, tensor] : session.run(inputs))
      std::printf("%s: %lld elements, the first is %g\n", name.c_str(), static_cast<long long>(tensor.elements()),
                  tensor.elements() ? tensor.at_double(0) : 0.0);
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "embed: %s\n", e.what()), 1;
  }
}
