// The members of objects: those of `properties` in their order, then others.
#include <algorithm>
#include "bora/base/error.h"
#include "generate/grammar/schema.h"

namespace bora::generate::grammar {
namespace {
using json::Value;
/// The characters of a name, which is UTF-8.
std::u32string characters_of(const std::string& name) {
  std::u32string r;
  for (std::size_t i = 0; i < name.size();) {
    auto lead = static_cast<std::uint8_t>(name[i++]);
    int tails = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    char32_t c = tails == 0 ? lead : lead & (0x3F >> tails);
    for (; tails > 0 && i < name.size(); --tails) c = c << 6 | (static_cast<std::uint8_t>(name[i++]) & 0x3F);
    r += c;
  }
  return r;
}
}  // namespace

/// A name that is none of these. It has no \u: each has one form alone.
void Schema::other_name(const std::vector<std::string>& names, std::int32_t from, std::int32_t to) {
  struct Node {
    std::int32_t state;
    bool taken = false;
    std::map<char32_t, std::size_t> next = {};
  };
  auto end = a_.state(), free = a_.state(), begin = a_.state();
  std::vector<Node> nodes{{begin}};
  for (auto& name : names) {
    std::size_t at = 0;
    for (auto c : characters_of(name)) {
      auto known = nodes[at].next.find(c);
      if (known == nodes[at].next.end()) {
        known = nodes[at].next.emplace(c, nodes.size()).first;
        auto to_node = known->second;
        nodes.push_back({a_.state()});
        at = to_node;
      } else at = known->second;
    }
    nodes[at].taken = true;
  }
  a_.text(from, "\"", begin);
  a_.text(end, "\"", to);
  for (auto& node : nodes) {
    Characters known;
    for (auto& [c, next] : node.next) {
      known.emplace_back(c, c);
      a_.character(node.state, {{c, c}}, nodes[next].state);
    }
    a_.character(node.state, others(sorted(known)), free);
    if (!node.taken) a_.skip(node.state, end);
  }
  a_.character(free, all_characters(), free);
  a_.skip(free, end);
}
/// From the place of a first member to one behind any number of them.
void Schema::add_others(const std::vector<std::string>& names, const Value* schema, const std::string& place, int depth,
                        std::int32_t from, std::int32_t to) {
  auto colon = a_.state(), point = a_.state(), value = a_.state(), comma = a_.state();
  if (names.empty()) a_.call(from, string(), colon);
  else other_name(names, from, colon);
  a_.text(colon, ":", point);
  gap(point, value);
  a_.call(value, schema ? rule_of(*schema, place + ".additionalProperties", depth) : any(kDepth), to);
  a_.text(to, ",", comma);
  gap(comma, from);
}
void Schema::add_object(const Value& schema, const std::string& place, int depth, std::int32_t from, std::int32_t to) {
  auto properties = schema.find("properties"), required = schema.find("required"),
       additional = schema.find("additionalProperties");
  bora::check<ValueError>(!properties || properties->is_object(), place, ".properties: must be an object of schemas");
  bora::check<ValueError>(!required || required->is_list(), place, ".required: must be an array of names");
  static const std::vector<Value::Member> none;
  static const Value anything(true);
  bool open = additional ? !(additional->is_boolean() && !additional->boolean()) : !properties;
  struct Member {
    std::string name, place;
    const Value* schema;
    bool must = false;
  };
  std::vector<Member> members;
  for (auto& [name, value] : properties ? properties->members() : none)
    members.push_back({name, place + ".properties." + name, &value});
  for (auto& name : required ? required->list() : Value::List()) {
    bora::check<ValueError>(name.is_text(), place, ".required: must be an array of names");
    auto known = std::ranges::find(members, name.text(), &Member::name);
    if (known == members.end()) {
      bora::check<ValueError>(open, place, ".required: ", json::quoted(name.text().substr(0, 60)),
                              " is none of the properties, and additionalProperties allows no others");
      members.push_back({name.text(), place + ".additionalProperties", additional ? additional : &anything});
      known = members.end() - 1;
    }
    known->must = true;
  }
  // Two states before each member: nothing is written yet, or a member is.
  auto first = a_.state(), behind = a_.state();
  a_.text(from, "{", first);
  bool may_be_first = true, may_be_behind = false;
  std::vector<std::string> names;
  for (auto& m : members) {
    names.push_back(m.name);
    auto name = a_.state(), colon = a_.state(), value = a_.state(), next_first = a_.state(), next_behind = a_.state();
    if (may_be_first) a_.skip(first, name);
    if (may_be_behind) {
      auto comma = a_.state();
      a_.text(behind, ",", comma);
      gap(comma, name);
    }
    a_.text(name, Value(m.name).dump() + ":", colon);
    gap(colon, value);
    add(*m.schema, m.place, depth, value, next_behind);
    if (!m.must && may_be_first) a_.skip(first, next_first);
    if (!m.must && may_be_behind) a_.skip(behind, next_behind);
    may_be_first = may_be_first && !m.must;
    may_be_behind = true;
    first = next_first;
    behind = next_behind;
  }
  if (may_be_first) a_.text(first, "}", to);
  a_.text(behind, "}", to);
  if (!open) return;
  auto other = a_.state(), last = a_.state();
  if (may_be_first) a_.skip(first, other);
  auto comma = a_.state();
  a_.text(behind, ",", comma);
  gap(comma, other);
  add_others(names, additional, place, depth, other, last);
  a_.text(last, "}", to);
}
}  // namespace bora::generate::grammar
