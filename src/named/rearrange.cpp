// rearrange by a text: axes are split into pieces, the pieces moved, then merged.
#include "bora/named/axes.h"
#include "named/expression.h"
#include "named/api/support.h"

namespace bora {
namespace named_text {
namespace {
/// The axes between both sides of the text, and the piece that a word stands for.
struct Pieces {
  std::vector<std::vector<Axis>> of_axis;             // for each axis of the array
  std::map<std::string, std::pair<std::size_t, std::size_t>> words;  // axis, piece of it
};
void bind(const Expression& e, const Capture& c, Pieces& p, const std::string& word, std::size_t axis) {
  if (!p.words.emplace(word, std::pair{axis, p.of_axis[axis].size()}).second)
    e.error("'" + word + "' is assigned more than once", c.column);
}
void split(const Expression& e, const Capture& c, Words& words, const Axis& axis, std::size_t number, Pieces& p) {
  if (!p.of_axis[number].empty()) e.error("axis '" + axis.name + "' is bound more than once", c.column);
  if (c.parts.size() == 1) {
    auto* b = words.find(c.parts[0]);
    if (b && ((b->size >= 0 && b->size != axis.size) || (b->axis && *b->axis != axis.name)))
      e.error("'" + c.parts[0] + "' is bound to another axis or size than " + axis.name + ":" +
                  std::to_string(axis.size),
              c.column);
    bind(e, c, p, c.parts[0], number);
    p.of_axis[number].push_back(axis);
    return;
  }
  auto rest = axis.size;
  std::optional<std::size_t> unknown;
  for (auto& part : c.parts) {
    bind(e, c, p, part, number);
    auto* b = words.find(part);
    Axis piece{b && b->axis ? *b->axis : part, b ? b->size : -1};
    if (piece.size < 0) {
      if (unknown)
        e.error("the sizes of '" + c.parts[*unknown] + "' and '" + part + "' are ambiguous; bind one", c.column);
      unknown = p.of_axis[number].size();
    } else {
      if (piece.size == 0 || rest % piece.size != 0)
        e.error("the sizes do not divide axis '" + axis.name + "' of size " + std::to_string(axis.size), c.column);
      rest /= piece.size;
    }
    p.of_axis[number].push_back(piece);
  }
  if (unknown) p.of_axis[number][*unknown].size = rest;
  else if (rest != 1)
    e.error("the sizes do not fill axis '" + axis.name + "' of size " + std::to_string(axis.size), c.column);
}
Pieces left_side(const Expression& e, const std::vector<Axis>& axes, Words& words) {
  Pieces p{std::vector<std::vector<Axis>>(axes.size()), {}};
  auto& side = e.left[0];
  auto places = side.ordered ? by_position(e, side, axes) : std::vector<std::int64_t>();
  for (std::size_t i = 0; i < side.captures.size(); ++i) {
    auto& c = side.captures[i];
    if (c.dots) continue;
    if (!side.ordered && c.name.empty()) e.error("in braces a group has a name: (axis: parts)", c.column);
    auto d = side.ordered ? places[i] : find_axis(axes, words.name(c.name));
    if (d < 0) e.error("no axis '" + words.name(c.name) + "' among " + to_string(axes), c.column);
    split(e, c, words, axes[static_cast<std::size_t>(d)], static_cast<std::size_t>(d), p);
  }
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (p.of_axis[d].empty()) p.of_axis[d].push_back(axes[d]);
  return p;
}
}  // namespace
}  // namespace named_text

NamedArray rearrange(const NamedArray& x, std::string_view text, const AxisBindings& bindings) {
  auto e = named_text::parse("rearrange", text);
  if (e.left.size() != 1) e.error("one array is rearranged, so there is one left side", 0);
  named_text::Words words("rearrange", bindings);
  auto pieces = named_text::left_side(e, x.axes(), words);
  // All pieces in order; their places are their names from here on, as two may have one name.
  std::vector<Axis> list, numbered;
  std::vector<std::size_t> first;
  for (auto& of : pieces.of_axis) {
    first.push_back(list.size());
    list.insert(list.end(), of.begin(), of.end());
  }
  for (auto& a : list) numbered.push_back({std::to_string(numbered.size()), a.size});
  std::vector<AxisNames::One> order;
  std::vector<bool> used(list.size());
  std::map<std::size_t, Axis> begins;   // the final axis that begins with a piece
  std::vector<Axis> empty_ones;
  for (auto& c : e.right.captures) {
    if (c.dots) {
      order.emplace_back("...");
      continue;
    }
    if (c.name.empty()) e.error("an axis on the right has a name: (name: parts)", c.column);
    Axis axis{words.name(c.name), 1};
    if (auto it = pieces.words.find(c.name); it != pieces.words.end())
      axis.name = pieces.of_axis[it->second.first][it->second.second].name;
    for (std::size_t k = 0; k < c.parts.size(); ++k) {
      auto it = pieces.words.find(c.parts[k]);
      if (it == pieces.words.end()) e.error("'" + c.parts[k] + "' is not bound on the left", c.column);
      auto n = first[it->second.first] + it->second.second;
      if (used[n]) e.error("'" + c.parts[k] + "' is used more than once", c.column);
      used[n] = true;
      order.emplace_back(numbered[n].name);
      axis.size *= list[n].size;
      if (k + 1 == c.parts.size())
        begins[first[pieces.words.at(c.parts[0]).first] + pieces.words.at(c.parts[0]).second] = axis;
    }
  }
  words.check_used();
  if (!e.right.has_dots())
    for (std::size_t n = 0; n < list.size(); ++n)
      if (!used[n])
        e.error("axis '" + list[n].name + "' is not used on the right; ... keeps the others", text.size() - 1);
  auto y = made(reshape(x.array(), shape_of(list)), numbered);
  auto moved = rearrange_for_partial_order(AxisNames(order), numbered);
  std::vector<Axis> axes;
  for (auto& m : moved) {
    auto n = static_cast<std::size_t>(std::stoul(m.name));
    if (!used[n]) axes.push_back(list[n]);
    else if (auto it = begins.find(n); it != begins.end()) axes.push_back(it->second);
  }
  return {reshape(aligned(y, moved).array(), shape_of(axes)), axes};
}
}  // namespace bora
