#pragma once
// Tokens to expressions and graphs, by recursive descent with precedence climbing; nesting is bounded by kMaxNesting.
#include <unordered_map>

#include "ir/text/lexer.hpp"

namespace weft::ir {

class Parser {
 public:
  /// `source` must outlive the parser.
  explicit Parser(const Source& source) : source_(source), tokens_(tokenize(source)) {}

  Expr expression();  ///< one expression, up to what cannot continue it
  TensorType type_literal();
  Graph graph();  ///< `graph name(...) {...}`
  bool accept(std::string_view symbol);
  bool at_end() const { return token().kind == TokenKind::end; }
  void expect_end();
  std::string_view spelling() const { return spelling(token()); }

 private:
  struct Names;  // values of the graph being parsed, by name

  const Token& token(size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
  std::string_view spelling(const Token& t) const { return source_.text.substr(t.offset, t.size); }
  bool is(std::string_view symbol, size_t ahead = 0) const;
  bool is_word(std::string_view word) const;
  bool adjacent(size_t ahead) const;  // token `ahead` follows the one before it without a blank
  bool adjacent_to_previous() const;
  void expect(std::string_view symbol, std::string_view where);
  [[noreturn]] void unexpected(std::string_view expected) const;

  [[noreturn]] void unexpected_symbol(std::string_view symbol, std::string_view where) const;
  [[noreturn]] void unexpected_in_call(const Expr& call) const;
  [[noreturn]] void too_deep(TextPosition at) const;

  // Expressions. Each writes into a fresh place and sets height_ to the number of levels of what it wrote. What
  // recurses is kept from being inlined: a level of text then costs a few hundred bytes of stack.
#define WEFT_RECURSES [[gnu::noinline]]
  WEFT_RECURSES void binary(int loosest, Expr& out);
  WEFT_RECURSES void unary(Expr& out);
  WEFT_RECURSES void postfix(Expr& out);
  WEFT_RECURSES void primary(Expr& out);
  WEFT_RECURSES void name_or_call(Expr& out);
  WEFT_RECURSES void call(Expr& out);
  WEFT_RECURSES void list(Expr& out);
  WEFT_RECURSES void type(Expr& out);
  WEFT_RECURSES void tensor_or_type(Expr& out);
  WEFT_RECURSES void slice(Expr& out);
  WEFT_RECURSES void range(Expr& out);
  WEFT_RECURSES void program(Expr& out);
  WEFT_RECURSES Expr& join(Expr& left, std::string_view op);
  WEFT_RECURSES void sequence(Expr& out);
  WEFT_RECURSES void plain_literal(Expr& out);
  WEFT_RECURSES bool negative_number(Expr& out);
  WEFT_RECURSES void negate(TextPosition at, Expr& out);
  WEFT_RECURSES void special_number(bool negative, Expr& out);
  WEFT_RECURSES void value_name(Expr& out);
  WEFT_RECURSES Expr& positional_argument(Expr& call);
  WEFT_RECURSES Expr& named_argument(Expr& call);
  WEFT_RECURSES void finish_type(DType dtype, TextPosition at, Expr& out);
  WEFT_RECURSES void open_slice(Expr& out);
#undef WEFT_RECURSES
  void grow(const Expr& e, int height);
  bool continues() const;

  // Graphs.
  std::string name_or_string(std::string_view what);
  void inputs(Graph& graph, Names& names);
  void body(Graph& graph, Names& names, bool keep_names);  // of outputs: a program has none
  void statement(Graph& graph, Names& names);
  void leaf(Graph& graph, Names& names, const Expr& target);
  void bind(Graph& graph, Names& names, const std::vector<Expr>& targets, const Expr& value);
  void returns(Graph& graph, Names& names, bool keep_names);
  Expr target();
  std::string hint(const std::string& otherwise);
  ProgramRef finish_program(const Graph& graph, TextPosition at) const;

  const Source& source_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;              // of nested calls of this parser
  int height_ = 0;             // of the expression last returned
  bool lines_matter_ = false;  // in a statement, outside brackets: a line's end ends the expression
};

}  // namespace weft::ir
