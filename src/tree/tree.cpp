// Visitors behind the typed functions of tree.h.
#include "bora/tree/tree.h"
#include <cstring>
#include <sstream>
#include "path.h"

namespace bora::tree {
void Key::add_text(std::string_view s) {
  add(s.size());
  for (std::size_t i = 0; i < s.size(); i += 8) {
    std::uint64_t w = 0;
    std::memcpy(&w, s.data() + i, std::min<std::size_t>(8, s.size() - i));
    add(w);
  }
}
std::size_t Key::hash() const {
  auto folded = [](std::uint64_t h, std::uint64_t w) {  // the multiply-and-fold step of wyhash
    auto m = static_cast<unsigned __int128>(h ^ w ^ 0x9e3779b97f4a7c15ull) * 0xd6e8feb86659fd93ull;
    return static_cast<std::uint64_t>(m) ^ static_cast<std::uint64_t>(m >> 64);
  };
  const std::size_t n = words_.size();
  std::uint64_t h[2] = {n, ~n};  // two independent chains
  std::size_t i = 0;
  for (; i + 1 < n; i += 2)
    for (std::size_t k = 0; k < 2; ++k) h[k] = folded(h[k], words_[i + k]);
  if (i < n) h[0] = folded(h[0], words_[i]);
  return folded(h[0], h[1]);
}

namespace detail {
void add_alternative(const void* index, Key& k) { k.add(*static_cast<const std::size_t*>(index)); }
void print_alternative(const void* index, std::ostream& o) {
  o << "alternative " << *static_cast<const std::size_t*>(index);
}
void walk_fields(const FieldRef* fields, std::size_t n, Visitor& v, const Name& name) {
  v.enter(name);
  for (std::size_t i = 0; i < n; ++i)
    fields[i].walk(fields[i].at, v, {Name::Kind::field, fields[i].name, 0, fields[i].decays});
  v.leave();
}
}  // namespace detail

namespace {
/// A visitor that knows where it is.
class Located : public Visitor {
 public:
  void enter(const Name& n) final { path_.enter(n); }
  void leave() final { path_.leave(); }
 protected:
  std::string at(const Name& n) const { return path_.at(n); }
  const std::string& here() const { return path_.text(); }
 private:
  Path path_;
};
template <class F> struct EachLeaf final : Visitor {
  explicit EachLeaf(F g) : f(std::move(g)) {}
  void leaf(const Name&, const LeafRef& l) override { f(l); }
  F f;
};
template <class F> void each_leaf(Node t, F f) {
  EachLeaf<F> v(std::move(f));
  t(v);
}
struct Keyed final : Visitor {
  explicit Keyed(Key& k) : key(k) {}
  void name(const Name& n) {
    if (n.kind == Name::Kind::key) key.add_text(n.text);
  }
  void leaf(const Name& n, const LeafRef& l) override {
    name(n);
    auto& a = l.get();
    if (a.defined()) key.add_type(a.type());
    else key.add(~std::uint64_t{0});
    l.type->key(l.at, key);
  }
  void statics(const Name& n, const StaticRef& s) override {
    name(n);
    s.key(s.at, key);
  }
  void enter(const Name& n) override { name(n); }
  void sized(std::size_t n) override { key.add(n); }
  Key& key;
};
struct Described final : Located {
  explicit Described(bool t) : types(t) {}
  void leaf(const Name& n, const LeafRef& l) override {
    parts.push_back({at(n), l.defined() ? (types ? l.text() : "an Array") : "empty"});
  }
  void statics(const Name& n, const StaticRef& s) override {
    std::ostringstream o;
    s.print(s.at, o);
    parts.push_back({at(n), o.str()});
  }
  void sized(std::size_t n) override {
    parts.push_back({here(), std::to_string(n) + (n == 1 ? " element" : " elements")});
  }
  bool types;
  std::vector<Part> parts;
};
std::string quoted(const std::string& path) { return path.empty() ? "the value" : "'" + path + "'"; }
}  // namespace

std::vector<Slot> slots(Node t) {
  struct Collect final : Located {
    void leaf(const Name& n, const LeafRef& l) override { all.push_back({at(n), l}); }
    std::vector<Slot> all;
  } v;
  t(v);
  return std::move(v.all);
}
void append_leaves(Node t, Arrays& to) {
  each_leaf(t, [&](const LeafRef& l) {
    if (auto& a = l.get(); a.defined()) to.push_back(a);
  });
}
void append_paths(Node t, std::vector<std::string>& to) {
  for (auto& s : slots(t))
    if (s.leaf.defined()) to.push_back(std::move(s.path));
}
std::size_t count_leaves(Node t) {
  std::size_t n = 0;
  each_leaf(t, [&](const LeafRef& l) { n += l.defined(); });
  return n;
}
std::vector<bool> decays(Node t) {
  struct Collect final : Visitor {
    bool answer(const Name& n) const { return n.decays.value_or(around.back()); }
    void enter(const Name& n) override { around.push_back(answer(n)); }
    void leave() override { around.pop_back(); }
    void leaf(const Name& n, const LeafRef& l) override {
      if (l.defined()) all.push_back(answer(n));
    }
    std::vector<bool> around = {true}, all = {};
  } v;
  t(v);
  return std::move(v.all);
}
namespace {
template <class Next> std::size_t replace_with(Node t, std::size_t n, Next next) {
  std::size_t used = 0;
  each_leaf(t, [&](const LeafRef& l) {
    if (!l.defined()) return;
    if (used == n) wrong_leaf_count(count_leaves(t), n);
    l.set(next(used++));
  });
  return used;
}
}  // namespace
std::size_t replace(Node t, const Array* arrays, std::size_t n) {
  return replace_with(t, n, [&](std::size_t i) -> const Array& { return arrays[i]; });
}
std::size_t replace(Node t, Arrays&& arrays) {
  return replace_with(t, arrays.size(), [&](std::size_t i) -> Array&& { return std::move(arrays[i]); });
}
void append_key(Node t, Key& k) {
  Keyed v(k);
  t(v);
}
std::vector<Part> describe(Node t, Same what) {
  Described d(what == Same::types);
  t(d);
  return std::move(d.parts);
}
std::string first_difference(Node a, Node b, Same what) {
  auto x = describe(a, what), y = describe(b, what);
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (x[i].path != y[i].path) return quoted(x[i].path) + " and " + quoted(y[i].path) + " stand in the same place";
    if (x[i].text != y[i].text) return quoted(x[i].path) + ": " + x[i].text + " and " + y[i].text;
  }
  if (x.size() == y.size()) return {};
  auto& longer = x.size() > y.size() ? x : y;
  return quoted(longer[std::min(x.size(), y.size())].path) + " is in one of them only";
}
bool matches(std::string_view pattern, std::string_view path) {
  std::size_t p = 0, s = 0, star = std::string_view::npos, mark = 0;
  while (s < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = s;
    } else if (p < pattern.size() && pattern[p] == path[s]) {
      ++p;
      ++s;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      s = ++mark;
    } else return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}
Arrays aligned(std::string_view what, Node t, Node other) {
  auto a = slots(t), b = slots(other);
  auto name = [](const std::vector<Slot>& s, std::size_t i) {
    return i < s.size() ? quoted(s[i].path) : std::string("nothing");
  };
  Arrays r;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    check<ValueError>(i < a.size() && i < b.size() && a[i].path == b[i].path, what, ": the trees differ: ", name(a, i),
                      " in the first is at the place of ", name(b, i), " in the other");
    if (a[i].leaf.defined()) r.push_back(b[i].leaf.get());
  }
  return r;
}
void wrong_leaf_count(std::size_t want, std::size_t got) {
  fail<ValueError>("unflatten: the tree has ", want, " leaves but there are ", got, " arrays");
}
void cannot_combine(const std::vector<Slot>& a, const std::vector<Slot>& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i].path == b[i].path) ++i;
  auto path = i < a.size() ? a[i].path : b[i].path;
  fail<ValueError>("tree::combine: one tree has '", path, "' where another has ",
                   i < a.size() && i < b.size() ? "'" + b[i].path + "'" : "no more leaves",
                   "; combine the parts of one tree");
}
}  // namespace bora::tree
