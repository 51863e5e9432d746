// param_bytes.h -- parameters of primitives as bytes and back, by field reflection: for Programs in files.
#pragma once
#include <cstring>
#include "bora/array/params.h"

namespace bora::params {
/// Little-endian numbers, and texts and lists with their length in front.
class Writer {
 public:
  std::string bytes;
  std::function<void(Writer&, const ProgramPtr&)> program;  // writes a held Program
  template <class T> void number(T v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(std::string_view s) {
    number<std::uint64_t>(s.size());
    bytes.append(s);
  }
};
/// Reads what a Writer has written. Throws IoError where the bytes end too early.
class Reader {
 public:
  explicit Reader(std::string_view b) : bytes_(b) {}
  std::function<ProgramPtr(Reader&)> program;
  template <class T> T number() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  /// The length of a list whose elements take at least one byte each.
  std::size_t length() {
    auto n = number<std::uint64_t>();
    check<IoError>(n <= bytes_.size(), "it lists ", n, " things in ", bytes_.size(), " bytes");
    return static_cast<std::size_t>(n);
  }
  std::string text() { return std::string(take(length())); }
  std::size_t left() const { return bytes_.size(); }
 private:
  std::string_view take(std::size_t n) {
    check<IoError>(n <= bytes_.size(), "it ends in the middle of a value");
    auto r = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return r;
  }
  std::string_view bytes_;
};
/// Refuses parameters that exist in this process only, such as functions.
[[noreturn]] void no_bytes();
template <class T> void write(Writer& w, const T& x) {
  if constexpr (std::is_same_v<T, Dtype>) w.text(dtype_name(x));  // enum values may change
  else if constexpr (std::is_same_v<T, bool> || std::is_arithmetic_v<T>) w.number(x);
  else if constexpr (std::is_enum_v<T>) w.number(static_cast<std::int32_t>(x));
  else if constexpr (std::is_same_v<T, std::string>) w.text(x);
  else if constexpr (std::is_same_v<T, AxisName>) w.text(x.str());
  else if constexpr (std::is_same_v<T, ProgramPtr>) {
    w.number<bool>(x != nullptr);
    if (x) w.program(w, x);
  } else if constexpr (Optional<T>) {
    w.number<bool>(x.has_value());
    if (x) write(w, *x);
  } else if constexpr (Pair<T>) {
    write(w, x.first);
    write(w, x.second);
  } else if constexpr (Range<T> && !std::is_convertible_v<T, std::string_view>) {
    w.number<std::uint64_t>(static_cast<std::uint64_t>(x.size()));
    for (const auto& e : x) write(w, static_cast<const std::remove_cvref_t<decltype(e)>&>(e));
  } else if constexpr (std::is_aggregate_v<T> || std::is_same_v<T, Scalar>) {
    if constexpr (std::is_same_v<T, Scalar>) {
      w.number(x.value);
      w.number(x.imaginary);
      w.number(x.integer);
      w.number(x.kind);
    } else fields::for_each(x, [&](std::string_view, const auto& m) { write(w, m); });
  } else no_bytes();
}
template <class T> void read(Reader& r, T& x) {
  if constexpr (std::is_same_v<T, Dtype>) x = parse_dtype(r.text());
  else if constexpr (std::is_same_v<T, bool>) x = r.number<std::uint8_t>() != 0;
  else if constexpr (std::is_arithmetic_v<T>) x = r.number<T>();
  else if constexpr (std::is_enum_v<T>) x = static_cast<T>(r.number<std::int32_t>());
  else if constexpr (std::is_same_v<T, std::string>) x = r.text();
  else if constexpr (std::is_same_v<T, ProgramPtr>) x = r.number<bool>() ? r.program(r) : nullptr;
  else if constexpr (std::is_same_v<T, Shape>) {
    Dims d;
    read(r, d);
    x = Shape(std::move(d));
  } else if constexpr (std::is_same_v<T, MeshAxes>) {
    x = {};
    for (auto n = r.length(); n > 0; --n) x.push_back(AxisName(r.text()));
  } else if constexpr (std::is_same_v<T, Spec>) {
    x = {};
    for (auto n = r.length(); n > 0; --n) {
      MeshAxes axes;
      read(r, axes);
      x.push_back(axes);
    }
  } else if constexpr (Optional<T>) {
    x.reset();
    if (r.number<bool>()) read(r, x.emplace());
  } else if constexpr (Pair<T>) {
    read(r, x.first);
    read(r, x.second);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    x.clear();
    for (auto n = r.length(); n > 0; --n) x.push_back(r.number<bool>());
  } else if constexpr (requires { x.emplace_back(); }) {
    x.clear();
    for (auto n = r.length(); n > 0; --n) read(r, x.emplace_back());
  } else if constexpr (std::is_same_v<T, Scalar>) {
    x.value = r.number<double>();
    x.imaginary = r.number<double>();
    x.integer = r.number<std::int64_t>();
    x.kind = r.number<Scalar::Kind>();
  } else if constexpr (std::is_aggregate_v<T>) fields::for_each(x, [&](std::string_view, auto& m) { read(r, m); });
  else no_bytes();
}
}  // namespace bora::params
