// Runs a fuzz target on every file of its corpus, and on mutations of them by a fixed seed: what CI does without libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

void run(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()); }

std::string mutated(std::string bytes, std::mt19937& random) {
  for (unsigned n = 1 + random() % 4; n-- > 0 && !bytes.empty();) {
    size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, bytes.substr(at, random() % 16)); break;
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: fuzz_replay_x CORPUS\n"), 2;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(argv[1]))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) return std::fprintf(stderr, "%s is empty\n", argv[1]), 1;
  std::mt19937 random(1);
  size_t cases = 0;
  for (const fs::path& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    run(bytes);
    for (int i = 0; i < 2000; ++i) run(mutated(bytes, random));
    cases += 2001;
  }
  std::printf("%zu cases of %zu files\n", cases, files.size());
}
