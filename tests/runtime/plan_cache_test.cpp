#include "runtime/plan_cache.hpp"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <thread>

#include "ir/support/error.hpp"
#include "ir/support/log.hpp"
#include "runtime/compare.hpp"
#include "runtime/container.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/graphs.hpp"

namespace weft::runtime {
namespace {

using ir::Tensor;
using namespace test;
namespace fs = std::filesystem;

/// Counts the log's warnings while it lives.
struct Warnings {
  std::vector<std::string> lines;
  Warnings() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      if (level <= LogLevel::warning) lines.emplace_back(line);
    });
  }
  ~Warnings() { set_log_sink({}); }
};

struct Outputs {
  std::vector<Tensor> tensors;
  CacheOutcome outcome;
};
/// Runs on seeded inputs; positions, not names.
Outputs run(const ir::Graph& graph, const SessionOptions& options) {
  Session session(graph, options);
  ir::NamedTensors inputs;
  uint64_t seed = 5;
  for (const NamedType& t : session.inputs()) inputs[t.name] = random_tensor(t.type, seed++);
  ir::NamedTensors named = session.run(inputs);
  Outputs outputs;
  for (const NamedType& t : session.outputs()) outputs.tensors.push_back(named.at(t.name));
  outputs.outcome = session.report().specializations.at(0).cache;
  return outputs;
}
bool same(const Outputs& a, const Outputs& b) {
  if (a.tensors.size() != b.tensors.size()) return false;
  for (size_t i = 0; i < a.tensors.size(); ++i)
    if (!a.tensors[i].same_bits(b.tensors[i])) return false;
  return true;
}
ir::Graph graph_of(const std::string& text, uint64_t seed = 1) { return with_weights(ir::parse_graph(text), seed); }

fs::path only_entry(const fs::path& directory) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) found.push_back(entry.path());
  REQUIRE(found.size() == 1);
  return found[0];
}
void overwrite(const fs::path& file, std::string_view bytes) { std::ofstream(file, std::ios::binary) << bytes; }

constexpr std::string_view kNet =
    "graph n(x: f32[3,4]) { w = parameter f32[4,5] \"w\"\n return y: relu(matmul(x, w)) }";

TEST_CASE("a second compile hits the memory, another process's would hit the disk") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  clear_memory_cache();
  Outputs cold = run(graph_of(std::string(kNet)), options);
  CHECK(cold.outcome == CacheOutcome::miss);
  Outputs warm = run(graph_of(std::string(kNet)), options);
  CHECK(warm.outcome == CacheOutcome::memory);
  clear_memory_cache();
  Outputs disk = run(graph_of(std::string(kNet)), options);
  CHECK(disk.outcome == CacheOutcome::disk);
  CHECK(same(cold, warm));
  CHECK(same(cold, disk));
  options.cache.refresh = true;
  CHECK(run(graph_of(std::string(kNet)), options).outcome == CacheOutcome::miss);
  CHECK(run(graph_of(std::string(kNet)), plain()).outcome == CacheOutcome::off);
}

TEST_CASE("other weights, other names and another order of equal structure hit") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  clear_memory_cache();
  std::string first =
      "graph a(x: f32[3,4], z: f32[3,5]) { w = parameter f32[4,5] \"w\"\n b = parameter f32[5] \"b\"\n return y: "
      "add(add(matmul(x, w), b), z) }";
  std::string second =
      "graph q(late: f32[3,5], early: f32[3,4]) { bias = parameter f32[5] \"one\"\n unused = parameter "
      "f32[9] \"no\"\n weight = parameter f32[4,5] \"two\"\n return out: add(add(matmul(early, weight), bias), late) }";
  CHECK(run(graph_of(first), options).outcome == CacheOutcome::miss);
  Outputs hit = run(graph_of(first, 99), options);
  CHECK(hit.outcome == CacheOutcome::memory);
  CHECK(same(hit, run(graph_of(first, 99), plain())));
  for (int round = 0; round < 2; ++round) {
    Outputs renamed = run(graph_of(second, 7), options);
    CHECK(renamed.outcome == (round ? CacheOutcome::disk : CacheOutcome::memory));
    CHECK(same(renamed, run(graph_of(second, 7), plain())));
    clear_memory_cache();
  }
}

TEST_CASE("K01: shapes whose weak hashes collide", "[peer-bugs]") {
  TemporaryDirectory directory;
  auto text = [](const std::string& dims, const std::string& perm) {
    return "graph g(x: f32[" + dims + "]) { return y: add(transpose(x, " + perm + "), 1) }";
  };
  std::vector<std::string> graphs;
  for (const char* dims : {"3,17,1,1", "1,152,1,1"}) graphs.push_back(text(dims, "[3,2,1,0]"));
  for (const char* dims : {"1,65", "2,2", "1,66", "2,1", "1,68", "2,3"}) graphs.push_back(text(dims, "[1,0]"));
  for (bool constant : {false, true}) {
    force_constant_key_hash(constant);
    for (int round = 0; round < 2; ++round) {
      clear_memory_cache();
      for (const std::string& g : graphs) {
        INFO(g << " round " << round << " constant hash " << constant);
        Outputs got = run(graph_of(g), cached(directory.path()));
        CHECK(same(got, run(graph_of(g), plain())));
        if (round && !constant) CHECK(got.outcome == CacheOutcome::disk);
      }
    }
  }
  force_constant_key_hash(false);
}

