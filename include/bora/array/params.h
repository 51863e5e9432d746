// params.h -- comparison, hashing, printing and bytes of primitives' parameters by field reflection: nothing to write,
// nothing to forget. A struct has one table of its fields; src/array/params.cpp walks it. A field's type says what is
// done with its value.
#pragma once
#include <array>
#include <bit>
#include <concepts>
#include <ostream>
#include <span>
#include "bora/array/array.h"
#include "bora/array/mesh.h"
#include "bora/array/param_bytes.h"
#include "bora/base/fields.h"

namespace bora {
enum class Reduction : std::uint8_t;
struct Wire;
}  // namespace bora

namespace bora::param_rules {
template <class T> concept Range = requires(const T& x) {
  x.begin();
  x.end();
  x.size();
};
template <class T> concept Pair = requires(const T& x) {
  x.first;
  x.second;
};
template <class T> concept Optional = requires(const T& x) {
  x.has_value();
  *x;
};
/// Types that bring operator<< to print, operator== to compare and hash_value to hash.
template <class T> concept Opaque =
    std::is_same_v<T, Dtype> || std::is_same_v<T, Spec> || std::is_same_v<T, MeshAxes> || std::is_same_v<T, Shape>;

struct Kind;
using Field = fields::Field<Kind>;
/// The operations on values of one type. A function that is null goes through the fields.
struct Kind {
  void (*print)(std::ostream&, const void*);
  bool (*equal)(const void*, const void*);
  std::size_t (*hash)(const void*);
  void (*write)(Writer&, const void*);
  void (*read)(Reader&, void*);
  std::span<const Field> (*fields)(const void*);  // the fields of a struct, from any object of it
  bool program = false;                           // a ProgramPtr
};
template <class T> const Kind& kind();

void print(std::ostream&, const void*, const Kind&);
bool equal(const void*, const void*, const Kind&);
std::size_t hash(const void*, const Kind&);
void write(Writer&, const void*, const Kind&);
void read(Reader&, void*, const Kind&);
template <class T> void print(std::ostream& o, const T& x) { param_rules::print(o, &x, kind<T>()); }
template <class T> bool equal(const T& a, const T& b) { return param_rules::equal(&a, &b, kind<T>()); }
template <class T> std::size_t hash(const T& x) { return param_rules::hash(&x, kind<T>()); }
template <class T> void write(Writer& w, const T& x) { param_rules::write(w, &x, kind<T>()); }
template <class T> void read(Reader& r, T& x) { param_rules::read(r, &x, kind<T>()); }

void print_program_name(std::ostream&, const ProgramPtr&);  // defined in compile
/// Refuses parameters that exist in this process only, such as functions.
[[noreturn]] void no_bytes();

namespace detail {
template <class T> concept Stringy = std::is_convertible_v<T, std::string_view>;
template <class T> concept Bytes = std::is_same_v<T, Dtype> || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, AxisName> || std::is_same_v<T, ProgramPtr> || Optional<T> ||
    Pair<T> || (Range<T> && !Stringy<T>) || std::is_same_v<T, Scalar>;
/// The functions of values that are not gone through field by field.
template <class T> struct Of {
  static const T& at(const void* p) { return *static_cast<const T*>(p); }

  static constexpr bool prints = std::is_same_v<T, AxisName> || std::is_same_v<T, Scalar> ||
      std::is_same_v<T, ProgramPtr> || Opaque<T> || std::is_arithmetic_v<T> || Stringy<T> ||
      requires(const T& x) { word(x); } || std::is_enum_v<T> || Optional<T> || Pair<T> || Range<T>;
  static void print(std::ostream& o, const void* p) {
    auto& x = at(p);
    if constexpr (std::is_same_v<T, bool>) o << (x ? "true" : "false");
    else if constexpr (std::is_same_v<T, MeshAxes>) o << to_string(x);
    else if constexpr (std::is_same_v<T, AxisName>) o << x.str();
    else if constexpr (std::is_same_v<T, Scalar>) {
      if (x.integral()) o << x.integer;
      else param_rules::print(o, x.value);
      if (x.kind == Scalar::Kind::complex) {
        o << (x.imaginary < 0 ? "" : "+");
        param_rules::print(o, x.imaginary);
        o << 'j';
      }
    } else if constexpr (std::is_same_v<T, ProgramPtr>) print_program_name(o, x);
    else if constexpr (std::is_floating_point_v<T>) {
      auto digits = o.precision(17);
      o << x;
      o.precision(digits);
    } else if constexpr (Opaque<T> || std::is_arithmetic_v<T> || Stringy<T>) o << x;
    else if constexpr (requires { word(x); }) o << word(x);
    else if constexpr (std::is_enum_v<T>) o << static_cast<int>(x);
    else if constexpr (Optional<T>) {
      if (x) param_rules::print(o, *x);
      else o << "none";
    } else if constexpr (Pair<T>) {
      param_rules::print(o, x.first);
      o << ':';
      param_rules::print(o, x.second);
    } else {
      o << '[';
      bool first = true;
      for (const auto& e : x) {
        if (!first) o << ", ";
        first = false;
        param_rules::print(o, static_cast<const std::remove_cvref_t<decltype(e)>&>(e));
      }
      o << ']';
    }
  }

  static constexpr bool compares = std::is_arithmetic_v<T> || std::is_same_v<T, Scalar> ||
      std::is_same_v<T, AxisName> || Opaque<T> || std::is_enum_v<T> || Stringy<T> || std::is_same_v<T, ProgramPtr> ||
      Optional<T> || Pair<T> || Range<T>;
  static bool equal(const void* p, const void* q) {
    auto &a = at(p), &b = at(q);
    if constexpr (std::is_floating_point_v<T>)
      return std::bit_cast<std::array<char, sizeof(T)>>(a) == std::bit_cast<std::array<char, sizeof(T)>>(b);
    else if constexpr (std::is_same_v<T, Scalar>)
      return a.kind == b.kind && a.integer == b.integer && param_rules::equal(a.value, b.value) &&
             param_rules::equal(a.imaginary, b.imaginary);
    else if constexpr (std::is_same_v<T, AxisName> || Opaque<T> || std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                       Stringy<T> || std::is_same_v<T, ProgramPtr>)
      return a == b;
    else if constexpr (Optional<T>) return a.has_value() == b.has_value() && (!a || param_rules::equal(*a, *b));
    else if constexpr (Pair<T>) return param_rules::equal(a.first, b.first) && param_rules::equal(a.second, b.second);
    else {
      if (a.size() != b.size()) return false;
      auto j = b.begin();
      for (auto i = a.begin(); i != a.end(); ++i, ++j) {
        using E = std::remove_cvref_t<decltype(*i)>;
        if (!param_rules::equal(static_cast<const E&>(*i), static_cast<const E&>(*j))) return false;
      }
      return true;
    }
  }
  static std::size_t hash(const void* p) {
    auto& x = at(p);
    if constexpr (std::is_floating_point_v<T>)
      return std::hash<std::uint64_t>{}(std::bit_cast<std::uint64_t>(static_cast<double>(x)));
    else if constexpr (std::is_same_v<T, Scalar>)
      return hash_combine(hash_combine(param_rules::hash(x.value), param_rules::hash(x.imaginary)),
                          static_cast<std::size_t>(x.integer) * 4 + static_cast<std::size_t>(x.kind));
    else if constexpr (std::is_same_v<T, AxisName>) return std::hash<const void*>{}(x.id());
    else if constexpr (std::is_same_v<T, Dtype> || std::is_arithmetic_v<T> || std::is_enum_v<T>)
      return static_cast<std::size_t>(x) + 0x9e3779b9u;
    else if constexpr (Stringy<T>) return std::hash<std::string_view>{}(x);
    else if constexpr (std::is_same_v<T, ProgramPtr>) return std::hash<const void*>{}(x.get());
    else if constexpr (Opaque<T>) return hash_value(x);
    else if constexpr (Optional<T>) return x ? hash_combine(1, param_rules::hash(*x)) : 0;
    else if constexpr (Pair<T>) return hash_combine(param_rules::hash(x.first), param_rules::hash(x.second));
    else {
      std::size_t h = x.size();
      for (const auto& e : x) {
        using E = std::remove_cvref_t<decltype(e)>;
        h = hash_combine(h, param_rules::hash(static_cast<const E&>(e)));
      }
      return h;
    }
  }

  static constexpr bool writes = Bytes<T> || !std::is_aggregate_v<T>;
  static void write(Writer& w, const void* p) {
    auto& x = at(p);
    if constexpr (std::is_same_v<T, Dtype>) w.text(dtype_name(x));  // enum values may change
    else if constexpr (std::is_arithmetic_v<T>) w.number(x);
    else if constexpr (std::is_enum_v<T>) w.number(static_cast<std::int32_t>(x));
    else if constexpr (std::is_same_v<T, std::string>) w.text(x);
    else if constexpr (std::is_same_v<T, AxisName>) w.text(x.str());
    else if constexpr (std::is_same_v<T, ProgramPtr>) {
      w.number<bool>(x != nullptr);
      if (x) w.program(w, x);
    } else if constexpr (Optional<T>) {
      w.number<bool>(x.has_value());
      if (x) param_rules::write(w, *x);
    } else if constexpr (Pair<T>) {
      param_rules::write(w, x.first);
      param_rules::write(w, x.second);
    } else if constexpr (Range<T> && !Stringy<T>) {
      w.number<std::uint64_t>(static_cast<std::uint64_t>(x.size()));
      for (const auto& e : x) param_rules::write(w, static_cast<const std::remove_cvref_t<decltype(e)>&>(e));
    } else if constexpr (std::is_same_v<T, Scalar>) {
      w.number(x.value);
      w.number(x.imaginary);
      w.number(x.integer);
      w.number(x.kind);
    } else no_bytes();
  }
  static void read(Reader& r, void* p) {
    auto& x = *static_cast<T*>(p);
    if constexpr (std::is_same_v<T, Dtype>) x = parse_dtype(r.text());
    else if constexpr (std::is_same_v<T, bool>) x = r.number<std::uint8_t>() != 0;
    else if constexpr (std::is_arithmetic_v<T>) x = r.number<T>();
    else if constexpr (std::is_enum_v<T>) x = static_cast<T>(r.number<std::int32_t>());
    else if constexpr (std::is_same_v<T, std::string>) x = r.text();
    else if constexpr (std::is_same_v<T, ProgramPtr>) x = r.number<bool>() ? r.program(r) : nullptr;
    else if constexpr (std::is_same_v<T, Shape>) {
      Dims d;
      param_rules::read(r, d);
      x = Shape(std::move(d));
    } else if constexpr (std::is_same_v<T, MeshAxes>) {
      x = {};
      for (auto n = r.length(); n > 0; --n) x.push_back(AxisName(r.text()));
    } else if constexpr (std::is_same_v<T, Spec>) {
      x = {};
      for (auto n = r.length(); n > 0; --n) {
        MeshAxes axes;
        param_rules::read(r, axes);
        x.push_back(axes);
      }
    } else if constexpr (Optional<T>) {
      if constexpr (std::default_initializable<std::remove_cvref_t<decltype(*x)>>) {
        x.reset();
        if (r.number<bool>()) param_rules::read(r, x.emplace());
      } else no_bytes();
    } else if constexpr (Pair<T>) {
      if constexpr (std::is_const_v<decltype(x.first)>) no_bytes();  // an element of a map
      else {
        param_rules::read(r, x.first);
        param_rules::read(r, x.second);
      }
    } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
      x.clear();
      for (auto n = r.length(); n > 0; --n) x.push_back(r.number<bool>());
    } else if constexpr (requires { x.emplace_back(); requires std::default_initializable<typename T::value_type>; }) {
      x.clear();
      for (auto n = r.length(); n > 0; --n) param_rules::read(r, x.emplace_back());
    } else if constexpr (std::is_same_v<T, Scalar>) {
      x.value = r.number<double>();
      x.imaginary = r.number<double>();
      x.integer = r.number<std::int64_t>();
      x.kind = r.number<Scalar::Kind>();
    } else no_bytes();
  }
};
struct Kinds {
  template <class M> static std::pair<const void*, const Kind*> of(const M& m) { return {&m, &kind<M>()}; }
};
template <class T> std::span<const Field> fields_of(const void* x) {
  static const auto all = fields::table<Kind, Kinds>(*static_cast<const T*>(x));
  return all;
}
std::span<const Field> no_fields(const void*);
template <class T> constexpr Kind make_kind() {
  Kind k{};
  if constexpr (Of<T>::prints) k.print = &Of<T>::print;
  if constexpr (Of<T>::compares) {
    k.equal = &Of<T>::equal;
    k.hash = &Of<T>::hash;
  }
  if constexpr (Of<T>::writes) {
    k.write = &Of<T>::write;
    k.read = &Of<T>::read;
  }
  if constexpr (std::is_empty_v<T>) k.fields = &no_fields;
  else if constexpr (!Of<T>::prints || !Of<T>::compares || !Of<T>::writes || (Pair<T> && std::is_aggregate_v<T>))
    k.fields = &fields_of<T>;
  k.program = std::is_same_v<T, ProgramPtr>;
  return k;
}
}  // namespace detail
template <class T> const Kind& kind() {
  static constexpr auto k = detail::make_kind<T>();
  return k;
}
// Kinds that many primitives use; src/array/params.cpp has them.
extern template const Kind& kind<bool>();
extern template const Kind& kind<int>();
extern template const Kind& kind<std::int64_t>();
extern template const Kind& kind<std::uint16_t>();
extern template const Kind& kind<float>();
extern template const Kind& kind<double>();
extern template const Kind& kind<std::string>();
extern template const Kind& kind<Dims>();
extern template const Kind& kind<std::vector<bool>>();
extern template const Kind& kind<std::vector<int>>();
extern template const Kind& kind<std::vector<std::string>>();
extern template const Kind& kind<std::vector<Dims>>();
extern template const Kind& kind<std::optional<std::int64_t>>();
extern template const Kind& kind<Dtype>();
extern template const Kind& kind<Shape>();
extern template const Kind& kind<Type>();
extern template const Kind& kind<Types>();
extern template const Kind& kind<Scalar>();
extern template const Kind& kind<AxisName>();
extern template const Kind& kind<MeshAxes>();
extern template const Kind& kind<Spec>();
extern template const Kind& kind<Wire>();
extern template const Kind& kind<Reduction>();
extern template const Kind& kind<ProgramPtr>();
}  // namespace bora::param_rules
