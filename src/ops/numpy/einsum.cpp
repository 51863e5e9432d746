// einsum: labels, diagonals, sums over labels used only once, then pairs of operands, the pair with the smallest result
// first.
#include <map>
#include <sstream>
#include "bora/ops/contractions.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/reductions.h"
#include "bora/ops/ufuncs.h"
#include "ops/primitives/dims.h"

namespace bora {
namespace {
using ops::at, ops::contains, ops::position;
using Label = std::int64_t;  // an index into Equation::names
using Labels = Dims;
struct Equation {
  std::vector<Labels> in;
  Labels out;
  std::vector<std::string> names;
  Label label(const std::string& name) {
    auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) return names.push_back(name), static_cast<Label>(names.size()) - 1;
    return it - names.begin();
  }
};
struct Term {
  Array value;
  Labels labels;
};
constexpr std::string_view kDots = "...";

std::vector<std::string_view> parts(std::string_view s, char separator) {
  std::vector<std::string_view> r;
  for (std::size_t from = 0;;) {
    auto to = s.find(separator, from);
    r.push_back(s.substr(from, to - from));
    if (to == s.npos) return r;
    from = to + 1;
  }
}
std::vector<std::string> words(std::string_view s) {
  std::istringstream in{std::string(s)};
  std::vector<std::string> r;
  for (std::string w; in >> w;) r.push_back(w);
  return r;
}
std::vector<std::string> letters(std::string_view s) {
  std::vector<std::string> r;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (std::isspace(static_cast<unsigned char>(s[i]))) continue;
    if (s.substr(i).starts_with(kDots)) r.emplace_back(kDots), i += kDots.size() - 1;
    else r.emplace_back(1, s[i]);
  }
  return r;
}
bool fits(const std::vector<std::string>& axes, std::int64_t ndim) {
  auto dots = std::count(axes.begin(), axes.end(), kDots);
  auto named = static_cast<std::int64_t>(axes.size()) - dots;
  return dots > 1 ? false : dots ? named <= ndim : named == ndim;
}

Equation parse(std::string_view equation, const Arrays& operands) {
  auto arrow = equation.find("->");
  auto terms = parts(equation.substr(0, arrow), ',');
  check<ValueError>(terms.size() == operands.size(), "einsum: '", equation, "' speaks of ", terms.size(), " operand",
                    terms.size() == 1 ? "" : "s", ", but ", operands.size(), " were given");
  // Words if they fit the operands and the output is made of them ("i,j->ij" is not), else letters.
  bool as_words = true;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    auto w = words(terms[i]);
    as_words = as_words && fits(w, operands[i].ndim());
    known.insert(known.end(), w.begin(), w.end());
  }
  if (arrow != equation.npos)
    for (auto& w : words(equation.substr(arrow + 2)))
      as_words = as_words && std::find(known.begin(), known.end(), w) != known.end();
  auto split = as_words ? words : letters;
  Equation e;
  std::int64_t most = 0;  // dimensions under the ellipsis, numbered from the last
  auto dotted = [&](std::int64_t from_last) { return e.label("..." + std::to_string(from_last)); };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    auto axes = split(terms[i]);
    check<ShapeError>(fits(axes, operands[i].ndim()), "einsum: '", terms[i], "' does not name the ", operands[i].ndim(),
                      " dimensions of operand ", i + 1, ", ", operands[i].shape(), ", in '", equation, "'");
    auto under = operands[i].ndim() - static_cast<std::int64_t>(axes.size()) + 1;
    Labels l;
    for (auto& a : axes) {
      if (a != kDots) l.push_back(e.label(a));
      else
        for (auto k = under; k-- > 0;) l.push_back(dotted(k));
    }
    if (std::count(axes.begin(), axes.end(), kDots)) most = std::max(most, under);
    e.in.push_back(l);
  }
  if (arrow == equation.npos) {  // NumPy's rule: the ellipsis, then labels that occur once, in alphabetical order
    for (auto k = most; k-- > 0;) e.out.push_back(dotted(k));
    std::map<std::string, Label> once;
    for (std::size_t n = 0; n < e.names.size(); ++n) {
      std::ptrdiff_t seen = 0;
      for (auto& l : e.in) seen += std::count(l.begin(), l.end(), static_cast<Label>(n));
      if (seen == 1 && !e.names[n].starts_with(kDots)) once[e.names[n]] = static_cast<Label>(n);
    }
    for (auto& [name, label] : once) e.out.push_back(label);
    return e;
  }
  auto out = split(equation.substr(arrow + 2));
  check<ValueError>(most == 0 || std::count(out.begin(), out.end(), kDots) == 1,
                    "einsum: the output needs ... once, as operands have it in '", equation, "'");
  for (auto& a : out) {
    if (a == kDots) {
      for (auto k = most; k-- > 0;) e.out.push_back(dotted(k));
      continue;
    }
    check<ValueError>(std::find(e.names.begin(), e.names.end(), a) != e.names.end(), "einsum: '", a,
                      "' of the output is in no operand of '", equation, "'");
    check<ValueError>(!contains(e.out, e.label(a)), "einsum: the output names '", a, "' twice in '", equation, "'");
    e.out.push_back(e.label(a));
  }
  return e;
}

