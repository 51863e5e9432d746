#include <algorithm>
#include "text/jinja/parser.h"

namespace bora::text::jinja {
ExpressionPtr ExpressionParser::expression() {
  Deeper deeper(*this);
  auto line = here().line;
  auto value = or_chain();
  for (Links links{*this}; take_name("if"); links.more()) {
    auto test = or_chain();
    auto otherwise = take_name("else") ? expression() : nullptr;
    value = at_line(line, choice(std::move(test), std::move(value), std::move(otherwise)));
  }
  return value;
}
ExpressionPtr ExpressionParser::tuple_of(bool choices) {
  auto one = [&] { return choices ? expression() : or_chain(); };
  auto line = here().line;
  auto first = one();
  if (!is_sign(",")) return first;
  std::vector<ExpressionPtr> items;
  items.push_back(std::move(first));
  while (take_sign(",") && !is(TokenKind::close) && !is_sign(")")) items.push_back(one());
  return at_line(line, list_of(std::move(items), true));
}
ExpressionPtr ExpressionParser::or_chain() {
  Deeper deeper(*this);
  auto line = here().line;
  auto value = and_chain();
  for (Links links{*this}; take_name("or"); links.more())
    value = at_line(line, binary("or", std::move(value), and_chain()));
  return value;
}
ExpressionPtr ExpressionParser::and_chain() {
  auto line = here().line;
  auto value = negation();
  for (Links links{*this}; take_name("and"); links.more())
    value = at_line(line, binary("and", std::move(value), negation()));
  return value;
}
ExpressionPtr ExpressionParser::negation() {
  Deeper deeper(*this);
  auto line = here().line;
  if (take_name("not")) return at_line(line, unary('!', negation()));
  return comparisons();
}
ExpressionPtr ExpressionParser::comparisons() {
  auto line = here().line;
  auto value = sum();
  std::vector<std::pair<std::string, ExpressionPtr>> chain;
  for (;;) {
    std::string sign;
    for (auto s : {"==", "!=", "<=", ">=", "<", ">"})
      if (is_sign(s)) sign = s;
    if (!sign.empty()) ++at_;
    else if (take_name("in")) sign = "in";
    else if (is_name("not") && tokens_[at_ + 1].kind == TokenKind::name && tokens_[at_ + 1].text == "in")
      at_ += 2, sign = "not in";
    else break;
    chain.emplace_back(sign, sum());
  }
  return chain.empty() ? std::move(value) : at_line(line, comparison(std::move(value), std::move(chain)));
}
template <class F> ExpressionPtr ExpressionParser::chain_of(std::initializer_list<const char*> signs, F&& part) {
  auto line = here().line;
  auto value = part();
  for (Links links{*this};; links.more()) {
    auto found = std::find_if(signs.begin(), signs.end(), [&](auto s) { return is_sign(s); });
    if (found == signs.end()) return value;
    ++at_;
    value = at_line(line, binary(*found, std::move(value), part()));
  }
}
ExpressionPtr ExpressionParser::sum() {
  return chain_of({"+", "-"}, [&] { return joined(); });
}
ExpressionPtr ExpressionParser::joined() {
  return chain_of({"~"}, [&] { return product(); });
}
ExpressionPtr ExpressionParser::product() {
  return chain_of({"*", "/", "//", "%"}, [&] { return power(); });
}
ExpressionPtr ExpressionParser::power() {
  return chain_of({"**"}, [&] { return signed_value(true); });
}
ExpressionPtr ExpressionParser::signed_value(bool filters) {
  Deeper deeper(*this);
  auto line = here().line;
  ExpressionPtr value;
  if (is_sign("-") || is_sign("+")) {
    auto sign = next().text[0];
    value = at_line(line, unary(sign, signed_value(false)));
  } else value = primary();
  value = behind(std::move(value));
  return filters ? filters_and_tests(std::move(value)) : std::move(value);
}
ExpressionPtr ExpressionParser::primary() {
  auto line = here().line;
  auto& t = next();
  switch (t.kind) {
    case TokenKind::name:
      if (t.text == "true" || t.text == "True") return constant(true);
      if (t.text == "false" || t.text == "False") return constant(false);
      if (t.text == "none" || t.text == "None") return constant(nullptr);
      return at_line(line, variable(t.text));
    case TokenKind::text: {
      auto s = t.text;
      while (is(TokenKind::text)) s += next().text;
      return constant(Marked(s));
    }
    case TokenKind::integer: return constant(t.integer);
    case TokenKind::real: return constant(t.real);
    default: break;
  }
  if (t.kind == TokenKind::sign && t.text == "(") {
    if (take_sign(")")) return list_of({}, true);
    auto value = tuple_of(true);
    need_sign(")");
    return value;
  }
  if (t.kind == TokenKind::sign && t.text == "[") {
    std::vector<ExpressionPtr> items;
    while (!take_sign("]")) {
      if (!items.empty()) need_sign(",");
      if (take_sign("]")) break;
      items.push_back(expression());
    }
    return at_line(line, list_of(std::move(items), false));
  }
  if (t.kind == TokenKind::sign && t.text == "{") {
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> members;
    while (!take_sign("}")) {
      if (!members.empty()) need_sign(",");
      if (take_sign("}")) break;
      auto key = expression();
      need_sign(":");
      members.emplace_back(std::move(key), expression());
    }
    return at_line(line, dict_of(std::move(members)));
  }
  if (t.kind != TokenKind::end) --at_;
  bad("expected a value, got ", shown());
}
ExpressionPtr ExpressionParser::behind(ExpressionPtr value) {
  for (Links links{*this};; links.more()) {
    auto line = here().line;
    if (take_sign(".")) {
      if (is(TokenKind::integer)) value = at_line(line, item(std::move(value), constant(next().integer)));
      else value = at_line(line, attribute(std::move(value), need_name()));
    } else if (take_sign("[")) value = at_line(line, subscript(std::move(value)));
    else if (is_sign("(")) value = at_line(line, call(std::move(value), arguments()));
    else return value;
  }
}
ExpressionPtr ExpressionParser::subscript(ExpressionPtr value) {
  ExpressionPtr part[3];
  int colons = 0;
  while (!is_sign("]")) {
    if (take_sign(":")) {
      if (++colons > 2) bad("a slice has at most two colons");
    } else if (part[colons] == nullptr) part[colons] = expression();
    else bad("expected ']', got ", shown());
  }
  ++at_;
  if (colons > 0) return slice(std::move(value), std::move(part[0]), std::move(part[1]), std::move(part[2]));
  if (part[0] == nullptr) bad("[] names no item");
  return item(std::move(value), std::move(part[0]));
}
Arguments ExpressionParser::arguments() {
  Arguments list;
  need_sign("(");
  using enum Argument::How;
  while (!take_sign(")")) {
    if (!list.empty()) {
      need_sign(",");
      if (take_sign(")")) break;
    }
    bool name = is(TokenKind::name) && tokens_[at_ + 1].kind == TokenKind::sign && tokens_[at_ + 1].text == "=";
    if (take_sign("**")) list.push_back({all_named, {}, expression()});
    else if (take_sign("*")) list.push_back({all, {}, expression()});
    else if (name) {
      auto key = next().text;
      ++at_;
      list.push_back({named, key, expression()});
    } else list.push_back({at, {}, expression()});
  }
  return list;
}
std::string ExpressionParser::dotted_name() {
  auto name = need_name();
  while (take_sign(".")) name += "." + need_name();
  return name;
}
ExpressionPtr ExpressionParser::filter_chain(ExpressionPtr value, bool bar) {
  Links links{*this};
  for (; !bar || take_sign("|"); bar = true) {
    links.more();
    auto line = here().line;
    auto name = dotted_name();
    if (filter_named(name) == nullptr) fail<ValueError>(line, ": there is no filter '", name, "'");
    auto args = is_sign("(") ? arguments() : Arguments{};
    value = at_line(line, filtered(std::move(value), name, std::move(args)));
  }
  return value;
}
ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr value) {
  for (Links links{*this};; links.more()) {
    if (is_sign("|")) value = filter_chain(std::move(value), true);
    else if (is_name("is")) value = a_test(std::move(value));
    else if (is_sign("(")) value = call(std::move(value), arguments());
    else return value;
  }
}
ExpressionPtr ExpressionParser::a_test(ExpressionPtr value) {
  auto line = here().line;
  ++at_;
  bool negated = take_name("not");
  auto name = is(TokenKind::name) ? dotted_name() : std::string();
  if (test_named(name) == nullptr) fail<ValueError>(line, ": there is no test '", name, "'");
  Arguments args;
  bool word = is(TokenKind::name) && !is_name("else") && !is_name("or") && !is_name("and") && !is_name("is") &&
              !is_name("if") && !is_name("in") && !is_name("not") && !is_name("recursive");
  bool value_here = is(TokenKind::text) || is(TokenKind::integer) || is(TokenKind::real) || is_sign("[") ||
                    is_sign("{");
  if (is_sign("(")) args = arguments();
  else if (word || value_here) args.push_back({Argument::How::at, {}, behind(primary())});
  return at_line(line, tested(std::move(value), name, std::move(args), negated));
}
}  // namespace bora::text::jinja
