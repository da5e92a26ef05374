// Packed weights on disk: found by content, mapped, replaced when damaged, limited in size, gone when asked.
#include "runtime/packed_store.hpp"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/compare.hpp"
#include "runtime/container.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using namespace test;
namespace fs = std::filesystem;

constexpr std::string_view kNet = R"(
graph net(x: f32[1,20,20,64]) {
  w = parameter f32[128,64,3,3] "w"
  v = parameter f32[256,128,1,1] "v"
  b = parameter f32[256] "b"
  return y: relu(add(conv(relu(conv(x, w, pads=[1,1,1,1], layout="nxc")), v, layout="nxc"), b))
})";

ir::Tensor run(const SessionOptions& options, uint64_t seed = 1) {
  clear_memory_cache();
  Session session(with_weights(ir::parse_graph(std::string(kNet)), seed), options);
  return session.run({{"x", random_tensor(session.inputs()[0].type, 7)}}).at("y");
}

std::vector<fs::path> packed_files(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none))
    if (entry.path().extension() == kPackedExtension) files.push_back(entry.path());
  return files;
}

ino_t inode(const fs::path& file) {
  struct stat info;
  REQUIRE(::stat(file.c_str(), &info) == 0);
  return info.st_ino;
}

Hash128 key_of(const fs::path& file) {
  const std::string hex = file.stem().string();
  return {std::stoull(hex.substr(16), nullptr, 16), std::stoull(hex.substr(0, 16), nullptr, 16)};
}

void flip(const fs::path& file, size_t at) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(at));
  const char old = static_cast<char>(bytes.get());
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes.put(static_cast<char>(old ^ 4));
}

}  // namespace

TEST_CASE("packed weights are stored once and mapped by the next start") {
  TemporaryDirectory directory;
  const SessionOptions options = cached(directory.path());
  const ir::Tensor first = run(options);
  REQUIRE(packed_files(directory.path()).size() == 1);
  const fs::path file = packed_files(directory.path())[0];
  const ino_t before = inode(file);
  CHECK(run(options).same_bits(first));
  CHECK(inode(file) == before);  // a hit writes nothing
  CHECK(run(plain()).same_bits(first));
  CHECK(!run(options, 2).same_bits(first));  // other weights, the same plan
  CHECK(packed_files(directory.path()).size() == 2);
  CHECK(PackedFile::open(file)->made_by() == packed_made_by());
}

TEST_CASE("mapped images are what runs read") {
  TemporaryDirectory directory;
  const SessionOptions options = cached(directory.path());
  const ir::Tensor first = run(options);
  const fs::path file = packed_files(directory.path()).at(0);
  {  // other numbers in the same places: the next start must compute with them
    const auto stored = PackedFile::open(file);
    std::vector<std::string> texts;
    std::vector<PackedImage> images;
    for (const Hash128& key : stored->keys()) {
      texts.emplace_back(stored->find(key).begin(), stored->find(key).end());
      texts.back().replace(texts.back().size() / 2, 4096, std::string(4096, '\x3d'));
    }
    for (size_t i = 0; i < texts.size(); ++i) images.push_back({stored->keys()[i], texts[i]});
    PackedStore(options.cache).store(key_of(file), images);
  }
  CHECK(!run(options).same_bits(first));
}

TEST_CASE("damaged packed weights are packed again") {
  TemporaryDirectory directory;
  const SessionOptions options = cached(directory.path());
  const ir::Tensor first = run(options);
  const fs::path file = packed_files(directory.path()).at(0);
  const auto size = fs::file_size(file);
  set_log_sink([](LogLevel, std::string_view) {});
  for (const char* damage : {"short", "empty", "long", "header", "directory", "link", "table", "image"}) {
    INFO(damage);
    const std::string what = damage;
    const ino_t before = inode(file);
    if (what == "short") fs::resize_file(file, size - 64);
    if (what == "empty") fs::resize_file(file, 0);
    if (what == "long") fs::resize_file(file, size + 1);
    if (what == "directory") fs::remove(file), fs::create_directory(file);
    if (what == "link") {  // to what is not ours
      std::ofstream(directory / "other") << "precious";
      fs::remove(file), fs::create_symlink(directory / "other", file);
    }
    if (what == "header" || what == "table") flip(file, what == "header" ? 17 : 60);
    if (what == "image") flip(file, size / 2);
    CHECK(run(options).same_bits(first));
    REQUIRE(fs::is_regular_file(file));
    CHECK(fs::file_size(file) == size);
    CHECK((what != "link" || read_file(directory / "other") == "precious"));
    CHECK(!fs::is_symlink(file));
    if (what != "directory" && what != "link") CHECK(inode(file) != before);  // a removed file's inode may come back
  }
  set_log_sink({});
}