TEST_CASE("K02: everything that changes the plan is in the key", "[peer-bugs]") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  const std::vector<std::string> bodies = {"(x: f32[2,2,2]) { return y: transpose(x, [0,2,1]) }",
                                           "(x: f32[2,2,2]) { return y: transpose(x, [1,0,2]) }",
                                           "(x: f32[3,3]) { return y: softmax(x, axis=0) }",
                                           "(x: f32[3,3]) { return y: softmax(x, axis=1) }",
                                           "(x: f32[2,2]) { return y: reduce_sum(x, axes=[0]) }",
                                           "(x: f32[2,2]) { return y: reduce_sum(x, axes=[1]) }",
                                           "(x: f32[2,2]) { return y: cast(x, i8) }",
                                           "(x: f32[2,2]) { return y: cast(x, u8) }",
                                           "(x: f32[2,2]) { return y: min(x, 0.25) }",
                                           "(x: f32[2,2]) { return y: min(x, 0.5) }",
                                           "(x: f64[2,2]) { return y: exp(x) }",
                                           "(x: f32[2,2]) { return y: exp(x) }",
                                           "(x: f32[2,2]) { return y: neg(x), z: exp(x) }",
                                           "(x: f32[2,2]) { return z: exp(x), y: neg(x) }",
                                           "(x: f32[2,2]) { return y: add(x, x) }",
                                           "(x: f32[2,2]) { return y: matmul(x, x) }",
                                           "(x: f32[2,2]) { return y: matmul(x, x, transpose_a=true) }",
                                           "(x: f32[2,2]) { return y: matmul(x, x, transpose_b=true) }",
                                           "(x: f32[1,2,2,2]) { return y: max_pool(x, kernel=[2,2], layout=\"ncx\") }",
                                           "(x: f32[1,2,2,2]) { return y: max_pool(x, kernel=[2,2], layout=\"nxc\") }",
                                           "(x: f32[2,2], z: f32[2,2]) { return y: add(x, z) }",
                                           "(x: f32[2,2]) { z = parameter f32[2,2] \"z\"\n return y: add(x, z) }"};
  clear_memory_cache();
  for (int round = 0; round < 3; ++round) {
    if (round == 2) clear_memory_cache();
    for (const std::string& body : bodies) {
      INFO(body << " round " << round);
      Outputs got = run(graph_of("graph g" + body), options);
      CHECK(got.outcome == (round == 0 ? CacheOutcome::miss : round == 1 ? CacheOutcome::memory : CacheOutcome::disk));
      CHECK(same(got, run(graph_of("graph g" + body), plain())));
    }
  }
  auto misses = [&](auto change) {
    SessionOptions changed = options;
    change(changed);
    return run(graph_of("graph g" + bodies[0]), changed).outcome == CacheOutcome::miss;
  };
  CHECK(misses([](SessionOptions& o) { o.compile.precision = passes::Precision::fast; }));
  CHECK(misses([](SessionOptions& o) { o.compile.level = 0; }));
  CHECK(misses([](SessionOptions& o) { o.compile.threads = 2; }));
  CHECK(misses([](SessionOptions& o) { o.backends = {"reference"}; }));
  CHECK_FALSE(misses([](SessionOptions& o) { o.compile_threads = 2; }));
}

TEST_CASE("K03: a damaged entry is a miss, at most a warning, and replaced", "[peer-bugs]") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  ir::Graph graph = graph_of(std::string(kNet));
  Outputs right = run(graph, plain());
  clear_memory_cache();
  run(graph, options);
  fs::path entry = only_entry(directory.path());
  const std::string good = read_file(entry);
  Warnings warnings;
  auto recovers = [&](const std::string& what) {
    INFO(what);
    clear_memory_cache();
    Outputs got = run(graph, options);
    CHECK(got.outcome == CacheOutcome::miss);
    CHECK(same(got, right));
    clear_memory_cache();
    CHECK(run(graph, options).outcome == CacheOutcome::disk);
  };
  for (size_t length : {size_t{0}, size_t{1}, good.size() / 2, good.size() - 1}) {
    overwrite(entry, good.substr(0, length));
    recovers("cut to " + std::to_string(length));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 320; ++i) {
    size_t at = i < 256 ? static_cast<size_t>(i) : random() % good.size();
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    overwrite(entry, bad);
    recovers("byte " + std::to_string(at));
  }
  std::string noise(4096, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  overwrite(entry, noise);
  recovers("noise");
  fs::remove(entry);
  fs::create_directory(entry);
  overwrite(entry / "inside", "x");
  recovers("a directory");
  overwrite(directory / "of somebody", "precious");
  fs::remove(entry);
  fs::create_symlink(directory / "of somebody", entry);
  recovers("a link to somebody's file");
  CHECK(read_file(directory / "of somebody") == "precious");
  CHECK(!fs::is_symlink(entry));
  for (const std::string& line : warnings.lines) CHECK(line.find("recompiling") != std::string::npos);
  CHECK(warnings.lines.size() <= 330);
  fs::permissions(entry, fs::perms::none);
  clear_memory_cache();
  CHECK(same(run(graph, options), right));  // root reads it all the same
}

