#include "json/api/value.h"
#include <algorithm>
#include <unordered_set>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "json/parser.h"

namespace bora::json {
namespace {
constexpr std::size_t kStrictDepth = 32, kMostDepth = 1000;
/// An object or a list that is read.
struct Open {
  bool list;
  std::string name = {};  // of the member whose value comes next
  Value::List items = {};
  std::vector<Value::Member> members = {};
  std::unordered_set<std::string> names = {};
};
class Tree final : public Parts {
 public:
  /// member: what errors call a member; empty: one may be given twice.
  Tree(const std::string& file, std::string_view member, Order order, std::size_t depth)
      : file_(file), member_(member), order_(order), depth_(depth) {}
  void begin(bool list) override {
    check<IoError>(open_.size() < depth_, file_, ": nested deeper than ", depth_, " levels");
    open_.push_back({list});
  }
  void end(bool list) override {
    auto last = std::move(open_.back());
    open_.pop_back();
    value(list ? Value(std::move(last.items)) : Value::object(std::move(last.members), order_));
  }
  void name(std::string& name) override {
    auto& object = open_.back();
    if (!member_.empty())
      check<IoError>(object.names.insert(name).second, file_, ": the ", member_, " '", one_line(name),
                     "' is given twice");
    object.name = std::move(name);
  }
  void value(Value x) override {
    if (open_.empty()) root_ = std::move(x);
    else if (auto& last = open_.back(); last.list) last.items.push_back(std::move(x));
    else last.members.emplace_back(std::move(last.name), std::move(x));
  }
  Value take() { return std::move(root_); }

 private:
  const std::string& file_;
  std::string_view member_;
  Order order_;
  std::size_t depth_;
  std::vector<Open> open_ = {};
  Value root_ = {};
};
constexpr auto before = [](const Value::Member& a, std::string_view name) { return a.first < name; };
}  // namespace

Value Value::object(std::vector<Member> members, Order order) {
  if (order == Order::by_name) {
    auto less = [](auto& a, auto& b) { return a.first < b.first; };
    auto same = [](auto& a, auto& b) { return a.first == b.first; };
    if (!std::is_sorted(members.begin(), members.end(), less)) std::stable_sort(members.begin(), members.end(), less);
    // unique() keeps the first of equals: from the end that is the last one.
    members.erase(members.begin(), std::unique(members.rbegin(), members.rend(), same).base());
  }
  Value v;
  v.v_ = Object{std::move(members), order};
  return v;
}
std::string_view Value::type_name() const {
  switch (kind()) {
    case Kind::null: return "null";
    case Kind::boolean: return "boolean";
    case Kind::text: return "string";
    case Kind::list: return "array";
    case Kind::object: return "object";
    default: return "number";
  }
}
std::int64_t Value::integer() const {
  return is_natural() ? static_cast<std::int64_t>(natural()) : std::get<std::int64_t>(v_);
}
double Value::number() const {
  if (is_natural()) return static_cast<double>(natural());
  return kind() == Kind::integer ? static_cast<double>(integer()) : std::get<double>(v_);
}
const Value* Value::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  auto& [members, order] = std::get<Object>(v_);
  auto named = [&](auto& member) { return member.first == name; };
  auto at = order == Order::by_name ? std::lower_bound(members.begin(), members.end(), name, before)
                                    : std::find_if(members.begin(), members.end(), named);
  return at != members.end() && at->first == name ? &at->second : nullptr;
}
Value& Value::set(std::string_view name, Value x) {
  if (is_null()) v_ = Object{{}, Order::by_name};
  if (auto found = find(name)) return *found = std::move(x);
  auto& [members, order] = std::get<Object>(v_);
  auto at = order == Order::by_name ? std::lower_bound(members.begin(), members.end(), name, before) : members.end();
  return members.emplace(at, name, std::move(x))->second;
}
Value& Value::add(Value x) {
  if (is_null()) v_ = List();
  return std::get<List>(v_).emplace_back(std::move(x));
}
bool operator==(const Value& a, const Value& b) {
  if (a.kind() != b.kind() && a.is_number() && b.is_number()) return a.number() == b.number();
  return a.v_ == b.v_;
}
std::string Value::dump(int indent) const { return write(*this, indent, false); }

Value parse(std::string_view text, const std::string& file, std::string_view member, Order order) {
  Tree tree(file, member, order, kStrictDepth);
  read(text, file, tree);
  return tree.take();
}
Value parse_or_null(std::string_view text) try {
  const std::string file;
  Tree tree(file, {}, Order::by_name, kMostDepth);
  read(text, file, tree);
  return tree.take();
} catch (const IoError&) { return {}; }
std::string quoted(const std::string& text) { return write(text, -1, true); }
}  // namespace bora::json
