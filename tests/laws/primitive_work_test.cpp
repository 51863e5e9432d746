// The law of work over all primitives: where one input is split along one of its dimensions, or a result is wanted so,
// a rank does its share of the work, holds its share of the temporaries and is sent no more than what must travel.
// Nothing runs: the ranks are abstract, and samples are enlarged until a share can be told from a whole.
#include <cstdio>
#include <set>
#include "bora/ops/sharding.h"
#include "laws/work.h"

namespace bora::laws::primitive_work_test {
namespace {
/// A primitive on operands of these types. mapped: under a vmap along dimension 0 of all operands and results.
struct Sample {
  std::string name, label;
  FlatFn f;
  Types in, out;
  bool mapped = false;
};
Types results(const FlatFn& f, const Types& in) { return stage(f, in).program->out_types(); }
/// The sample with every dimension several times as long, if its parameters allow that.
std::optional<Sample> enlarged(const PrimitiveSample& s) {
  std::size_t most = 0;
  for (auto& a : s.in) most = std::max(most, static_cast<std::size_t>(a.ndim()));
  Types in;
  for (auto& a : s.in) {
    auto t = a.type();
    for (std::size_t d = 0; d < t.shape.size(); ++d) t.shape[d] *= most > 2 ? 6 : 12;
    in.push_back(t);
  }
  FlatFn f = [p = s.primitive](const Arrays& x) { return call(p, x); };
  try {
    return Sample{std::string(s.primitive->name()), s.primitive->params(), f, in, results(f, in)};
  } catch (const Error&) { return none; }
}
/// The sample under a vmap of so many lanes that its work shows.
Sample mapped(const PrimitiveSample& s) {
  auto work = s.primitive->cost(types_of(s.in), s.primitive->infer(types_of(s.in))).flops;
  std::int64_t elements = 1;
  for (auto& a : s.in) elements = std::max(elements, a.size());
  auto lanes = 26 + static_cast<std::int64_t>(40000 / std::max(work, static_cast<double>(elements)));
  Types in;
  for (auto& a : s.in) {
    in.push_back(a.type());
    in.back().shape.insert(0, lanes);
  }
  FlatFn f = [p = s.primitive, n = s.in.size()](const Arrays& x) {
    std::vector<std::optional<std::int64_t>> zeros(n, 0);
    return fx::vmap_flat([&](const Arrays& row) { return call(p, row); }, x, {zeros, {0}});
  };
  return {std::string(s.primitive->name()), "vmap " + s.primitive->params(), f, in, results(f, in), true};
}
std::vector<Sample> samples_of(const RegistryEntry& e) {
  std::vector<Sample> r;
  for (auto& s : e.samples()) {
    bool empty = s.in.empty() || s.primitive->traits.collective;
    for (auto& a : s.in) empty = empty || a.size() == 0;
    if (empty) continue;
    if (auto big = enlarged(s)) r.push_back(*big);
    r.push_back(mapped(s));
  }
  return r;
}
/// Which dimension is split: of operand or result k, dimension d.
struct Place {
  bool result;
  std::size_t k, d;
  std::string text() const {
    return (result ? "out" : "in") + std::to_string(k) + "." + std::to_string(d);
  }
};
std::vector<Place> places(const Sample& s) {
  std::vector<Place> r;
  auto add = [&](bool result, const Types& types) {
    for (std::size_t k = 0; k < types.size(); ++k)
      for (std::size_t d = 0; d < types[k].shape.size(); ++d)
        if (types[k].shape[d] > 1) r.push_back({result, k, d});
  };
  add(false, s.in);
  add(true, s.out);
  return r;
}
/// The last rank has a largest block.
Work split_work(const Sample& s, const Place& at, const std::vector<MeshAxis>& axes) {
  auto all = names_of(axes);
  auto mesh = last_of(axes);
  UseMesh on(mesh);
  Arrays in;
  for (std::size_t k = 0; k < s.in.size(); ++k) {
    auto spec = Spec::replicated(s.in[k].shape.size());
    if (!at.result && (at.k == k || (s.mapped && at.d == 0))) spec[at.d] = all;  // lanes of all operands at once
    in.push_back(with_sharding_constraint(any_of(s.in[k]), spec));
  }
  FlatFn f = [&](const Arrays& x) {
    auto y = s.f(x);
    if (!at.result) return y;
    auto spec = Spec::replicated(s.out[at.k].shape.size());
    spec[at.d] = all;
    return Arrays{with_sharding_constraint(y[at.k], spec)};
  };
  auto staged = stage(f, types_of(in));
  return work_of(fx::local_program(staged.program, joined(in, staged.captures)));
}
/// Primitives that break the law, and why they do so for now. Each must be needed. where: "own", a dimension of an
/// operand; "out", one of a result; "mapped", that of a vmap.
struct Exception {
  std::string_view what, where;  // what: flops, bytes or temporaries
  std::vector<std::string_view> names;
};
struct Reason {
  std::string_view why;
  std::vector<Exception> exceptions;
};
const std::vector<Reason>& reasons() {
  static const std::vector<Reason> all{
      {"a matrix is one problem: every rank that has it repeats the factorization", {
          {"flops", "out", {"cholesky", "eig", "eigh", "hessenberg", "lu", "pinv", "qr", "qr_raw", "schur",
           "solve", "solve_sylvester", "sqrtm", "svd", "triangular_solve"}},
          {"flops", "own", {"eig", "hessenberg", "qr", "schur", "sqrtm", "svd"}},
          {"temporaries", "out", {"cholesky", "eig", "eigh", "hessenberg", "lu", "pinv", "qr", "qr_raw", "schur",
           "solve_sylvester", "sqrtm", "svd"}},
          {"temporaries", "own", {"cholesky", "eig", "eigh", "hessenberg", "lu", "pinv", "qr", "qr_raw", "schur",
           "solve", "sqrtm", "svd", "triangular_solve"}},
      }},
      {"along a row that is one problem (sort, transform, running sum) or windows that overlap: the dimension is "
       "gathered, and a wish for its split is not carried back", {
          {"bytes", "own", {"top_k", "conv", "conv_filter"}},
          {"flops", "out", {"argsort", "sort", "top_k", "fft", "cumsum", "running", "conv", "conv_filter"}},
          {"flops", "own", {"cumsum", "running", "conv", "conv_filter"}},
          {"temporaries", "own", {"fft", "cumsum", "conv", "conv_filter"}},
          {"temporaries", "out", {"argsort", "sort", "top_k", "fft", "cumsum", "running", "conv"}},
      }},
      {"rows that move are placed first and sliced then: a wish for their split is not carried back", {
          {"bytes", "own", {"dynamic_slice"}},
          {"flops", "out", {"rev", "scatter", "dynamic_slice", "dynamic_update_slice"}},
          {"flops", "own", {"scatter", "dynamic_slice", "dynamic_update_slice"}},
          {"temporaries", "mapped", {"rounded_sum", "terms_of_sum"}},
          {"temporaries", "out", {"concatenate", "pad", "rev", "dynamic_update_slice", "rounded_sum", "terms_of_sum"}},
          {"temporaries", "own", {"concatenate", "pad", "dynamic_slice", "dynamic_update_slice"}},
      }},
      {"positions are compared with a block's bounds and masked, several operations where one rank counts one", {
          {"bytes", "own", {"arg_reduce"}},
          {"flops", "own", {"arg_reduce", "searchsorted", "take"}},
          {"temporaries", "own", {"arg_reduce", "take"}},
      }},
      {"keys, the sizes of heads and queries whose numbers count are needed whole", {
          {"flops", "out", {"attention", "attention_grad", "paged_attention"}},
          {"flops", "own", {"attention", "attention_grad"}},
          {"temporaries", "out", {"attention", "attention_grad", "write_pages"}},
          {"temporaries", "own", {"attention", "attention_grad"}},
      }},
      {"integers share scales and stand in tiles: blocks are whole tiles and groups, or the whole", {
          {"bytes", "mapped", {"quantized_take"}},
          {"bytes", "out", {"quantize", "quantized_dot", "quantized_take"}},
          {"bytes", "own", {"quantize"}},
          {"flops", "mapped", {"quantized_take"}},
          {"flops", "out", {"dequantize", "quantize", "quantized_dot", "quantized_take"}},
          {"flops", "own", {"quantize", "quantized_dot", "quantized_take"}},
          {"temporaries", "mapped", {"quantized_take"}},
          {"temporaries", "out", {"dequantize", "quantize", "quantized_dot", "quantized_take"}},
          {"temporaries", "own", {"quantize", "quantized_dot", "quantized_take"}},
      }},
      {"which rows belong together is data", {
          {"flops", "out", {"ragged_dot", "ragged_outer"}},
          {"flops", "own", {"ragged_dot", "ragged_outer"}},
          {"temporaries", "out", {"ragged_dot", "ragged_outer"}},
      }},
      {"host functions see all of their operands, lanes one after the other", {
          {"bytes", "mapped", {"custom_op", "custom_op_closed", "debug_callback", "io_callback", "pure_callback"}},
          {"flops", "mapped", {"custom_op", "custom_op_closed", "debug_callback", "io_callback", "pure_callback"}},
          {"flops", "out", {"custom_op", "custom_op_closed", "debug_callback", "io_callback", "pure_callback"}},
          {"flops", "own", {"custom_op", "custom_op_closed", "debug_callback", "io_callback", "pure_callback"}},
          {"temporaries", "mapped", {"custom_op", "custom_op_closed", "debug_callback", "io_callback",
                                     "pure_callback"}},
          {"bytes", "out", {"io_callback"}},
          {"bytes", "own", {"io_callback", "pure_callback"}},
          {"temporaries", "own", {"io_callback", "pure_callback"}},
          {"temporaries", "out", {"custom_op", "custom_op_closed", "debug_callback", "pure_callback"}},
      }},
      {"no collective multiplies", {
          {"bytes", "own", {"reduce"}},
          {"flops", "own", {"reduce"}},
          {"temporaries", "own", {"reduce"}},
      }},
      {"they move by their meaning", {
          {"bytes", "mapped", {"reshard", "reshard_parameter"}},
          {"bytes", "out", {"reshard", "reshard_parameter"}},
          {"temporaries", "mapped", {"reshard", "reshard_parameter"}},
          {"temporaries", "out", {"reshard", "reshard_parameter"}},
          {"temporaries", "own", {"reshard", "reshard_parameter"}},
      }},
      {"a wish for a part of what a body carries is not carried back, and lanes of a loop end together", {
          {"flops", "mapped", {"scan", "while_loop"}},
          {"temporaries", "mapped", {"scan"}},
          {"flops", "out", {"cond", "scan", "while_loop"}},
          {"flops", "own", {"call", "cond", "scan", "while_loop"}},
          {"temporaries", "out", {"scan"}},
      }},
      {"draws by rejection, and keys, are made whole where only their results are wanted split", {
          {"flops", "mapped", {"counts", "gamma"}},
          {"temporaries", "mapped", {"counts", "gamma"}},
          {"flops", "out", {"counts", "gamma", "split_keys"}},
          {"temporaries", "out", {"split_keys"}},
      }},
  };
  return all;
}
struct Broken {
  std::string what, where, text;
};
/// How a split breaks the law.
std::vector<Broken> broken(const Sample& s, const Work& one, const Place& at, const std::vector<MeshAxis>& mesh) {
  auto n = (at.result ? s.out : s.in)[at.k].shape[at.d];
  auto share = largest_share(n, mesh);
  auto mine = split_work(s, at, mesh);
  bool lanes = s.mapped && at.d == 0;
  // A result that is wanted split is cut out of what every rank has, and lanes do not meet. Else a rank is sent its
  // operand's block once, and the results as an all_reduce sends them.
  auto own = bytes_of(at.result ? Types{s.out[at.k]} : Types{s.in[at.k]}) * share;
  auto bound = at.result || lanes ? 0 : own + 2 * bytes_of(s.out);
  std::vector<Broken> r;
  auto check = [&](const char* what, double got, double limit, double of) {
    if (got <= limit) return;
    std::ostringstream o;
    for (auto& t : s.in) o << " " << to_string(t);
    o << ", " << at.text() << " on " << bora::laws::name(mesh) << ": " << got << " " << what << " of " << of
      << ", at most " << limit << "; sent by" << mine.sent;
    r.push_back({what, lanes ? "mapped" : at.result ? "out" : "own", o.str()});
  };
  check("bytes", mine.received, bound, bytes_of(s.in));
  check("flops", mine.flops, most_of(share, one.flops), one.flops);
  // Beside its share a rank holds blocks that it cuts out of whole operands, results that nobody asks for, and what it
  // sends and is sent.
  auto held = one.temporaries + bytes_of(s.in) + (at.result ? bytes_of(s.out) : 0);
  check("temporaries", mine.temporaries, most_of(share, held) + 2 * mine.received, one.temporaries);
  return r;
}
using Seen = std::set<std::pair<const Exception*, std::string_view>>;
/// Whether the list has it; notes that it is needed.
bool excepted(const Sample& s, const Broken& b, Seen& used) {
  for (auto& r : reasons())
    for (auto& e : r.exceptions)
      for (auto& name : e.names)
        if (e.what == b.what && e.where == b.where && name == s.name) {
          used.insert({&e, name});
          return true;
        }
  return false;
}
void each_split(const RegistryEntry& e, const std::function<void(const Sample&, const Work&, const Place&,
                                                                 const std::vector<MeshAxis>&)>& f) {
  for (auto& s : samples_of(e)) {
    auto one = work_of(stage(s.f, s.in).program);
    for (auto& at : places(s))
      for (auto& mesh : abstract_meshes()) f(s, one, at, mesh);
  }
}
TEST(PrimitiveWork, IsSplit) {
  Seen used;
  std::size_t turn = 0, tried = 0, over = 0;
  for (auto& e : registry())
    each_split(e, [&](auto& s, auto& one, auto& at, auto& mesh) {
      if (!laws::tried(turn++, 37)) return;
      ++tried;
      for (auto& b : broken(s, one, at, mesh))
        if (excepted(s, b, used)) ++over;
        else ADD_FAILURE() << s.name << " | " << b.what << " | " << b.where << " | " << s.label << b.text;
    });
  auto needed = [&](const Exception& x, std::string_view name) {
    for (auto& e : registry())
      if (e.name == name && !used.count({&x, name}))
        each_split(e, [&](auto& s, auto& one, auto& at, auto& mesh) {
          auto where = s.mapped && at.d == 0 ? "mapped" : at.result ? "out" : "own";
          if (used.count({&x, name}) || x.where != where) return;
          for (auto& b : broken(s, one, at, mesh)) (void)excepted(s, b, used);
        });
    return used.count({&x, name}) > 0;
  };
  std::printf("%zu splits, %zu of them excepted\n", tried, over);
  if (effort() != Effort::full) return;
  for (auto& r : reasons())
    for (auto& x : r.exceptions)
      for (auto& name : x.names)
        EXPECT_TRUE(needed(x, name)) << name << ": the exception (" << x.what << ", " << x.where
                                     << ") is no longer needed: " << r.why;
}
}  // namespace
}  // namespace bora::laws::primitive_work_test
