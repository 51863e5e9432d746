// associative.h -- running results of any associative function, in a number of steps that grows with log2 of the
// length.
#pragma once
#include "bora/fx/tree_call.h"

namespace bora {
/// The direction and the axis of associative_scan.
struct AssociativeScanOptions {
  bool reverse = false;   // from the last element to the first
  std::int64_t axis = 0;  // of every leaf; negative: from the end
};
namespace fx {
/// combine: (leaves of a, leaves of b) -> leaves. labels: paths of the elements.
Arrays associative_scan_shell(const FlatFn& combine, const Arrays& elements, const std::vector<std::string>& labels,
                              const AssociativeScanOptions& options);
}  // namespace fx

/// x_0, f(x_0, x_1), f(f(x_0, x_1), x_2), .. along an axis of the leaves of `elements`: a T of the same shapes. f(T, T)
/// -> T is associative and gets many elements at once: its arguments have that axis, with fewer elements (an operation
/// on one element is written with vmap). .reverse: f(x_n-1, x_n-2), .. from the end. Throws ShapeError naming the path
/// of a leaf without the axis or that f changes. Source: the odd-even scheme of Blelloch 1990, as
/// lax.associative_scan.
template <class F, class T>
T associative_scan(const F& f, const T& elements, const AssociativeScanOptions& options = {}) {
  static_assert(fx::Callable<F, T, T>,
                "associative_scan: f cannot be called with two values of this type; it takes them by value or const&");
  static_assert(tree::positional<T>, "associative_scan: the elements hold NamedArrays, whose axes have names");
  fx::check_trees<T>();
  if constexpr (fx::are_trees<T> && fx::Callable<F, T, T> && tree::positional<T>) {
    static_assert(std::is_same_v<fx::result_t<F, T, T>, T>,
                  "associative_scan: f must return a value of its arguments' type");
    std::optional<T> out;
    auto flat = fx::flat_fn<T>(f, out, elements, elements);
    auto checked = [&](const Arrays& in) {
      auto r = flat(in);
      auto given =
          tree::unflatten(elements, Arrays(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(in.size() / 2)));
      fx::check_same("associative_scan: f must give values like its arguments", tree::node(given), tree::node(*out));
      return r;
    };
    return tree::unflatten(elements,
                           fx::associative_scan_shell(checked, fx::pack(elements), fx::labels_of(elements), options));
  }
}
}  // namespace bora
