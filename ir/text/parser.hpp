#pragma once
// Tokens to expressions and graphs, by recursive descent with precedence climbing; nesting is bounded by kMaxNesting.
#include <unordered_map>

#include "ir/text/lexer.hpp"

namespace weft::ir {

class Parser {
 public:
  /// `source` must outlive the parser.
  explicit Parser(const Source& source) : source_(source), tokens_(tokenize(source)) {}

  Expr expression();         ///< one expression, up to what cannot continue it
  TensorType type_literal();
  Graph graph();             ///< `graph name(...) {...}`
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

  // Expressions. Each sets height_ to the number of levels of what it returns.
  Expr binary(int loosest);
  Expr unary();
  Expr postfix();
  Expr primary();
  Expr name_or_call();
  Expr call(Expr callee);
  Expr list();
  Expr tensor_or_type();
  Expr slice(Expr base);
  Expr range();
  Expr special_number(TextPosition at, bool negative);
  Expr value_name();
  void named_argument(Expr& call);
  void grow(const Expr& at, int height);
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
  Expr program();

  const Source& source_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0;               // of nested calls of this parser
  int height_ = 0;              // of the expression last returned
  bool lines_matter_ = false;   // in a statement, outside brackets: a line's end ends the expression
};

}  // namespace weft::ir
