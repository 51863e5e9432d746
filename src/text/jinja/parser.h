// parser.h -- what the parsers of expressions and of statements share: the tokens, and errors with their lines.
#pragma once
#include "bora/base/error.h"
#include "text/jinja/lexer.h"
#include "text/jinja/nodes.h"

namespace bora::text::jinja {
class Parser {
 protected:
  // Expressions and statements within each other, and parts of a chain such as a + b + c, which make the tree deep too.
  static constexpr int kDeepest = 100, kLongest = 200;
  explicit Parser(std::string_view source) : tokens_(tokens_of(source)) {}
  template <class... Parts> [[noreturn]] void bad(const Parts&... parts) const {
    fail<ValueError>(here().line, ": ", parts...);
  }
  const Token& here() const { return tokens_[at_]; }
  const Token& next() { return tokens_[is(TokenKind::end) ? at_ : at_++]; }
  bool is(TokenKind k) const { return here().kind == k; }
  bool is_sign(std::string_view s) const { return is(TokenKind::sign) && here().text == s; }
  bool is_name(std::string_view s) const { return is(TokenKind::name) && here().text == s; }
  bool take_sign(std::string_view s) { return is_sign(s) && (++at_, true); }
  bool take_name(std::string_view s) { return is_name(s) && (++at_, true); }
  void need_sign(std::string_view s) {
    if (!take_sign(s)) bad("expected '", s, "', got ", shown());
  }
  std::string need_name() {
    if (!is(TokenKind::name)) bad("expected a name, got ", shown());
    return next().text;
  }
  void need_close() {
    if (!is(TokenKind::close)) bad("expected the end of the tag, got ", shown());
    ++at_;
  }
  std::string shown() const {
    if (is(TokenKind::end)) return "the end of the template";
    return is(TokenKind::close) ? "the end of the tag" : "'" + here().text + "'";
  }
  template <class P> static P at_line(int line, P node) {
    node->line = line;
    return node;
  }
  struct Deeper {
    explicit Deeper(Parser& p) : p(p) {
      if (++p.depth_ > kDeepest) p.bad("tags or brackets lie in each other more than ", kDeepest, " deep");
    }
    ~Deeper() { --p.depth_; }
    Parser& p;
  };
  /// Counts the parts of a chain.
  struct Links {
    Parser& p;
    int n = 0;
    void more() {
      if (++n > kLongest) p.bad("a chain of more than ", kLongest, " operations; {% set %} names parts of it");
    }
  };
  std::vector<Token> tokens_;
  std::size_t at_ = 0;

 private:
  int depth_ = 0;
};
/// Expressions, by rising precedence.
class ExpressionParser : public Parser {
 protected:
  using Parser::Parser;
  ExpressionPtr expression();
  /// One expression, or several with commas between them. Without `choices` an `if` is no part of it.
  ExpressionPtr tuple_of(bool choices);
  /// Filters upon a value: `| name(..)` each; the first bar may be left out.
  ExpressionPtr filter_chain(ExpressionPtr value, bool bar);

 private:
  ExpressionPtr or_chain();
  ExpressionPtr and_chain();
  ExpressionPtr negation();
  ExpressionPtr comparisons();
  template <class F> ExpressionPtr chain_of(std::initializer_list<const char*> signs, F&& part);
  ExpressionPtr sum();
  ExpressionPtr joined();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr signed_value(bool filters);
  ExpressionPtr primary();
  /// With what stands behind a value: .name, [..], (..).
  ExpressionPtr behind(ExpressionPtr value);
  ExpressionPtr subscript(ExpressionPtr value);
  Arguments arguments();
  std::string dotted_name();
  ExpressionPtr filters_and_tests(ExpressionPtr value);
  ExpressionPtr a_test(ExpressionPtr value);
};
}  // namespace bora::text::jinja
