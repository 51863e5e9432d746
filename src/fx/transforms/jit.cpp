// jit's cache: lookup, eviction and its warnings.
#include "bora/fx/jit.h"
#include <algorithm>
#include <iostream>
#include <list>
#include <map>
#include "bora/array/communicator.h"
#include "array/api/nans.h"
#include "array/api/source.h"
#include "base/api/cache_counts.h"
#include "compile/api/control.h"
#include "compile/api/executable.h"
#include "bora/ops/sharding.h"
#include "fx/captures.h"
#include "fx/retrace.h"

namespace bora {
const Spec* Specs::find(std::string_view path) const {
  for (auto& [pattern, spec] : v_)
    if (tree::matches(pattern, path)) return &spec;
  return nullptr;
}
namespace fx {
namespace {
std::vector<std::size_t (*)()>& contexts() {
  static std::vector<std::size_t (*)()> c;
  return c;
}
/// The first part in which two stagings differ.
struct Difference {
  enum class Kind : std::uint8_t { number, shape, other } kind = Kind::other;
  std::string path = {}, words = "the mesh, an axis mapping, or the types of the arguments";
  std::string remedy() const {
    if (kind == Kind::number) return ". A number that changes every step belongs in an Array.\n";
    if (kind == Kind::shape)
      return ". Each shape is staged once: pad to one shape, or to a few, and mask what does not count.\n";
    return ".\n";
  }
};
Difference difference(const std::vector<tree::Part>& a, const std::vector<tree::Part>& b) {
  using K = Difference::Kind;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size() || a[i].path != b[i].path)
      return {K::other, {}, "the structure: " + where((i < b.size() ? b : a)[i].path) + " is in one of them only"};
    if (a[i].text == b[i].text) continue;
    auto words = where(b[i].path) + ": " + a[i].text + ", then " + b[i].text;
    bool array = b[i].text.find_first_of("[{") != std::string::npos;  // f32[8], f32{batch:8}
    bool number = !b[i].text.empty() && b[i].text.find_first_not_of("0123456789+-.einfa") == std::string::npos;
    return {array ? K::shape : number ? K::number : K::other, b[i].path, words};
  }
  return {};
}
bool is_power_of_two_times_8(int n) {
  while (n > 8 && n % 2 == 0) n /= 2;
  return n == 8;
}
}  // namespace

/// The Executable for the donations of the latest call: a training loop makes the same ones every step.
class Prepared {
 public:
  ExecutablePtr get(const ProgramPtr& p, const Mask& donated) {
    std::lock_guard l(mutex_);
    if (executable_ && donated == donated_) return executable_;
    executable_ = executable(p, donated);
    donated_ = donated;
    return executable_;
  }
 private:
  std::mutex mutex_;
  Mask donated_;
  ExecutablePtr executable_;
};

namespace {
/// The Shard of the mesh in force, by its id; 0 outside of one. It is the interpreter next to Eval.
std::uint64_t shard_in_force() {
  if (!here().mesh) return 0;
  auto* i = current();
  while (i->parent && i->parent != eval_interpreter()) i = i->parent;
  return i->id;
}
/// Numbers that outlive a transformation: a buffer, or a block of the mesh in force.
bool lasts(const Array& a) { return is_buffer(a) || a.owner() == shard_in_force(); }
/// Is a missed reuse of an argument's memory worth a warning? Not if it is small or no result could have used it;
/// temporaries that only hold handles, std::pair{a, b}, are rvalues too.
bool missed(const Program& p, const Type& t) {
  constexpr std::size_t kMuch = std::size_t{1} << 20;
  auto same = [&](int v) { return p.vars[static_cast<std::size_t>(v)] == t; };
  return t.nbytes() >= kMuch && std::any_of(p.out.begin(), p.out.end(), same);
}
}  // namespace

