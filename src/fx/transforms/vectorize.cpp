// vmap under NumPy's names.
#include "bora/fx/vectorize.h"
#include <map>
#include "bora/fx/vmap.h"
#include "bora/ops/manipulation.h"

namespace bora {
Array apply_along_axis(const std::function<Array(const Array&)>& f, std::int64_t axis, const Array& x) {
  axis = normalize_axis("apply_along_axis", axis, x.ndim());
  auto rows = moveaxis(x, axis, -1);
  auto lead = rows.shape();
  auto n = lead.back();
  lead.erase(lead.size() - 1);
  auto y = vmap([&](const Array& v) { return f(v); })(reshape(rows, {volume(lead), n}));
  auto own = y.ndim() - 1;  // dimensions of one result
  auto shape = lead;
  for (std::int64_t d = 0; d < own; ++d) shape.push_back(y.shape(d + 1));
  y = reshape(y, shape);
  auto k = static_cast<std::int64_t>(lead.size());
  Dims perm;
  for (std::int64_t d = 0; d < axis; ++d) perm.push_back(d);
  for (std::int64_t d = 0; d < own; ++d) perm.push_back(k + d);
  for (std::int64_t d = axis; d < k; ++d) perm.push_back(d);
  return transpose(y, perm);
}
Array apply_over_axes(const std::function<Array(const Array&, std::int64_t)>& f, const Array& x, const Dims& axes) {
  auto y = x;
  for (auto a : axes) {
    auto axis = normalize_axis("apply_over_axes", a, x.ndim());
    auto r = f(y, axis);
    if (r.ndim() == y.ndim() - 1) r = expand_dims(r, axis);
    check<ShapeError>(r.ndim() == y.ndim(), "apply_over_axes: f must return an array of ", y.ndim(), " or ",
                      y.ndim() - 1, " dimensions, got ", r.type());
    y = r;
  }
  return y;
}

namespace {
using Names = std::vector<std::string>;
/// "(n,m),(k)" as lists of names.
std::vector<Names> read_dimensions(const std::string& text, const std::string& whole) {
  std::vector<Names> r;
  std::size_t i = 0;
  auto bad = [&] {
    fail<ValueError>("vectorize: the signature \"", whole, "\" cannot be read; it is written \"(n),(n,m)->(m)\"");
  };
  while (i < text.size()) {
    if (text[i] != '(') bad();
    auto end = text.find(')', i);
    if (end == text.npos) bad();
    Names names;
    std::string word;
    for (auto c : text.substr(i + 1, end - i - 1) + ",") {
      if (c != ',') word += c;
      else if (!word.empty()) names.push_back(std::exchange(word, ""));
    }
    r.push_back(names);
    i = end + 1;
    if (i < text.size() && text[i++] != ',') bad();
  }
  return r;
}
}  // namespace
ArraysFunction vectorize(ArraysFunction f, const std::string& signature) {
  std::string text;
  for (auto c : signature)
    if (c != ' ') text += c;
  std::optional<std::vector<Names>> dims;
  if (!text.empty()) {
    auto arrow = text.find("->");
    check<ValueError>(arrow != text.npos, "vectorize: the signature \"", signature, "\" has no ->");
    dims = read_dimensions(text.substr(0, arrow), signature);
    check<ValueError>(read_dimensions(text.substr(arrow + 2), signature).size() == 1, "vectorize: the signature \"",
                      signature, "\" must name one result");
  }
  return [f = std::move(f), dims, signature](const Arrays& in) {
    check<ValueError>(!dims || dims->size() == in.size(), "vectorize: ", in.size(), " arguments for the signature \"",
                      signature, "\"");
    std::map<std::string, std::int64_t> sizes;
    Shape loop;
    std::vector<Shape> outer, inner;
    for (std::size_t k = 0; k < in.size(); ++k) {
      auto names = dims ? (*dims)[k] : Names{};
      auto own = static_cast<std::int64_t>(names.size()), lead = in[k].ndim() - own;
      check<ShapeError>(lead >= 0, "vectorize: argument ", k, ", ", in[k].type(), ", has fewer than ", own,
                        " dimensions");
      Shape o, i;
      for (std::int64_t d = 0; d < in[k].ndim(); ++d) {
        auto n = in[k].shape(d);
        (d < lead ? o : i).push_back(n);
        if (d < lead) continue;
        auto& name = names[static_cast<std::size_t>(d - lead)];
        auto known = sizes.emplace(name, n).first->second;
        check<ShapeError>(known == n, "vectorize: ", name, " is ", known, ", and ", n, " in argument ", k, ", ",
                          in[k].type());
      }
      loop = broadcast_shapes("vectorize", loop, o);
      outer.push_back(o), inner.push_back(i);
    }
    if (loop.empty()) return f(in);
    Arrays rows;
    for (std::size_t k = 0; k < in.size(); ++k) {
      auto wide = loop, flat = Shape{volume(loop)};
      wide.append(inner[k]);
      flat.append(inner[k]);
      rows.push_back(reshape(broadcast_to(in[k], wide), flat));
    }
    auto y = vmap([&](const Arrays& one) { return f(one); })(rows);
    auto shape = loop;
    for (std::int64_t d = 1; d < y.ndim(); ++d) shape.push_back(y.shape(d));
    return reshape(y, shape);
  };
}
}  // namespace bora
