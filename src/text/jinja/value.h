// value.h -- values of Jinja templates: Python's, as far as templates use them. All but namespaces are constants.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bora::text::jinja {
/// Marks of a byte of text.
inline constexpr char kPlain = 0, kSaid = 1, kLearnt = 2;
/// A text whose bytes know where they are from, through whatever is done with them.
struct Marked {
  std::string text, marks;  // of one length
  Marked() = default;
  Marked(std::string_view s, char mark = kPlain) : text(s), marks(s.size(), mark) {}
  Marked(const char* s) : Marked(std::string_view(s)) {}
  Marked(const std::string& s) : Marked(std::string_view(s)) {}
  std::size_t size() const { return text.size(); }
  bool empty() const { return text.empty(); }
  Marked& add(const Marked& more) {
    text += more.text;
    marks += more.marks;
    return *this;
  }
  Marked& add(std::string_view more, char mark) {
    text += more;
    marks.append(more.size(), mark);
    return *this;
  }
  Marked part(std::size_t from, std::size_t n = std::string::npos) const {
    Marked r;
    r.text = text.substr(from, n);
    r.marks = marks.substr(from, n);
    return r;
  }
};

class Run;
class Value;
using Values = std::vector<Value>;
struct Undefined {
  std::string name;
};
struct ListData;
struct DictData;
struct Args;
/// A value with attributes of its own, or that can be called.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type() const = 0;
  /// Undefined by default.
  virtual Value attribute(std::string_view name);
  /// Throws by default.
  virtual void set(Run&, const std::string& name, Value);
  virtual bool can_be_called() const { return false; }
  virtual Value call(Run&, Args&);
  /// Lets go what it holds.
  virtual void clear() {}
};

class Value {
 public:
  enum class Kind { undefined, none, boolean, integer, real, text, list, dict, object };
  Value() = default;
  Value(Undefined u) : v_(std::move(u)) {}
  Value(std::nullptr_t) : v_(std::monostate{}) {}
  Value(std::same_as<bool> auto x) : v_(x) {}
  Value(std::int64_t x) : v_(x) {}
  Value(double x) : v_(x) {}
  Value(Marked x) : v_(std::make_shared<const Marked>(std::move(x))) {}
  Value(const char* x) : Value(Marked(x)) {}
  Value(std::shared_ptr<Object> x) : v_(std::move(x)) {}
  // Throw for more than 150 values in each other.
  static Value list(Values items, bool tuple = false);
  static Value dict(std::vector<std::pair<Value, Value>> items);

  Kind kind() const { return static_cast<Kind>(v_.index()); }
  bool is(Kind k) const { return kind() == k; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  // The value must be of the kind that is asked for.
  const std::string& missing() const { return std::get<Undefined>(v_).name; }
  bool boolean() const { return std::get<bool>(v_); }
  std::int64_t integer() const {
    return is(Kind::boolean) ? static_cast<std::int64_t>(boolean()) : std::get<std::int64_t>(v_);
  }
  double number() const { return is(Kind::real) ? std::get<double>(v_) : static_cast<double>(integer()); }
  const Marked& text() const { return *std::get<std::shared_ptr<const Marked>>(v_); }
  const Values& items() const;
  bool is_tuple() const;
  const std::vector<std::pair<Value, Value>>& members() const;
  const std::shared_ptr<Object>& object() const { return std::get<std::shared_ptr<Object>>(v_); }

  bool truth() const;
  /// As Python's type names it.
  std::string_view type() const;
  /// The member of a dict; null if there is none.
  const Value* find(const Value& key) const;
  int depth() const;
  /// About the bytes of its texts, with those inside.
  std::size_t bytes() const;
  /// The same object: `is` of Python.
  bool same(const Value&) const;

 private:
  std::variant<Undefined, std::monostate, bool, std::int64_t, double, std::shared_ptr<const Marked>,
               std::shared_ptr<const ListData>, std::shared_ptr<const DictData>, std::shared_ptr<Object>>
      v_ = Undefined{};
};
struct ListData {
  Values items;
  bool tuple = false;
  int depth = 0;
};
struct DictData {
  std::vector<std::pair<Value, Value>> members;
  int depth = 0;
};
using Kind = Value::Kind;
/// The arguments of a call.
struct Args {
  Values at;
  std::vector<std::pair<std::string, Value>> named = {};
  /// The argument at this place or with this name, or `otherwise`. It counts as used.
  Value take(std::size_t place, std::string_view name, Value otherwise = {});
  /// Throws if an argument was not used: at most `most` by place.
  void done(std::string_view what, std::size_t most) const;
};

/// Python's ==, which compares values of different types too.
bool equal(Run&, const Value&, const Value&);
/// -1, 0 or 1; throws for values without an order.
int order(Run&, const Value&, const Value&);
/// Whether `x in box`.
bool contains(Run&, const Value& box, const Value& x);
/// What a loop over the value goes through; throws for values without items.
Values items_of(Run&, const Value&);
/// str(x).
Marked string_of(Run&, const Value&);
/// repr(x), as it stands in a printed list.
Marked repr_of(Run&, const Value&);
/// json.dumps(x, ensure_ascii=False, indent=..): indent below 0 for one line.
Marked json_of(Run&, const Value&, std::int64_t indent, bool sort_keys, const Marked& comma, const Marked& colon);
/// repr of a float, as Python writes it.
std::string python_number(double);
}  // namespace bora::text::jinja