struct JitCache::State {
  /// One rank's stagings. Ranks that are threads share the function, but evictions for one must not depend on the
  /// progress of the others: staging again is a collective of all ranks.
  struct Place {
    std::list<TracedPtr> entries;  // the most recently used first
    std::unordered_multimap<std::size_t, std::list<TracedPtr>::iterator> index;
    std::vector<tree::Part> last;  // of the latest staging
    std::string changing;          // the number in which the latest stagings differ, and how many of them
    int changes = 0;
    int traces = 0;
    TracedPtr find(const tree::Key& key) {
      auto [first, last_one] = index.equal_range(key.hash());
      for (auto i = first; i != last_one; ++i) {
        auto& entry = **i->second;
        if (!(entry.key == key) || (entry.shard && entry.shard != shard_in_force())) continue;
        entries.splice(entries.begin(), entries, i->second);
        return entries.front();
      }
      return nullptr;
    }
    TracedPtr evict() {
      auto victim = std::prev(entries.end());
      auto [first, last_one] = index.equal_range((*victim)->key.hash());
      index.erase(std::find_if(first, last_one, [&](auto& i) { return i.second == victim; }));
      auto gone = std::move(*victim);
      entries.erase(victim);
      return gone;
    }
  };
  explicit State(JitOptions o) : options(std::move(o)) {}
  const JitOptions options;
  const bool checks = options.check_captures || always_checked();
  std::mutex mutex;
  std::map<std::pair<std::string, int>, Place> places;  // of each rank of each mesh
  bool copied = false, evicted = false;
  std::shared_ptr<bora::detail::CacheCounts> counts = bora::detail::listed_cache(name(), options.cache);
  std::string name() const { return options.name.empty() ? std::string("jit") : "jit(" + options.name + ")"; }
  Place& place() { return places[{here().mesh ? to_string(*here().mesh) : std::string(), here().rank}]; }
};
JitCache::JitCache(JitOptions options) : state_(std::make_unique<State>(std::move(options))) {
  check<ValueError>(state_->options.cache > 0, "jit: .cache must be at least 1");
}
JitCache::~JitCache() = default;
const JitOptions& JitCache::options() const { return state_->options; }
int JitCache::traces() const {
  std::lock_guard l(state_->mutex);
  return state_->place().traces;
}
TracedPtr JitCache::find(const tree::Key& key) {
  if (state_->checks) return nullptr;
  std::lock_guard l(state_->mutex);
  auto found = state_->place().find(key);
  state_->counts->found_locked(found != nullptr);
  return found;
}
TracedPtr JitCache::keep(Traced t) {
  auto& s = *state_;
  t.prepared = std::make_shared<Prepared>();
  const Array* passing = nullptr;  // a closed-over value that belongs to this call only
  for (auto& c : t.captures) {
    if (!lasts(c)) passing = &c;
    else if (!is_buffer(c)) t.shard = c.owner();
  }
  auto entry = std::make_shared<const Traced>(std::move(t));
  TracedPtr gone;  // destroyed without the lock: it may hold other caches
  std::lock_guard l(s.mutex);
  auto& p = s.place();
  if (auto kept = s.checks ? p.find(entry->key) : nullptr) {
    auto what = changed_captures(*kept, *entry);
    check<ValueError>(what.empty(), s.name(), ": what the function captures has changed since it was staged: ", what,
                      ". Calls would go on with the old value; pass it as an argument, or make a new jit(f)");
    return kept;
  }
  auto changed = ++p.traces > 1 ? difference(p.last, entry->parts) : Difference{};
  bool number = changed.kind == Difference::Kind::number;
  p.changes = !number ? 0 : p.changing == changed.path ? p.changes + 1 : 1;
  p.changing = number ? changed.path : std::string();
  constexpr int enough = 3;  // a number with another value in so many stagings is surely not meant
  if (p.changes == enough || (p.traces > 8 && is_power_of_two_times_8(p.traces - 1))) {
    std::cerr << "warning: bora: " << s.name() << " was staged " << p.traces << " times; ";
    if (passing)
      std::cerr << "it closes over a value that belongs to one call only (" << passing->get()->describe()
                << "): pass it as an argument.\n";
    else
      std::cerr << "the last time for another value of " << changed.words << changed.remedy();
  }
  p.last = entry->parts;
  if (passing) return entry;
  if (auto other = p.find(entry->key)) return other;  // another thread staged it meanwhile
  p.entries.push_front(entry);
  p.index.emplace(entry->key.hash(), p.entries.begin());
  s.counts->added();
  if (p.entries.size() <= s.options.cache) return entry;
  gone = p.evict();
  s.counts->evicted();
  if (!std::exchange(s.evicted, true))
    std::cerr << "warning: bora: " << s.name() << ": more than " << s.options.cache
              << " Programs; the least recently used are dropped and staged again when "
                 "needed (jit(f, {.cache = n}) keeps more)\n";
  return entry;
}
Arrays JitCache::run(const Traced& t, Arrays in, const Mask& given_up) {
  auto expected = t.program->in.size() - t.captures.size();
  check<ValueError>(
      in.size() == expected, [&] { return state_->name(); }, ": ", expected - in.size(), " of ", expected,
      " Arrays became empty during the call: the same variable was given up (std::move) twice; pass it as "
      "it is, or a copy, in one of the places");
  Mask donated(in.size() + t.captures.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!given_up[i]) continue;
    donated[i] = in[i].sole();
    if (donated[i] || !lasts(in[i]) || !missed(*t.program, in[i].type()) || exec::passes_through(*t.program, i))
      continue;
    auto here = std::count_if(in.begin(), in.end(), [&](auto& a) { return a.value() == in[i].value(); });
    // equal results of one call share a buffer: held by this call only
    if (in[i].value().use_count() == here) continue;
    std::lock_guard l(state_->mutex);
    if (!std::exchange(state_->copied, true))
      std::cerr << "warning: bora: " << state_->name() << ": the donated "
                << (i < t.program->labels.size() ? where(t.program->labels[i]) : "argument") << " ("
                << in[i].type()
                << ") is held by somebody else too: it is left as it is and new memory is used (said once)\n";
  }
  in.insert(in.end(), t.captures.begin(), t.captures.end());
  if (current() != eval_interpreter()) return run_jit(t.program, std::move(in), donated);
  // Only buffers, and no handle but ours, so that the Executable owns donated memory.
  try {
    if (stops_at_nan()) return run_program(t.program, std::move(in));
    return t.prepared->get(t.program, donated)->run(std::move(in), donated);
  } catch (Error& e) {
    e.add_place(describe(*current_source()));
    throw;
  }
}