TEST_CASE("K03: a directory that cannot be written is one warning", "[peer-bugs]") {
  TemporaryDirectory directory;
  ir::Graph graph = graph_of(std::string(kNet));
  Outputs right = run(graph, plain());
  overwrite(directory / "file", "not a directory");
  Warnings warnings;
  for (int i = 0; i < 3; ++i) {
    clear_memory_cache();
    CHECK(same(run(graph, cached(directory / "file")), right));
  }
  CHECK(warnings.lines.size() >= 1);
}

TEST_CASE("K03: a full disk is a warning and leaves nothing behind", "[peer-bugs]") {
  TemporaryDirectory directory;
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // no file may grow beyond 64 bytes: write() fails as on a full disk
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{64, 64};
    setrlimit(RLIMIT_FSIZE, &limit);
    set_log_sink([](LogLevel, std::string_view) {});
    clear_memory_cache();
    ir::Graph graph = graph_of(std::string(kNet));
    _exit(same(run(graph, cached(directory.path())), run(graph, plain())) ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(fs::is_empty(directory.path()));
}

TEST_CASE("the disk's share is bounded, and only what is ours is removed") {
  TemporaryDirectory directory;
  SessionOptions options = cached(directory.path());
  options.cache.memory = false;
  run(graph_of("graph g(x: f32[2]) { return y: neg(x) }"), options);
  int64_t one = static_cast<int64_t>(fs::file_size(only_entry(directory.path())));
  overwrite(directory / "mine.txt", "keep me");
  overwrite(directory / ".tmp-999999999-00000000", "left over");  // no such process
  overwrite(directory / (".tmp-" + std::to_string(getpid()) + "-00000000"), "being written");
  options.cache.disk_bytes = 3 * one;
  for (int n = 3; n < 12; ++n)
    run(graph_of("graph g(x: f32[" + std::to_string(n) + "]) { return y: neg(x) }"), options);
  PlanCache cache(options.cache);
  std::vector<CacheEntryInfo> entries = cache.list();
  CHECK(entries.size() >= 2);
  CHECK(entries.size() <= 3);
  for (const CacheEntryInfo& info : entries) CHECK(info.problem == "");
  CHECK(entries[0].graph_name == "g");
  CHECK_FALSE(fs::exists(directory / ".tmp-999999999-00000000"));
  CHECK(fs::exists(directory / (".tmp-" + std::to_string(getpid()) + "-00000000")));
  overwrite(entries[0].file, "damaged");
  CHECK(cache.list().at(0).problem != "");
  CHECK(cache.collect_unusable().bytes > 0);
  CHECK(cache.clear().bytes > 0);
  CHECK(cache.list().empty());
  CHECK(fs::exists(directory / "mine.txt"));
}

TEST_CASE("where plans are kept") {
  auto with = [](const char* weft, const char* xdg, const char* home) {
    for (auto [name, value] :
         {std::pair("WEFT_CACHE_DIR", weft), std::pair("XDG_CACHE_HOME", xdg), std::pair("HOME", home)}) {
      if (value)
        setenv(name, value, 1);
      else
        unsetenv(name);
    }
    return default_cache_directory();
  };
  CHECK(with("/a", "/b", "/c") == "/a");
  CHECK(with(nullptr, "/b", "/c") == "/b/weft");
  CHECK(with(nullptr, "relative", "/c") == "/c/.cache/weft");
  CHECK(with("", nullptr, "/c") == "/c/.cache/weft");
  CHECK(with(nullptr, nullptr, nullptr).empty());
  CHECK_FALSE(
      same({{}, CacheOutcome::off}, run(graph_of(std::string(kNet)), SessionOptions())));  // runs without any directory
}

// Nothing is compiled before fork(): a child must not inherit a pool whose workers it lacks.
TEST_CASE("K04: processes on one empty directory", "[peer-bugs]") {
  for (int round = 0; round < 3; ++round) {
    TemporaryDirectory directory;
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      pid_t child = fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ir::Graph graph = graph_of(std::string(kNet));
        Outputs first = run(graph, cached(directory.path()));
        clear_memory_cache();
        Outputs second = run(graph, cached(directory.path()));
        bool right = second.outcome == CacheOutcome::disk && same(first, second) && same(first, run(graph, plain()));
        _exit(right ? 0 : 1);
      }
      children.push_back(child);
    }
    for (pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    }
    only_entry(directory.path());
    CacheOptions options;
    options.directory = directory.path();
    CHECK(PlanCache(options).list().at(0).problem == "");
  }
}

}  // namespace
}  // namespace weft::runtime
