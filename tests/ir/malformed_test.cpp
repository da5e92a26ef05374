// Malformed text: each piece is a weft::Error with its place, whatever it is.
#include "ir/program.hpp"
#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "ir/verify.hpp"
#include "tests/golden.hpp"
#include "tests/ir/random_graph.hpp"

using namespace weft;
using namespace weft::ir;

namespace {

/// Pieces that mutations put in: what the language is made of, and what it is not.
const std::vector<std::string>& pieces() {
  static const std::vector<std::string> kPieces = {"(",
                                                   ")",
                                                   "[",
                                                   "]",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   ":",
                                                   ";",
                                                   "=",
                                                   "==",
                                                   "...",
                                                   "%",
                                                   "%1",
                                                   "%1.1",
                                                   "#",
                                                   "\"",
                                                   "\\",
                                                   "\n",
                                                   "-",
                                                   "+",
                                                   "@",
                                                   "/",
                                                   "/0",
                                                   "0",
                                                   "-1",
                                                   "1e999",
                                                   "9223372036854775807",
                                                   "99999999999999999999",
                                                   "nan(0x1)",
                                                   "inf",
                                                   "0x",
                                                   "f32[",
                                                   "f32[2]",
                                                   "f32[2][1, 2]",
                                                   "bool[1][true]",
                                                   "i64[1000000000000]",
                                                   "f32[4611686018427387904,4]",
                                                   "return",
                                                   "graph",
                                                   "parameter",
                                                   "constant",
                                                   "as",
                                                   "true",
                                                   "x",
                                                   "w",
                                                   "relu(",
                                                   "conv(",
                                                   "split(",
                                                   "kernel(",
                                                   "program={",
                                                   "axis=",
                                                   "axes=[0,0]",
                                                   "shape=[-1]",
                                                   "shape=[0]",
                                                   "perm=[0,0]",
                                                   "strides=[0,0]",
                                                   "N",
                                                   "H/2",
                                                   "max(",
                                                   std::string("\0", 1),
                                                   "\xff",
                                                   "\xe2\x82\xac"};
  return kPieces;
}

std::string mutate(std::string text, test::Random& random) {
  for (int64_t edits = random.between(1, 2); edits > 0; --edits) {
    size_t at = static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size())));
    size_t length = static_cast<size_t>(random.between(1, 8));
    switch (random.between(0, 4)) {
      case 0:
        text.insert(at, random.pick(pieces()));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text = text.substr(0, at) + random.pick(pieces()) + text.substr(std::min(text.size(), at + length));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.next());
        break;
      default:
        text.insert(static_cast<size_t>(random.between(0, static_cast<int64_t>(text.size()))),
                    text.substr(at, length * 4));
    }
  }
  return text;
}

std::vector<std::string> valid_graphs() {
  std::vector<std::string> out;
  for (const auto& path : test::files_in("tests/golden/ir", ".graph")) {
    std::string text = test::read_file(path);
    out.push_back(text.substr(text.find("\n=>\n") + 4));
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 6;
    options.programs = true;
    options.hostile_names = seed % 2;
    out.push_back(print_graph(test::random_graph(options)));
  }
  return out;
}

}  // namespace

TEST_CASE("malformed graphs give errors that name the place and what was expected", "[golden]") {
  for (const auto& path : test::files_in("tests/golden/ir", ".bad"))
    test::check_golden(path, [](const std::string& input) {
      std::string out;
      size_t begin = 0;
      while (begin <= input.size()) {  // pieces are separated by lines of ----
        size_t end = input.find("\n----\n", begin);
        std::string piece = input.substr(begin, end == std::string::npos ? end : end - begin);
        std::string found =
            test::result_or_error([&] { return "accepted:\n" + print_graph(parse_graph(piece, "bad")); });
        CHECK(found.starts_with("error: "));
        out += found + "\n";
        if (end == std::string::npos) break;
        begin = end + 6;
      }
      return out;
    });
}

TEST_CASE("20,000 mutations of valid graphs read or give an error, nothing else") {
  test::Random random(2026);
  std::vector<std::string> seeds = valid_graphs();
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = mutate(random.pick(seeds), random);
    try {
      Graph g = parse_graph(text, "mutation");
      ++read;
      if (i % 10 == 0) {  // what reads is sound and round-trips
        verify(g);
        std::string printed = print_graph(g, {.parameter_data = true});
        Graph back = parse_graph(printed);
        if (print_graph(back, {.parameter_data = true}) != printed) FAIL(text << "\n" << printed);
      }
    } catch (const Error& e) {
      ++refused;
      if (e.code() == ErrorCode::internal || e.where().find("mutation:") != 0) FAIL(e.what() << "\nin\n" << text);
    }
  }
  CHECK(read > 500);
  CHECK(refused > 1000);
}

TEST_CASE("5,000 mutations of expressions read or give an error") {
  test::Random random(11);
  std::vector<std::string> seeds = {"a + b * c - -d % e @ f",
                                    "x[:, n:, 2, ::-1]",
                                    "transpose(f(xs...), p)",
                                    "conv(x, w, strides=[2,2], name=\"ab\")",
                                    "f32[2,2][1, 2, -0, nan(0x1)]",
                                    "f32[N/2+1,max(a,b)]",
                                    "{(a0: f32[2]) %1 = relu(a0); return %1}"};
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = mutate(random.pick(seeds), random);
    try {
      std::string printed = print_expression(parse_expression(text));
      ++read;
      if (print_expression(parse_expression(printed)) != printed) FAIL(text << "\n" << printed);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::internal) FAIL(e.what() << "\nin\n" << text);
    }
  }
  CHECK(read > 300);
}
