// xtensor_page.h -- the results of the rows of docs/xtensor.md, and their comparison.
#pragma once
#include <cmath>
#include <functional>
#include <iostream>
#include <sstream>
#include <xtensor/xarray.hpp>
#include "bora/bora.h"
#include "bora/xtensor.h"

namespace page {
/// Arrays of any type one after the other: their shapes and numbers.
struct Value {
  std::vector<bora::Shape> shapes;
  std::vector<double> numbers;
};
inline void add(Value& to, const bora::Array& a) {
  to.shapes.push_back(a.shape());
  for (auto x : a.to_vector<double>()) to.numbers.push_back(x);
}
inline void add(Value& to, const bora::Arrays& all) {
  for (auto& a : all) add(to, a);
}
inline void add(Value& to, const bora::Shape& s) {
  to.shapes.push_back({static_cast<std::int64_t>(s.size())});
  for (auto n : s) to.numbers.push_back(static_cast<double>(n));
}
template <class T> requires(std::is_arithmetic_v<T>) void add(Value& to, T x) {
  to.shapes.push_back({});
  to.numbers.push_back(static_cast<double>(x));
}
template <class E> requires(xt::is_xexpression<E>::value) void add(Value& to, const E& e) {
  xt::xarray<double> numbers;
  if constexpr (std::is_same_v<typename E::value_type, double>) numbers = e;
  else numbers = xt::cast<double>(e);
  bora::Shape shape;
  for (auto n : numbers.shape()) shape.push_back(static_cast<std::int64_t>(n));
  to.shapes.push_back(shape);
  to.numbers.insert(to.numbers.end(), numbers.begin(), numbers.end());
}
/// Nested brackets of numbers, true and false: the shape and the numbers of each array.
inline Value parsed(const std::string& text) {
  Value v;
  std::vector<std::int64_t> shape, counts;  // counts: elements so far at each depth
  std::size_t depth = 0, i = 0;
  auto counted = [&] {
    if (depth > 0) ++counts[depth - 1];
    else {
      bora::Shape whole;
      for (auto n : shape) whole.push_back(n);
      v.shapes.push_back(whole);
      shape.clear(), counts.clear();
    }
  };
  while (i < text.size()) {
    auto c = text[i];
    if (c == '[') {
      if (++depth > counts.size()) counts.push_back(0), shape.push_back(0);
      counts[depth - 1] = 0, ++i;
    } else if (c == ']') {
      shape[depth - 1] = counts[depth - 1];
      --depth, ++i;
      counted();
    } else if (c == ' ' || c == ',') {
      ++i;
    } else {
      auto end = text.find_first_of(" ,]", i);
      auto word = text.substr(i, end == text.npos ? end : end - i);
      v.numbers.push_back(word == "true" ? 1 : word == "false" ? 0 : std::stod(word));
      i += word.size();
      counted();
    }
  }
  return v;
}
inline void add(Value& to, const std::string& text) { to = parsed(text); }
template <class X> Value value(const X& x) {
  Value v;
  add(v, x);
  return v;
}
/// The result of a call with xtensor's arguments alone: xtensor's.
template <class X> Value xtensors(const X& x) {
  static_assert(!std::is_same_v<X, bora::Array>, "a name of both libraries must stay xtensor's");
  return value(x);
}
inline std::string text(const Value& v) {
  std::ostringstream o;
  for (auto& s : v.shapes) o << s << " ";
  o << ":";
  for (auto x : v.numbers) o << " " << x;
  return o.str();
}
inline int rows = 0, wrong = 0;
inline void row(int line, const Value& got, const Value& want) {
  bool equal = got.shapes == want.shapes && got.numbers.size() == want.numbers.size();
  for (std::size_t i = 0; equal && i < got.numbers.size(); ++i)
    equal = std::abs(got.numbers[i] - want.numbers[i]) <= 1e-6 * std::max(1.0, std::abs(want.numbers[i]));
  if (equal) return;
  ++wrong;
  std::cout << "docs/xtensor.md:" << line << ": Bora gives " << text(got) << ", the page says " << text(want) << "\n";
}
/// What a row gives inside jit: Arrays, or nothing where it gives something else.
using Result = std::vector<bora::Array>;
template <class X> Result result(const X& x) {
  if constexpr (std::is_same_v<X, bora::Arrays>) return x;
  else if constexpr (std::is_convertible_v<const X&, bora::Array>) return {bora::Array(x)};
  else return {};
}
inline int staged = 0;
/// The row's code inside jit, called with xtensor's containers; rows that read values throw TraceError there.
using Operands = std::tuple<bora::Array, bora::Array, bora::Array, bora::Array, bora::Array, bora::Array>;
template <class X>
void by_jit(int line, std::function<Result(const Operands&)> f, const Value& want, const X& operands) {
  Value got;
  try {
    auto results = bora::jit(f)(operands);
    if (results.empty()) return;
    for (auto& r : results) add(got, r);
  } catch (const bora::TraceError&) {
    return;
  }
  ++staged;
  row(line, got, want);
}
inline void run(int line, void (*f)()) {
  ++rows;
  try {
    f();
  } catch (const std::exception& e) {
    ++wrong;
    std::cout << "docs/xtensor.md:" << line << ": " << e.what() << "\n";
  }
}
inline int finish(int least_staged) {
  std::cout << rows << " rows, " << staged << " staged (at least " << least_staged << "), " << wrong << " wrong\n";
  return wrong == 0 && staged >= least_staged ? 0 : 1;
}
}  // namespace page
