// lower.h -- functions compiled ahead of their calls, and as files.
//   auto f = lower(step, state, batch).compile();    // values, or eval_shape's: only their types matter
//   f.memory().peak();  f.cost().flops;  f(state, batch);
//   lower(step, state, batch).save("step.bora");  auto g = load_function("step.bora");
#pragma once
#include "bora/compile/program_file.h"
#include "bora/fx/jit.h"

namespace bora {
class Executable;
/// Operations, and bytes read and written, of one run of a compiled function on this rank.
struct RunCost {
  double flops = 0, bytes = 0;
};
/// Bytes of memory in one run of a compiled function, on this rank.
struct MemoryUse {
  std::size_t arguments = 0, results = 0, temporaries = 0;
  std::size_t peak() const { return arguments + results + temporaries; }
};
namespace fx {
/// A Program with its Executable and the values that it closes over.
class CompiledFlat {
 public:
  explicit CompiledFlat(Staged);
  /// `in`: the inputs without the values closed over.
  Arrays operator()(Arrays in) const;
  RunCost cost() const;
  MemoryUse memory() const;
  std::string text() const;
 private:
  Staged staged_;
  std::shared_ptr<const Executable> executable_;
};
/// Throws unless an argument has the structure and types that the function was lowered for.
void check_lowered_for(tree::Node want, tree::Node got, std::size_t number);
/// Throws, naming the input, unless the types are those of the Program's first inputs.
void check_inputs(const Program&, const Arrays& in, std::size_t captures);
}  // namespace fx

/// A function compiled for arguments of these types. Calls run it without looking anything up, under grad, vmap and jit
/// as the Program that it is. Throws ShapeError or ValueError for arguments of another structure, type or static.
template <class R, class... A> class Compiled {
 public:
  Compiled(Staged s, R result, std::tuple<A...> arguments)
      : run_(std::move(s)), result_(std::move(result)), arguments_(std::move(arguments)), key_(key_of(arguments_)) {}
  R operator()(const A&... a) const {
    std::tuple<const A&...> given{a...};
    if (!(key_of(given) == key_)) mismatch(given, std::index_sequence_for<A...>{});
    return tree::unflatten(result_, run_(fx::pack(a...)));
  }
  RunCost cost() const { return run_.cost(); }
  MemoryUse memory() const { return run_.memory(); }
  /// The scheduled loops, kernels and collectives.
  std::string text() const { return run_.text(); }
 private:
  template <class... B> static tree::Key key_of(const std::tuple<B...>& t) {
    tree::Key k;
    std::apply([&](const auto&... a) { (tree::append_key(tree::node(a), k), ...); }, t);
    return k;
  }
  template <class G, std::size_t... I> void mismatch(const G& given, std::index_sequence<I...>) const {
    (fx::check_lowered_for(tree::node(std::get<I>(arguments_)), tree::node(std::get<I>(given)), I), ...);
    fail<ValueError>("a compiled function is called with another number, text or other static than it was lowered for");
  }
  fx::CompiledFlat run_;
  R result_;
  std::tuple<A...> arguments_;
  tree::Key key_;
};
/// A function staged for arguments of these types. The values that it closes over belong to it.
template <class R, class... A> class Lowered {
 public:
  Lowered(Staged s, R result, std::tuple<A...> arguments)
      : staged_(std::move(s)), result_(std::move(result)), arguments_(std::move(arguments)) {}
  /// Its Program, one operation a line.
  std::string text() const { return print(*staged_.program); }
  const ProgramPtr& program() const { return staged_.program; }
  Compiled<R, A...> compile() const { return {staged_, result_, arguments_}; }
  /// Writes it to a file for load_function. Throws IoError, and ValueError for functions with callbacks or custom_op.
  void save(const std::string& path) const { write_program(path, staged_); }
 private:
  Staged staged_;
  R result_;
  std::tuple<A...> arguments_;
};
/// f staged for arguments like these, of which only structure, shapes, dtypes and statics matter (eval_shape's results
/// do). Source: jax.jit(f).lower.
template <class F, class... A> auto lower(const F& f, const A&... like) {
  constexpr bool numbers = fx::takes_arrays<F, A...>;
  static_assert(numbers || fx::Callable<F, A...>,
                "lower: f cannot be called with these arguments; it takes them by value or const&");
  fx::check_trees<A...>();
  if constexpr (numbers) return lower(f, fx::arrays(like)...);
  else if constexpr (fx::are_trees<A...> && fx::Callable<F, A...>) {
    using R = fx::result_t<F, A...>;
    static_assert(tree::Tree<R>, "lower: f must return a tree: Arrays, or structs and containers of them");
    std::optional<R> out;
    auto s = stage(fx::flat_fn<R>(f, out, like...), types_of(fx::pack(like...)), fx::labels_of(like...));
    return Lowered<R, A...>(std::move(s), fx::abstract(std::move(*out)), std::tuple<A...>{fx::abstract(like)...});
  }
}

/// A function from a file. It takes the leaves of its arguments, as Arrays or trees, and gives the leaves of its
/// result; grad, vmap and jit apply to it.
class LoadedFunction {
 public:
  explicit LoadedFunction(Staged s) : staged_(std::move(s)) {}
  /// Throws ShapeError for other leaves than those it was lowered for.
  template <class... A> Arrays operator()(const A&... a) const { return run(fx::pack(a...)); }
  /// The same result as a tree like this one (eval_shape's).
  template <class R, class... A> R as(const R& like, const A&... a) const {
    return tree::unflatten(like, run(fx::pack(a...)));
  }
  std::string text() const { return print(*staged_.program); }
  const ProgramPtr& program() const { return staged_.program; }
 private:
  Arrays run(Arrays leaves) const;
  Staged staged_;
};
/// The function that Lowered::save wrote. Throws IoError for a file that is damaged or of a later version.
LoadedFunction load_function(const std::string& path);
}  // namespace bora