/// Merges dimensions a < b of equal size n, in place of a: elements (i, i) of a square are n + 1 apart.
Array diagonal_of(const Array& x, std::int64_t a, std::int64_t b) {
  auto n = x.shape(a);
  auto y = moveaxis(moveaxis(x, b, -1), a, -2);
  auto s = y.shape();
  s.pop_back();
  s[s.size() - 1] = n * n;
  return moveaxis(slice_in_dim(reshape(y, s), -1, 0, n * n, n + 1), -1, a);
}
void drop(Term& t, const Dims& dims) {
  Labels l;
  for (auto d : ops::others(static_cast<std::int64_t>(t.labels.size()), dims)) l.push_back(t.labels[at(d)]);
  t.labels = l;
}
/// Sums over labels that are not in `keep`.
Term summed(Term t, const Labels& keep) {
  Dims gone;
  for (std::size_t i = 0; i < t.labels.size(); ++i)
    if (!contains(keep, t.labels[i])) gone.push_back(static_cast<std::int64_t>(i));
  if (!gone.empty()) {
    t.value = sum(t.value, gone, {.dtype = t.value.dtype()});
    drop(t, gone);
  }
  return t;
}
/// Diagonals, and sums over labels that are not in `keep`.
Term simplified(Term t, const Labels& keep) {
  for (std::size_t i = 0; i < t.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < t.labels.size();) {
      if (t.labels[i] != t.labels[j]) {
        ++j;
        continue;
      }
      t.value = diagonal_of(t.value, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  return summed(std::move(t), keep);
}
std::int64_t size_of(const Term& t, Label l) {
  return contains(t.labels, l) ? t.value.shape(position(t.labels, l)) : 1;
}
/// x without its dimensions of size 1 that are larger in y.
Term unstretched(Term x, const Term& y) {
  Dims ones;
  for (std::size_t i = 0; i < x.labels.size(); ++i)
    if (contains(y.labels, x.labels[i]) && x.value.shape(static_cast<std::int64_t>(i)) == 1 &&
        size_of(y, x.labels[i]) != 1)
      ones.push_back(static_cast<std::int64_t>(i));
  if (ones.empty()) return x;
  x.value = squeeze(x.value, ones);
  drop(x, ones);
  return x;
}
Labels in_order_of(const Labels& labels, const Labels& wanted) {
  Labels r;
  for (auto l : wanted)
    if (contains(labels, l)) r.push_back(l);
  for (auto l : labels)
    if (!contains(r, l)) r.push_back(l);
  return r;
}
Dims places(const Term& t, const Labels& labels) {
  Dims d;
  for (auto l : labels) d.push_back(position(t.labels, l));
  return d;
}
/// Dimensions in the order of `labels`, 1 for missing ones.
Array spread(const Term& t, const Labels& labels) {
  Dims perm;
  Shape s;
  for (auto l : labels) {
    if (contains(t.labels, l)) perm.push_back(position(t.labels, l));
    s.push_back(size_of(t, l));
  }
  return reshape(transpose(t.value, perm), s);
}
/// The product of two terms, summed over labels that no other term needs. `wanted`: the order of the result, where
/// there is a choice.
Term contracted(Term x, Term y, const Labels& keep, const Labels& wanted) {
  x = unstretched(std::move(x), y);
  y = unstretched(std::move(y), x);
  auto needed = [&](const Term& other) { return ops::joined(keep, other.labels); };
  x = summed(std::move(x), needed(y));  // labels that only one term has, now that 1s are gone
  y = summed(std::move(y), needed(x));
  Labels batch, gone, free_x, free_y;
  for (auto l : x.labels) (contains(y.labels, l) ? contains(keep, l) ? batch : gone : free_x).push_back(l);
  for (auto l : y.labels)
    if (!contains(x.labels, l)) free_y.push_back(l);
  batch = in_order_of(batch, wanted);
  if (gone.empty()) {
    auto all = in_order_of(ops::joined(ops::joined(batch, free_x), free_y), wanted);
    return {spread(x, all) * spread(y, all), all};
  }
  auto first = [&](const Labels& l) {  // position of a term's own dimensions in the result
    auto p = position(wanted, l.empty() ? -1 : l.front());
    return l.empty() ? static_cast<std::ptrdiff_t>(wanted.size()) : p;
  };
  if (!free_x.empty() && !free_y.empty() && first(free_y) < first(free_x)) {
    std::swap(x, y);
    std::swap(free_x, free_y);
  }
  auto value = dot_general(x.value, y.value, {places(x, batch), places(y, batch), places(x, gone), places(y, gone)});
  return {value, ops::joined(ops::joined(batch, free_x), free_y)};
}
}  // namespace

Array einsum_flat(std::string_view equation, const Arrays& operands) {
  check<ValueError>(!operands.empty(), "einsum: no operands were given");
  auto e = parse(equation, operands);
  std::map<Label, std::pair<std::int64_t, std::size_t>> sizes;
  auto dtype = operands[0].dtype();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    check<DtypeError>(is_numeric(operands[i].dtype()), "einsum: keys cannot be multiplied");
    if (operands[i].dtype() != dtype) dtype = promote(dtype, operands[i].dtype());
    for (std::size_t d = 0; d < e.in[i].size(); ++d) {
      auto n = operands[i].shape(static_cast<std::int64_t>(d));
      auto [it, fresh] = sizes.try_emplace(e.in[i][d], n, i);
      auto& [known, first] = it->second;
      const auto& name = e.names[at(e.in[i][d])];
      check<ShapeError>(known == n || (first != i && (known == 1 || n == 1)), "einsum: '",
                        name.starts_with(kDots) ? std::string(kDots) : name, "' has ", known, " elements in operand ",
                        first + 1, " and ", n, " in operand ", i + 1, " of '", equation, "'");
      if (known == 1) known = n;
    }
  }
  bool logical = dtype == boolean;  // NumPy: any(..); sums count in between
  if (logical) dtype = i32;
  std::vector<Term> terms;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    auto keep = e.out;
    for (std::size_t j = 0; j < operands.size(); ++j)
      if (j != i) keep.insert(keep.end(), e.in[j].begin(), e.in[j].end());
    terms.push_back(simplified({operands[i].astype(dtype), e.in[i]}, keep));
  }
  while (terms.size() > 1) {
    std::size_t a = 0, b = 1;
    double best = -1;
    auto kept_by_others = [&](std::size_t i, std::size_t j) {
      auto keep = e.out;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != i && k != j) keep.insert(keep.end(), terms[k].labels.begin(), terms[k].labels.end());
      return keep;
    };
    for (std::size_t i = 0; i < terms.size() && terms.size() > 2; ++i) {
      for (std::size_t j = i + 1; j < terms.size(); ++j) {
        auto keep = kept_by_others(i, j);
        double n = 1;
        for (auto& [l, s] : sizes)
          if (contains(keep, l) && (contains(terms[i].labels, l) || contains(terms[j].labels, l)))
            n *= static_cast<double>(std::max(size_of(terms[i], l), size_of(terms[j], l)));
        if (best < 0 || n < best) best = n, a = i, b = j;
      }
    }
    auto product = contracted(terms[a], terms[b], kept_by_others(a, b), e.out);
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(b));
    terms[a] = std::move(product);
  }
  auto y = transpose(terms[0].value, places(terms[0], e.out));
  return logical ? y != 0 : y;
}
}  // namespace bora