TEST_CASE("packed weights are limited, listed and cleared") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  options.cache.packed_bytes = 0;
  run(options);
  CHECK(packed_files(directory.path()).empty());
  options.cache.packed_bytes = 300 << 10;  // less than the weights take
  run(options);
  CHECK(packed_files(directory.path()).empty());
  options.cache.packed_bytes = int64_t{1} << 30;
  run(options);
  REQUIRE(packed_files(directory.path()).size() == 1);
  const auto one = static_cast<int64_t>(fs::file_size(packed_files(directory.path())[0]));
  options.cache.packed_bytes = one + one / 2;  // room for one
  run(options, 2);
  CHECK(packed_files(directory.path()).size() == 1);
  CacheOptions cache = options.cache;
  int listed = 0;
  for (const CacheEntryInfo& info : PlanCache(cache).list()) {
    CHECK(info.problem == "");
    listed += info.packed;
  }
  CHECK(listed == 1);
  CHECK(PlanCache(cache).collect_unusable().bytes == 0);
  CHECK(PlanCache(cache).collect(int64_t{1} << 30, 0).bytes == one);
  CHECK(packed_files(directory.path()).empty());
  run(options, 2);
  CHECK(packed_files(directory.path()).size() == 1);
  PlanCache(cache).clear();
  CHECK(fs::is_empty(directory.path()));
}

TEST_CASE("one flipped bit is found by a check, wherever it is") {
  TemporaryDirectory directory;
  const SessionOptions options = cached(directory.path());
  run(options);
  const fs::path file = packed_files(directory.path()).at(0);
  CHECK(PlanCache(options.cache).remove_damaged().empty());
  for (const auto& info : PlanCache(options.cache).list()) {  // the plan and its weights
    const std::string good = read_file(info.file);
    for (const size_t at : {size_t{9}, good.size() / 3, good.size() / 2, good.size() - 200}) {
      flip(info.file, at);
      const auto damaged = PlanCache(options.cache).remove_damaged();
      REQUIRE(damaged.size() == (at == 9 ? 0 : 1));  // another format's number: not damaged, but of no use here
      CHECK(fs::exists(info.file) == (at == 9));
      write_file_atomically(info.file, good);
    }
  }
  CHECK(PlanCache(options.cache).remove_damaged().empty());
}

TEST_CASE("runs begin while packed weights are written") {
  TemporaryDirectory directory;
  const SessionOptions options = cached(directory.path());
  const ir::Tensor first = run(options);
  const fs::path file = packed_files(directory.path()).at(0);
  const std::string good = read_file(file);
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);  // a disk that takes what it is given when the test says so
  set_log_sink([](LogLevel, std::string_view) {});
  std::promise<void> has_run;
  bool ran_before = false;
  std::string written;
  std::thread disk([&, ran = has_run.get_future()] {
    ran_before = ran.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    std::ifstream in(file, std::ios::binary);
    written.assign(std::istreambuf_iterator<char>(in), {});
  });
  {
    Session session(with_weights(ir::parse_graph(std::string(kNet)), 1), options);
    CHECK(session.run({{"x", random_tensor(session.inputs()[0].type, 7)}}).at("y").same_bits(first));
    has_run.set_value();
    session.prepare()->wait_until_stored();
  }
  disk.join();
  set_log_sink({});
  CHECK(ran_before);
  CHECK(written == good);
}

TEST_CASE("a cache that cannot be written costs packing, nothing else") {
  TemporaryDirectory directory;
  std::ofstream(directory / "file") << "no directory";
  set_log_sink([](LogLevel, std::string_view) {});
  const ir::Tensor expected = run(plain());
  CHECK(run(cached(directory / "file")).same_bits(expected));
  set_log_sink({});
}

}  // namespace weft::runtime
