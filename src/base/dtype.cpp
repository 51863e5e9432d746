#include "bora/base/dtype.h"
#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include "bora/base/error.h"

namespace bora {
namespace {
template <Dtype D> constexpr bool fits() {
  if constexpr (requires { typename CppType<D>::type; }) {
    using T = typename CppType<D>::type;
    return sizeof(T) == dtype_size(D) && dtype_of<T> == D;
  } else return true;
}
static_assert([]<std::size_t... I>(std::index_sequence<I...>) { return (fits<static_cast<Dtype>(I)>() && ...); }(
                  std::make_index_sequence<kDtypes>{}),
              "rows of dtype_table stand in the order of Dtype");
Dtype promote_integers(Dtype a, Dtype b) {
  if (a == boolean || b == boolean) return a == boolean ? b : a;
  if (info(a).kind == info(b).kind) return dtype_size(a) > dtype_size(b) ? a : b;
  auto with = info(a).kind == Kind::integer ? a : b, without = with == a ? b : a;  // a sign
  if (dtype_size(with) > dtype_size(without)) return with;
  return without == u64 ? f32 : signed_integer(2 * dtype_size(without));
}
}  // namespace
Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (a == Dtype::key || b == Dtype::key)
    fail<DtypeError>("no common dtype of ", a, " and ", b, ": random keys take no part in arithmetic");
  if (dtype_size(a) == 1 && is_float(a)) std::swap(a, b);
  check<DtypeError>(!is_float(b) || dtype_size(b) > 1 || !is_inexact(a), "no common dtype of ", a, " and ", b,
                    ": floats of 8 bits are converted by astype alone");
  if (is_complex(a) || is_complex(b)) return real_dtype(a) == f64 || real_dtype(b) == f64 ? complex128 : complex64;
  if (!is_float(a) && !is_float(b)) return promote_integers(a, b);
  if (!is_float(a) || !is_float(b)) return is_float(a) ? a : b;
  if (dtype_size(a) == dtype_size(b)) return f32;
  return dtype_size(a) > dtype_size(b) ? a : b;
}
Dtype parse_dtype(std::string_view name) {
  auto spelt = [&](std::string_view words) {
    for (std::size_t end; !words.empty(); words.remove_prefix(std::min(words.size(), end + 1))) {
      end = std::min(words.size(), words.find(' '));
      if (words.substr(0, end) == name) return true;
    }
    return false;
  };
  for (std::size_t i = 0; i < kDtypes; ++i)
    if (dtype_table[i].name == name || spelt(dtype_table[i].spellings)) return static_cast<Dtype>(i);
  auto rows = std::to_array(dtype_table);
  auto order = [](const DtypeInfo& d) {
    return std::tuple(d.kind == Kind::unsigned_integer ? Kind::integer : d.kind, d.size, d.name.size(), d.name);
  };
  std::sort(rows.begin(), rows.end(), [&](auto& a, auto& b) { return order(a) < order(b); });
  std::string all;
  for (auto& d : rows) all.append(all.empty() ? "" : " ").append(d.name);
  fail<DtypeError>("no dtype named '", name, "'; there are ", all);
}
void no_such_dtype(std::string_view what, Dtype d) { fail<DtypeError>(what, ": not defined for dtype ", d); }
}  // namespace bora
