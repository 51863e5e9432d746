#include "bora/tree/functions.h"
#include <sstream>

namespace bora::tree {
namespace {
std::string named(const std::string& path) { return path.empty() ? "the whole tree" : "'" + path + "'"; }
bool leads_to(const std::string& prefix, const std::string& path) {
  return prefix.empty() || path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '.');
}
std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + '.' + b; }
/// Nothing for a leaf that every rank holds whole, or whose placement is not known yet.
std::string placement(const Array& x) {
  try {
    auto spec = x.spec();
    return spec == Spec::replicated(static_cast<std::size_t>(x.ndim())) ? "" : "  " + to_string(spec);
  } catch (const TraceError&) { return {}; }
}
}  // namespace

Structure structure(Node t, Same what) { return Structure(describe(t, what), count_leaves(t)); }
std::size_t Structure::hash() const {
  Key k;
  for (auto& p : parts_) {
    k.add_text(p.path);
    k.add_text(p.text);
  }
  return k.hash();
}
bool Structure::operator==(const Structure& o) const {
  return std::ranges::equal(parts_, o.parts_,
                            [](const Part& a, const Part& b) { return a.path == b.path && a.text == b.text; });
}
std::ostream& operator<<(std::ostream& o, const Structure& s) {
  for (auto& p : s.parts()) o << (p.path.empty() ? "." : p.path) << ": " << p.text << "\n";
  return o;
}
std::string to_text(Node t) {
  auto parts = describe(t, Same::types);
  auto leaves = slots(t);
  std::size_t width = 0, at = 0;
  for (auto& p : parts) width = std::max(width, p.path.size());
  std::ostringstream o;
  for (auto& p : parts) {
    o << (p.path.empty() ? "." : p.path) << std::string(width - std::min(width, p.path.size()) + 2, ' ') << p.text;
    if (at < leaves.size() && leaves[at].path == p.path && leaves[at].leaf.text() == p.text) {
      auto& slot = leaves[at++].leaf;
      if (slot.defined()) o << placement(slot.get());
    }
    o << "\n";
  }
  return o.str();
}
void broadcast(Node prefix, Node to) {
  auto from = slots(prefix);
  for (auto& s : slots(to)) {
    auto i = std::ranges::find_if(from, [&](const Slot& f) { return f.leaf.defined() && leads_to(f.path, s.path); });
    check<ValueError>(i != from.end(), "tree::broadcast: no leaf of the prefix leads to ", named(s.path));
    s.leaf.set(i->leaf.get());
  }
}
void transpose(Node outer, Node t, Node to) {
  auto places = slots(outer), from = slots(t), wanted = slots(to);
  std::vector<bool> used(from.size());
  for (auto& w : wanted) {
    auto found = from.end();
    for (auto& o : places) {  // w.path = inner + outer
      if (!w.path.ends_with(o.path)) continue;
      auto inner = w.path.substr(0, w.path.size() - o.path.size());
      if (!o.path.empty() && inner.ends_with('.')) inner.pop_back();
      else if (!o.path.empty() && !inner.empty()) continue;
      found = std::ranges::find(from, joined(o.path, inner), &Slot::path);
      if (found != from.end()) break;
    }
    check<ValueError>(found != from.end(), "tree::transpose: no leaf of the tree belongs at ", named(w.path),
                      " of the result");
    w.leaf.set(found->leaf.get());
    used[static_cast<std::size_t>(found - from.begin())] = true;
  }
  auto left = std::ranges::find(used, false);
  check<ValueError>(left == used.end(), "tree::transpose: the result has no place for ",
                    left == used.end() ? "" : named(from[static_cast<std::size_t>(left - used.begin())].path));
}
void set_leaf(Node t, std::string_view path, const Array& leaf) {
  auto all = slots(t);
  auto i = std::ranges::find(all, path, &Slot::path);
  if (i != all.end()) return i->leaf.set(leaf);
  std::string near;
  auto last = path.substr(path.rfind('.') + 1);
  for (auto& s : all)
    if (near.empty() && std::string_view(s.path).substr(s.path.rfind('.') + 1) == last) near = s.path;
  if (near.empty() && !all.empty()) near = all.front().path;
  fail<ValueError>("tree::with_leaf: there is no leaf '", path, "' among ", all.size(), "; one is '", near, "'");
}
namespace detail {
void no_subtree(const std::type_info&) {
  fail<ValueError>("tree::at: an optional or pointer on the way is empty; set it as a whole");
}
void no_element(std::size_t index, std::size_t size) {
  fail<ValueError>("tree::at: there is no element ", index, " among ", size);
}
void no_entry(std::string_view key) { fail<ValueError>("tree::at: there is no entry '", key, "' in the map"); }
}  // namespace detail
}  // namespace bora::tree
