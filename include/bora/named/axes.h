// axes.h -- lists of axes as values: Haliax's axis algebra. A selection is an Axis, a name, or several of them; an Axis
// has a size that must fit, a name has none. All functions throw AxisError, which names the axis and lists the others.
#pragma once
#include "bora/named/axis.h"

namespace bora {
/// The name of the inner dimension of an adapter's product.
inline constexpr const char* kAdapterRank = "lora_rank";
/// make_axes({{"batch", 4}, {"embed", 8}}). Throws for an axis that is named twice and for sizes below 0.
std::vector<Axis> make_axes(std::initializer_list<Axis> axes);
std::string axis_name(const AxisNames::One& axis);  // the name of an axis that is given by name or as a whole
std::vector<std::string> axis_names(const std::vector<Axis>& axes);  // the names, in order
/// The product of the sizes; 1 for no axes.
std::int64_t axis_size(const Axes& axes);
/// Does `selector` have every axis of `selected`, in the same size where both have one?
bool selects_axis(const AxisNames& selector, const AxisNames& selected);
/// Have a and b the same name, and the same size where both have one?
bool is_axis_compatible(const AxisNames::One& a, const AxisNames::One& b);
/// The axis, or the axes, of `axes` that are selected, in the order of the selection.
Axis resolve_axis(const std::vector<Axis>& axes, const AxisNames::One& axis);
std::vector<Axis> resolve_axes(const std::vector<Axis>& axes, const AxisNames& selection);  // the selected axes
/// a, then b; throws for a name in both.
std::vector<Axis> concat_axes(const std::vector<Axis>& a, const std::vector<Axis>& b);
/// a, then the axes of b that a lacks; throws for sizes that differ.
std::vector<Axis> union_axes(const std::vector<Axis>& a, const std::vector<Axis>& b);
/// The axes of a that b has too, in a's order; throws for sizes that differ.
std::vector<Axis> intersect_axes(const std::vector<Axis>& a, const AxisNames& b);
/// axes without those selected, all of which must be there.
std::vector<Axis> eliminate_axes(const std::vector<Axis>& axes, const AxisNames& gone);
struct WithoutAxesOptions {             // of without_axes
  bool allow_mismatched_sizes = false;  // axes of another size are removed too
};
/// axes without those selected, of which some may not be there.
std::vector<Axis> without_axes(const std::vector<Axis>& axes, const AxisNames& gone,
                               const WithoutAxesOptions& options = {});
/// axes with `with` in place of `old`; throws if another axis has one of these names.
std::vector<Axis> replace_axis(const std::vector<Axis>& axes, const AxisNames::One& old, const Axes& with);
/// axes in an order of which only a part is given: {"embed", "...", "batch"}. Each axis that is not named goes to an
/// "..." after the named axis that precedes it in `axes`, if there is one; without "..." all axes must be named.
std::vector<Axis> rearrange_for_partial_order(const AxisNames& order, const std::vector<Axis>& axes);
/// The names of `names`, with "..." for those that are not in `axes`.
AxisNames replace_missing_with_ellipsis(const std::vector<Axis>& names, const std::vector<Axis>& axes);
/// The axes of an array of this shape: an Axis must have the dimension's size, a name takes it. Throws AxisError.
std::vector<Axis> check_shape(const Shape& shape, const AxisNames& axes);
/// Does `pattern` describe these axes? "batch embed" names them in order, "{batch embed}" in any order; "..." stands
/// for any others: "... embed", "{batch ...}". Throws ValueError for a pattern that is none of these.
bool matches_axes(const std::vector<Axis>& axes, std::string_view pattern);
}  // namespace bora
