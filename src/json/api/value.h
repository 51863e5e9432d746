// value.h -- JSON documents. nlohmann's library reads and writes them, in one source; this header is cheap.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bora::json {
/// The order of an object's members: by their names as bytes, or as they were written.
enum class Order { by_name, as_written };

/// A JSON value. A number keeps the kind that it was written as: `natural`: digits, up to 2^64 - 1; `integer`: a minus
/// and digits; `fraction`: with a point or an exponent, or out of the range of the others.
class Value {
 public:
  enum class Kind { null, boolean, natural, integer, fraction, text, list, object };
  using List = std::vector<Value>;
  using Member = std::pair<std::string, Value>;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(std::same_as<bool> auto x) : v_(x) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Value(T x) {
    if (std::cmp_less(x, 0)) v_ = static_cast<std::int64_t>(x);
    else v_ = static_cast<std::uint64_t>(x);
  }
  Value(double x) : v_(x) {}
  Value(std::string x) : v_(std::move(x)) {}
  Value(std::string_view x) : v_(std::string(x)) {}
  Value(const char* x) : v_(std::string(x)) {}
  Value(List items) : v_(std::move(items)) {}
  template <class T>
    requires(!std::same_as<T, Value>)
  Value(const std::vector<T>& items) : v_(List(items.begin(), items.end())) {}
  /// An object. By name: of members of one name the last counts.
  static Value object(std::vector<Member> members = {}, Order order = Order::by_name);
  /// A number that was written with a minus: -0 is one as well.
  static Value with_minus(std::int64_t x) {
    Value v;
    v.v_ = x;
    return v;
  }

  Kind kind() const { return static_cast<Kind>(v_.index()); }
  /// As errors name it: null, boolean, number, string, array, object.
  std::string_view type_name() const;
  bool is_null() const { return kind() == Kind::null; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_natural() const { return kind() == Kind::natural; }
  bool is_integer() const { return is_natural() || kind() == Kind::integer; }
  bool is_number() const { return is_integer() || kind() == Kind::fraction; }
  bool is_text() const { return kind() == Kind::text; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_object() const { return kind() == Kind::object; }

  // The value must be of the kind that is asked for.
  bool boolean() const { return std::get<bool>(v_); }
  std::uint64_t natural() const { return std::get<std::uint64_t>(v_); }
  std::int64_t integer() const;  // a natural number above 2^63 - 1 wraps
  double number() const;         // the nearest to an integer
  const std::string& text() const { return std::get<std::string>(v_); }
  const List& list() const { return std::get<List>(v_); }
  const std::vector<Member>& members() const { return std::get<Object>(v_).members; }

  /// The member of this name; null if there is none, or if this is no object.
  const Value* find(std::string_view name) const;
  Value* find(std::string_view name) { return const_cast<Value*>(std::as_const(*this).find(name)); }
  /// Sets a member, which it returns. Null becomes an object first.
  Value& set(std::string_view name, Value x);
  /// Adds an item, which it returns. Null becomes a list first.
  Value& add(Value x);

  /// Numbers of different kinds are compared by their values.
  friend bool operator==(const Value&, const Value&);

  /// As JSON; with an indent on several lines. Throws ValueError if a text is not UTF-8.
  std::string dump(int indent = -1) const;

 private:
  struct Object {
    std::vector<Member> members;
    Order order;
    bool operator==(const Object& other) const { return members == other.members; }
  };
  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, List, Object> v_ = {};
};

/// Throws IoError "FILE: .." for broken JSON, for members that are given twice and for more than 32 levels. `member`:
/// what errors call a member.
Value parse(std::string_view text, const std::string& file, std::string_view member = "key",
            Order order = Order::by_name);
/// Null for broken JSON and for more than 1000 levels. Of members of one name the last counts.
Value parse_or_null(std::string_view text);
/// A text as JSON; what is no UTF-8 in it becomes U+FFFD.
std::string quoted(const std::string& text);
}  // namespace bora::json
