// value.h -- the static values of a tree without their C++ types, which is what files keep of them. Integers of all
// widths are one kind of value, floating numbers another; structs keep the names of their fields. bora/tree/stored.h
// makes them of a tree.
#pragma once
#include <exception>
#include "bora/tree/node.h"

namespace bora::tree {
/// A static value, or a list or struct of such.
struct Value {
  enum class Kind : std::uint8_t { none, some, boolean, integer, natural, number, text, bytes, list, fields };
  Kind kind = Kind::none;               // natural: an integer above those of std::int64_t
  std::uint64_t bits = 0;               // of a boolean, an integer or a number (as f64)
  std::string text = {};                // of a text, or the bytes
  std::vector<std::string> names = {};  // of the fields
  std::vector<Value> parts = {};        // of a list or fields; the one of `some`, a value that might not be there
  bool operator==(const Value&) const = default;
};
std::ostream& operator<<(std::ostream&, const Value&);

struct ValueRef {  // a static value inside its tree, read and written as a Value
  void* at;
  Value (*write)(const void*);
  void (*read)(void*, const Value&, const std::string& path);
};
/// Visits the static values of a tree in order of declaration. A container without Arrays is one value.
class ValueVisitor {
 public:
  virtual ~ValueVisitor() = default;
  virtual void value(const Name&, const ValueRef&) = 0;
  virtual void enter(const Name&) = 0;
  virtual void leave() = 0;
};
struct ValueSlot {  // a static value and its path
  std::string path;
  ValueRef value;
};
/// The static values of the tree at this address, and their paths.
std::vector<ValueSlot> value_slots(void* at, ValueWalk);
/// They are a Value of the kind `fields`, with the paths as names. Throws ValueError naming the path of one that cannot
/// be written.
Value write_values(const std::vector<ValueSlot>&);
/// Reads them back; those of `from` are the same paths. Throws CheckpointError naming what is missing, not expected or
/// of another type.
void read_values(const std::vector<ValueSlot>&, const Value& from);

namespace detail {
Value integer(std::int64_t);
Value natural(std::uint64_t);
Value number(double);
Value text(Value::Kind, std::string);
Value parts(Value::Kind, std::vector<Value> = {}, std::vector<std::string> names = {});
/// The bits of an integer of this interval, the number, the text, the parts; CheckpointError if the value is no such.
std::uint64_t integer_of(const Value&, const std::string& path, std::int64_t least, std::uint64_t most);
double number_of(const Value&, const std::string& path);
const std::string& text_of(const Value&, const std::string& path, Value::Kind = Value::Kind::text);
const std::vector<Value>& list_of(const Value&, const std::string& path);
const std::vector<Value>& list_of(const Value&, const std::string& path, std::size_t n);
/// The value of each of these fields. CheckpointError: they are not all there, or others are.
std::vector<const Value*> fields_of(const Value&, const std::string& path, const std::vector<std::string_view>& names);
[[noreturn]] void wrong_value(const Value&, const std::string& path, std::string_view wanted);
[[noreturn]] void not_stored(const std::type_info&, bool is_enum = false);  // an enum without a type of its own
[[noreturn]] void not_read(const std::string& path, const std::exception& why);
std::string below(const std::string& path, std::string_view name);
inline std::string below(const std::string& path, std::size_t i) { return below(path, std::to_string(i)); }
template <class T, class... Of> concept OneOf = (std::is_same_v<T, Of> || ...);
template <class T> concept Plain = OneOf<T, bool, std::string, long double, Dtype, AxisName, Scalar>;
template <class T> struct PlainRow {  // in src/tree/value.cpp
  static Value write(const T&);
  static void read(T&, const Value&, const std::string& path);
};
}  // namespace detail
/// How values of a type become Values and are read back: write(x), read(x, value, path).
template <class T> struct Stored;
template <detail::Plain T> struct Stored<T> : detail::PlainRow<T> {};
}  // namespace bora::tree
