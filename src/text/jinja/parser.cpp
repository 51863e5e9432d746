// parser.cpp -- the statements of Jinja 3.1, but for inheritance, imports and autoescape.
#include "text/jinja/parser.h"
#include <algorithm>

namespace bora::text::jinja {
namespace {
class StatementParser : ExpressionParser {
 public:
  explicit StatementParser(std::string_view source) : ExpressionParser(source) {}
  Body run() {
    auto body = body_until({});
    if (!is(TokenKind::end)) bad("unexpected '", here().text, "'");
    return body;
  }

 private:
  using Words = std::vector<std::string_view>;
  /// Up to a block that begins with one of these words, whose name is the next token.
  Body body_until(const Words& ends) {
    Deeper deeper(*this);
    Body body;
    for (;;) {
      auto line = here().line;
      if (is(TokenKind::end)) return body;
      if (is(TokenKind::data)) {
        body.statements.push_back(at_line(line, data(next().text)));
      } else if (is(TokenKind::output)) {
        ++at_;
        body.statements.push_back(at_line(line, output(tuple_of(true))));
        need_close();
      } else {
        ++at_;
        if (is(TokenKind::name) && std::find(ends.begin(), ends.end(), here().text) != ends.end()) return body;
        body.statements.push_back(at_line(line, statement()));
      }
    }
  }
  /// A body behind a tag that ends here, with its last tag.
  Body body_to(std::string_view end) {
    need_close();
    auto line = here().line;
    auto body = body_until({end});
    if (!take_name(end)) fail<ValueError>(line, ": there is no {% ", end, " %}");
    if (end == "endmacro" && is(TokenKind::name)) ++at_;
    need_close();
    return body;
  }
  StatementPtr statement() {
    auto word = need_name();
    if (word == "if") return if_chain();
    if (word == "for") return for_loop();
    if (word == "set") return assignment();
    if (word == "macro") return a_macro();
    if (word == "call") return a_call_block();
    if (word == "filter") {
      auto filters = filter_chain(block_text(), false);
      return filter_block(std::move(filters), body_to("endfilter"));
    }
    if (word == "with") return a_with();
    if (word == "generation") return generation(body_to("endgeneration"));
    if (word == "break" || word == "continue") {
      if (loops_ == 0) bad(word, " stands in no loop");
      need_close();
      return leave(word == "break" ? Flow::leave : Flow::again);
    }
    --at_;
    constexpr std::string_view others[] = {"block", "extends", "include", "import", "from", "autoescape", "do"};
    bool known = std::find(std::begin(others), std::end(others), word) != std::end(others);
    bad(known ? "chat templates do not use the tag '" : "unknown tag '", word, "'");
  }
  StatementPtr if_chain() {
    std::vector<Branch> branches;
    auto line = here().line;
    for (ExpressionPtr test = expression();;) {
      need_close();
      auto body = body_until({"elif", "else", "endif"});
      branches.push_back({std::move(test), std::move(body)});
      if (is(TokenKind::end)) fail<ValueError>(line, ": there is no {% endif %}");
      auto word = next().text;
      if (word == "endif") break;
      if (branches.back().test == nullptr) bad(word, " behind else");
      test = word == "elif" ? expression() : nullptr;
    }
    need_close();
    return choose(std::move(branches));
  }
  StatementPtr for_loop() {
    Loop l;
    auto line = here().line;
    l.target = target(true);
    if (!take_name("in")) bad("expected 'in', got ", shown());
    l.items = tuple_of(false);
    if (take_name("if")) l.filter = expression();
    l.recursive = take_name("recursive");
    need_close();
    ++loops_;
    l.body = body_until({"else", "endfor"});
    --loops_;
    if (take_name("else")) {
      need_close();
      l.otherwise = body_until({"endfor"});
    }
    if (!take_name("endfor")) fail<ValueError>(line, ": there is no {% endfor %}");
    need_close();
    return loop(std::move(l));
  }
  Target target(bool of_loop) {
    std::vector<Target> parts;
    bool comma = false;
    do {
      if (comma && !is(TokenKind::name) && !is_sign("(")) break;
      if (take_sign("(")) {
        parts.push_back(target(of_loop));
        need_sign(")");
      } else {
        Target t{need_name()};
        if (t.name == "true" || t.name == "false" || t.name == "none") bad("'", t.name, "' is no name to assign to");
        if (!of_loop && take_sign(".")) t.member = need_name();
        parts.push_back(std::move(t));
      }
      if (!is_sign(",")) break;
      comma = true;
      ++at_;
    } while (true);
    if (!comma) return std::move(parts[0]);
    Target all;
    all.several = std::move(parts);
    return all;
  }
  StatementPtr assignment() {
    auto to = target(false);
    if (take_sign("=")) {
      auto value = tuple_of(true);
      need_close();
      return assign(std::move(to), std::move(value));
    }
    auto filters = is_sign("|") ? filter_chain(block_text(), true) : block_text();
    return assign_block(std::move(to), std::move(filters), body_to("endset"));
  }
  std::vector<Parameter> parameters() {
    std::vector<Parameter> list;
    need_sign("(");
    while (!take_sign(")")) {
      if (!list.empty()) {
        need_sign(",");
        if (take_sign(")")) break;
      }
      Parameter p{need_name(), nullptr};
      if (take_sign("=")) p.otherwise = expression();
      list.push_back(std::move(p));
    }
    return list;
  }
  StatementPtr a_macro() {
    Callable c;
    c.name = need_name();
    c.parameters = parameters();
    auto loops = std::exchange(loops_, 0);
    c.body = body_to("endmacro");
    loops_ = loops;
    return macro(std::move(c));
  }
  StatementPtr a_call_block() {
    Callable c{"caller", {}, {}};
    if (is_sign("(")) c.parameters = parameters();
    auto called = expression();
    auto loops = std::exchange(loops_, 0);
    c.body = body_to("endcall");
    loops_ = loops;
    return call_block(std::move(called), std::move(c));
  }
  StatementPtr a_with() {
    std::vector<std::pair<Target, ExpressionPtr>> values;
    while (!is(TokenKind::close)) {
      if (!values.empty()) need_sign(",");
      Target t{need_name()};
      need_sign("=");
      values.emplace_back(std::move(t), expression());
    }
    return with_block(std::move(values), body_to("endwith"));
  }
  int loops_ = 0;  // around, within a macro
};
}  // namespace

Body parse(std::string_view source) { return StatementParser(source).run(); }
}  // namespace bora::text::jinja
