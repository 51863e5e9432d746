// jit.h -- a function staged once and run as a compiled Program: jit, program_of, eval_shape.
#pragma once
#include "bora/compile/stage.h"
#include "bora/fx/tree_call.h"

namespace bora {
/// Specs of the leaves of a tree by pattern of their paths; the first match counts, and a leaf that no pattern fits is
/// left alone. A single Spec applies to all.
class Specs {
 public:
  Specs() = default;
  Specs(const Spec& s) : v_{{"*", s}} {}
  Specs(std::initializer_list<std::pair<std::string_view, Spec>> l) : v_(l.begin(), l.end()) {}
  explicit Specs(std::vector<std::pair<std::string, Spec>> v) : v_(std::move(v)) {}
  bool empty() const { return v_.empty(); }
  const Spec* find(std::string_view path) const;
  const auto& rules() const { return v_; }
 private:
  std::vector<std::pair<std::string, Spec>> v_;
};
struct JitOptions {             // of jit
  Specs in = {};                // constraints on the arguments, whose paths begin with their number: "0.x", "1"
  Specs out = {};               // constraints on the results
  std::string name = {};        // for messages
  std::size_t cache = 64;       // Programs kept; the least recently used is evicted, with a warning
  bool check_captures = false;  // stage f in every call: ValueError if its captures are not those of its Program
  CompileOptions compile = {};  // how its Programs are compiled
};
namespace fx {
class Prepared;
/// The cache entry of one staging.
struct Traced {
  tree::Key key;
  ProgramPtr program;
  Arrays captures;                          // closed-over values: its last inputs
  std::shared_ptr<const void> like;         // the result, its leaves without numbers
  Arrays shells;                            // those leaves, which `like` only points to
  std::vector<tree::Part> parts;            // parts of the key, to explain why a later call was staged again
  std::shared_ptr<Prepared> prepared = {};  // the Executable of the latest donations
  std::uint64_t shard = 0;                  // the mesh that closed-over blocks belong to; 0: buffers only
};
using TracedPtr = std::shared_ptr<const Traced>;
/// The cache of one jitted function: safe between threads. Each rank of a mesh has its own list, limit and counts.
class JitCache {
 public:
  explicit JitCache(JitOptions options);
  ~JitCache();
  JitCache(const JitCache&) = delete;
  JitCache& operator=(const JitCache&) = delete;
  TracedPtr find(const tree::Key&);  // null where captures are checked: then keep() compares the stagings
  /// Keeps the entry if its captures last (buffers, blocks of the mesh in force); warns on stderr if a function is
  /// staged again and again, with the difference.
  TracedPtr keep(Traced);
  Arrays run(const Traced&, Arrays in, const Mask& given_up);
  const JitOptions& options() const;
  int traces() const;
 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// All other state that a staged function may read: mesh, rank, and state of later layers (the axis mapping in force
/// ...).
void append_context(tree::Key&);
/// Adds a hash of thread-local state to every jit key from now on. Call it once, before any jit.
void register_context(std::size_t (*hash)());
void constrain(tree::Node result, const Specs&);
/// The arguments' leaves, constrained. ShardError for a Spec that does not fit one, or that fits none.
Arrays constrained_arguments(Arrays leaves, const std::vector<tree::Node>& arguments, const Specs&);
void append_parts(tree::Node argument, std::size_t number, std::vector<tree::Part>&);
/// Copies the leaves into `in`; if the caller gave the argument up, its leaves are left empty.
void take_leaves(tree::Node argument, bool given_up, Arrays& in, Mask& donated);
/// The tree's leaves, which it keeps showing through non-owning handles: copying such a tree touches no counts.
Arrays lend_leaves(tree::Node);
template <class...> inline constexpr char type_tag = 0;

template <class F> class Jitted {
 public:
  Jitted(F f, JitOptions options) : f_(std::move(f)), cache_(std::make_shared<JitCache>(std::move(options))) {}
  template <class... A> auto operator()(A&&... a) const {
    check_trees<std::remove_cvref_t<A>...>();
    if constexpr (foreign<std::remove_cvref_t<A>...>)
      return ForeignCall<Gives::value, void, std::remove_cvref_t<A>...>::call(f_, *this, std::forward<A>(a)...);
    else if constexpr (takes_arrays<F, std::remove_cvref_t<A>...>) return run(forward_arrays(std::forward<A>(a))...);
    else if constexpr (are_trees<std::remove_cvref_t<A>...>) return run(std::forward<A>(a)...);
  }
  /// The Program that a call with these arguments runs.
  template <class... A> ProgramPtr program(const A&... a) const {
    if constexpr (takes_arrays<F, A...>) return program(arrays(a)...);
    else return traced<result_t<F, A...>>(a...)->program;
  }
  /// That Program's inputs: the arguments' leaves, then the values that f closes over.
  template <class... A> Arrays inputs(const A&... a) const {
    if constexpr (takes_arrays<F, A...>) return inputs(arrays(a)...);
    else {
      auto in = pack(a...);
      auto entry = traced<result_t<F, A...>>(a...);
      in.insert(in.end(), entry->captures.begin(), entry->captures.end());
      return in;
    }
  }
  /// How often f was staged (on a mesh: by this rank).
  int traces() const { return cache_->traces(); }
 private:
  /// As arrays(x), but what has no numbers stays an rvalue if it is one, and so is donated.
  template <class T> static decltype(auto) forward_arrays(T&& x) {
    if constexpr (Numbers<std::remove_cvref_t<T>>::any) return arrays(x);
    else return std::forward<T>(x);
  }
  template <class... A> auto run(A&&... a) const {
    static_assert(Callable<F, std::remove_cvref_t<A>...>,
                  "jit: f cannot be called with these arguments; it takes them by value or const&, and may not be a "
                  "mutable lambda");
    if constexpr (Callable<F, std::remove_cvref_t<A>...>) {
      using R = result_t<F, std::remove_cvref_t<A>...>;
      static_assert(tree::Tree<R>, "jit: f must return a tree: Arrays, or structs and containers of them");
      if constexpr (tree::Tree<R>) {
        auto entry = traced<R>(a...);
        Arrays in;
        in.reserve(entry->parts.size() + entry->captures.size());
        Mask donated;
        (take_leaves(tree::node(a), std::is_rvalue_reference_v<A&&> && !std::is_const_v<std::remove_reference_t<A>>, in,
                     donated),
         ...);
        auto out = cache_->run(*entry, std::move(in), donated);
        R result = tree::clone(*static_cast<const R*>(entry->like.get()));
        tree::replace(tree::node(result), std::move(out));
        return result;
      }
    }
  }
  template <class R, class... A> TracedPtr traced(const A&... a) const {
    tree::Key key;
    key.add(reinterpret_cast<std::uintptr_t>(&type_tag<A...>));
    append_context(key);
    (tree::append_key(tree::node(a), key), ...);
    if (auto found = cache_->find(key)) return found;
    std::optional<R> out;
    auto flat = flat_fn<R>(f_, out, a...);
    auto& options = cache_->options();
    FlatFn constrained = [&](const Arrays& in) {
      flat(constrained_arguments(in, {tree::node(a)...}, options.in));
      constrain(tree::node(*out), options.out);
      return tree::leaves(*out);
    };
    bool free = options.in.empty() && options.out.empty();
    auto staged = stage(free ? flat : constrained, types_of(pack(a...)), labels_of(a...),
                        options.compile);
    Traced t{.key = std::move(key),
             .program = std::move(staged.program),
             .captures = std::move(staged.captures),
             .like = nullptr,
             .shells = {},
             .parts = {}};
    R like = abstract(std::move(*out));
    t.shells = lend_leaves(tree::node(like));
    t.like = std::make_shared<const R>(std::move(like));
    [[maybe_unused]] std::size_t i = 0;
    (append_parts(tree::node(a), i++, t.parts), ...);
    return cache_->keep(std::move(t));
  }
  F f_;
  std::shared_ptr<JitCache> cache_;
};
template <class T> inline constexpr bool is_jitted = false;
template <class F> inline constexpr bool is_jitted<Jitted<F>> = true;
}  // namespace fx

/// f, staged on the first call with arguments of a structure, statics, shapes and dtypes, and run as a compiled Program
/// from then on. f's captures are read when it is staged, by reference too: a later value is not seen, without a word
/// (but with .check_captures or BORA_CHECK_CAPTURES=1). Pass values that change as arguments. An argument given as an
/// rvalue is donated: it is left empty and its memory is reused for results; memory that another handle still holds is
/// not reused, with one warning.
template <class F> auto jit(F f, JitOptions options = {}) { return fx::Jitted<F>(std::move(f), std::move(options)); }
template <class F, class X, class... More>
requires(!std::convertible_to<X, JitOptions>)
__attribute__((unavailable("write jit(f)(x, ..); numbers and strings among the arguments are static anyway"))) void
jit(F f, const X& x, const More&... more);
/// The Program that f(args...) stages (a jitted f: the one it runs). print() shows it.
template <class F, class... A> ProgramPtr program_of(const F& f, const A&... args) {
  if constexpr (fx::is_jitted<F>) return f.program(args...);
  else return jit(f).program(args...);
}
/// f's result with shapes and dtypes only: nothing is computed, and reading a leaf throws TraceError.
template <class F, class... A> auto eval_shape(const F& f, const A&... args) {
  if constexpr (fx::takes_arrays<F, A...>) return eval_shape(f, fx::arrays(args)...);
  else {
    using R = fx::result_t<F, A...>;
    std::optional<R> out;
    (void)stage(fx::flat_fn<R>(f, out, args...), types_of(fx::pack(args...)));
    return fx::abstract(std::move(*out));
  }
}
}  // namespace bora