void append_context(tree::Key& key) {
  auto& h = here();
  key.add(static_cast<std::uint64_t>(default_float()));
  key.add(static_cast<std::uint64_t>(h.rank));
  key.add(static_cast<std::uint64_t>(h.in_blocks));  // inside shard_map the axes of the mesh are bound
  key.add(h.mesh ? h.mesh->axes.size() : ~std::uint64_t{0});
  if (h.mesh) {
    for (auto& [name, size] : h.mesh->axes) {
      key.add(reinterpret_cast<std::uintptr_t>(name.id()));
      key.add(static_cast<std::uint64_t>(size));
    }
  }
  for (auto c : contexts()) key.add(c());
}
void register_context(std::size_t (*hash)()) { contexts().push_back(hash); }
namespace {
/// x at this end of a jitted function, whose option is `end`.
Array placed(const Array& x, const Spec& spec, const char* end, const std::string& path) {
  auto at = [&] { return std::string("jit: .") + end + (path.empty() ? "" : " of '" + path + "'"); };
  check<ShardError>(!spec.open(), at, ": Spec", spec, " leaves a dimension unconstrained; use none or mesh axes (a "
                    "leaf that no Spec fits is left alone)");
  check<ShardError>(spec.size() <= x.type().shape.size(), at, ": Spec", spec, " has ", spec.size(),
                    " entries, but the array is ", x.type());
  return with_sharding_constraint(x, spec);
}
}  // namespace
void constrain(tree::Node result, const Specs& specs) {
  for (auto& s : tree::slots(result)) {
    if (!s.leaf.defined()) continue;
    if (auto* spec = specs.find(s.path)) s.leaf.set(placed(s.leaf.get(), *spec, "out", s.path));
  }
}
Arrays constrained_arguments(Arrays leaves, const std::vector<tree::Node>& arguments, const Specs& specs) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto from = paths.size();
    tree::append_paths(arguments[i], paths);
    for (auto k = from; k < paths.size(); ++k) paths[k] = std::to_string(i) + (paths[k].empty() ? "" : ".") + paths[k];
  }
  for (auto& [pattern, spec] : specs.rules())
    check<ShardError>(std::any_of(paths.begin(), paths.end(), [&](auto& p) { return tree::matches(pattern, p); }),
                      "jit: .in: '", pattern, "' fits no argument; there are", [&] {
                        std::string all;
                        for (auto& p : paths) all += " '" + p + "'";
                        return all;
                      });
  for (std::size_t k = 0; k < leaves.size(); ++k)
    if (auto* spec = specs.find(paths[k])) leaves[k] = placed(leaves[k], *spec, "in", paths[k]);
  return leaves;
}
void append_parts(tree::Node argument, std::size_t number, std::vector<tree::Part>& to) {
  for (auto& p : tree::describe(argument))
    to.push_back({p.path.empty() ? "argument " + std::to_string(number) : std::move(p.path), std::move(p.text)});
}
void take_leaves(tree::Node argument, bool given_up, Arrays& in, Mask& donated) {
  struct Take final : tree::Visitor {
    Take(Arrays& a, bool g) : in(a), given_up(g) {}
    void leaf(const tree::Name&, const tree::LeafRef& l) override {
      auto& a = l.get();
      if (!a.defined()) return;
      in.push_back(a);
      if (given_up) l.set(Array());
    }
    Arrays& in;
    bool given_up;
  } v(in, given_up);
  argument(v);
  donated.resize(in.size(), given_up);
}
Arrays lend_leaves(tree::Node t) {
  Arrays owners, lent;
  tree::append_leaves(t, owners);
  for (auto& a : owners) lent.emplace_back(std::shared_ptr<const ArrayValue>(std::shared_ptr<void>(), a.get()));
  tree::replace(t, std::move(lent));
  return owners;
}
}  // namespace fx
}  // namespace bora
