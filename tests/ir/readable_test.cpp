#include "ir/support/readable.hpp"

#include "ir/support/error.hpp"
#include "ir/text.hpp"
#include "tests/catch.hpp"

using namespace weft;

TEST_CASE("text from outside is made readable") {
  CHECK(readable("plain 🦙 text") == "plain 🦙 text");
  CHECK(readable("") == "");
  CHECK(readable("a\x1b[31m\n\t\r\x7f") == "a\\x1b[31m\\n\\t\\r\\x7f");
  CHECK(readable("\xff\xfe|\xc3|\xc3\xa9|\xed\xa0\x80|\xc0\x80") == "\\xff\\xfe|\\xc3|é|\\xed\\xa0\\x80|\\xc0\\x80");
  CHECK(readable("\xc2\x9b\xe2\x80\xae") == "\\xc2\\x9b\\xe2\\x80\\xae");  // CSI, right-to-left override
  CHECK(readable(std::string("\0x", 2)) == "\\x00x");
}

TEST_CASE("long text loses its middle, never half a character") {
  std::string llamas;
  for (int i = 0; i < 25'000; ++i) llamas += "🦙";
  for (size_t most : {size_t{5}, size_t{6}, size_t{41}, kReadableName}) {
    std::string shown = readable(llamas, most);
    CHECK(shown.size() <= most);
    CHECK(shown.size() + 8 >= most);
    CHECK(shown.find("[...]") != std::string::npos);
    CHECK(readable(shown, most) == shown);
  }
  CHECK(readable("head" + std::string(100'000, '\x01') + "tail", 30).size() <= 30);
  CHECK(readable("head" + std::string(100'000, 'n') + "tail").starts_with("headnnn"));
  CHECK(readable("head" + std::string(100'000, 'n') + "tail").ends_with("nnntail"));
}

TEST_CASE("messages keep their lines and lose the middle of long words") {
  CHECK(readable_message("two\nlines, \x1b") == "two\nlines, \\x1b");
  std::string message =
      readable_message("node '" + std::string(100'000, 'n') + "' is wrong: expected " + std::string(100'000, 'm'));
  CHECK(message.size() < 1000);
  CHECK(message.find("is wrong: expected") != std::string::npos);
  std::string words;
  for (int i = 0; i < 50'000; ++i) words += "w ";
  CHECK(readable_message(words).size() <= kReadableMessage);
}

TEST_CASE("errors are readable whatever they quote, however far out they come from") {
  Error error = Error(ErrorCode::parse, "found '" + std::string(100'000, 'x') + "\x1b'", "node '\xff'")
                    .within(std::string(100'000, 'p'));
  CHECK(std::string(error.what()).size() < 2000);
  CHECK(std::string(error.what()).find_first_of("\x1b\xff") == std::string::npos);
  CHECK(std::string(error.what()).find("node '\\xff': parse error: found 'xxx") != std::string::npos);
}

TEST_CASE("quoted names are readable and read back as they were") {
  const std::string names[] = {"\xff\xfe\x1b", "🦙\xc3", "\xc2\x9b\xe2\x80\xae", "a\"\\\n\t\r\x7f",
                               std::string("\0", 1)};
  for (const std::string& name : names) {
    const std::string quoted = ir::quote(name);
    CHECK(readable(quoted) == quoted);
    ir::Graph graph("g");
    graph.output(name, graph.input(name, {ir::DType::f32, {2}}));
    ir::Graph back = ir::parse_graph(ir::print_graph(graph));
    CHECK(back.node(back.inputs()[0]).name == name);
    CHECK(back.outputs()[0].name == name);
  }
}
