// A pending sum's terms, and sums that are rounded once.
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/ops/sharding.h"
#include <cstring>
#include "bora/array/communicator.h"
#include "bora/base/error.h"
#include "ops/api/support.h"
#include "bora/array/primitive.h"
#include "ops/api/primitives.h"

namespace bora {
namespace ops {
namespace {
/// Each rank keeps its term where it is: it has one row of as many as there are ranks.
void check_terms(const MeshShape& mesh, const MeshAxes& over) {
  auto n = mesh.parts(over);
  check<ShardError>(mesh.cuts_evenly(n, over), "terms_of_sum: each rank has one of ", n, " terms, but by the shares ",
                    "of mesh ", to_string(mesh), " an array of ", n, " rows over ", to_string(over),
                    " has other blocks; take mesh axes without shares");
}
/// Programs are global, so the number of parts is a parameter; which rank has which term is Shard's to know.
struct TermsOfSum {
  std::int64_t parts = 1;
  MeshAxes over = {};
  std::int64_t dim = 0;  // where they stand
  static constexpr std::string_view name = "terms_of_sum";
  static constexpr bool enters_shard = true, moves = true, linear = true;
  Type infer(const Types& in) const {
    auto shape = in[0].shape;
    shape.insert(static_cast<std::size_t>(dim), parts);
    return {shape, in[0].dtype};
  }
  /// A complete value is the first term, the others are 0.
  void eval(InputViews in, OutputViews out) const {
    std::size_t outer = 1;
    for (std::size_t d = 0; d < static_cast<std::size_t>(dim); ++d)
      outer *= static_cast<std::size_t>(in[0].type.shape[d]);
    auto all = static_cast<std::size_t>(out[0].type.nbytes());
    std::memset(out[0].data, 0, all);
    if (all == 0) return;
    auto row = in[0].type.nbytes() / outer;
    for (std::size_t i = 0; i < outer; ++i)
      std::memcpy(out[0].as<std::byte>() + i * row * static_cast<std::size_t>(parts), in[0].as<std::byte>() + i * row,
                  row);
  }
  Array vjp(const Vjp& v) const { return index_in_dim(v.ct[0], dim, 0); }
  TermsOfSum lift(std::int64_t) const { return {parts, over, dim + 1}; }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto n = s.mesh().parts(over);
    check<ShardError>(n == 1 || n == parts, name, ": ", parts, " terms, but the mesh axes ", to_string(over), " have ",
                      n, " parts");
    check_terms(s.mesh(), over);
    for (auto& a : over)
      check<ShardError>(!in[0].spec.uses(a), name, ": ", describe(in[0]), " is split over the mesh axis ", a.str(),
                        ", so its ranks have no terms of all of it");
    auto x = s.reshard(in[0], in[0].spec, over);
    MeshAxes lacking;
    for (auto& a : over)
      if (!x.partial.has(a)) lacking.push_back(a);
    if (!lacking.empty()) x = s.to_partial(x, lacking);
    auto at = static_cast<std::size_t>(dim);
    Sharded y{.local = {}, .type = infer({x.type}), .spec = x.spec};
    y.spec.insert(at, over);
    if (n == 1 && parts > 1) y.local = call_one(*this, {x.local});
    else y.local = expand_dims(x.local, dim);
    return {y};
  }
  static SamplesOf<TermsOfSum> samples() {
    return {{{3, {}, 0}, {random_values({3, 2}, -1, 1, 1)}}, {{1, {}, 1}, {random_values({4, 3}, -1, 1, 2)}}};
  }
};
/// A cast that rounds each rank's term of a pending sum, which stays pending.
struct RoundedSum {
  Dtype dtype = f32;
  static constexpr std::string_view name = "rounded_sum";
  static constexpr bool moves = true, keeps_scope = true;
  static constexpr auto loop = LoopRole::cast;
  Type infer(const Types& in) const {
    check<DtypeError>(is_float(in[0].dtype) && is_float(dtype), name, ": ", in[0], " as ", dtype,
                      "; both must be floating-point dtypes");
    return {in[0].shape, dtype};
  }
  void eval(InputViews in, OutputViews out) const { Cast{dtype}.eval(in, out); }
  Array vjp(const Vjp& v) const { return v.ct[0].astype(v.in[0].dtype()); }
  RoundedSum lift(std::int64_t) const { return *this; }
  std::vector<Sharded> shard(const std::vector<Sharded>& in, ShardRules& s) const {
    auto y = s.reshard(in[0], in[0].spec, in[0].partial);
    y.local = y.local.astype(dtype);
    y.type.dtype = dtype;
    return {y};
  }
  static SamplesOf<RoundedSum> samples() { return {{{f64}, {random_values({3, 2}, -1, 1, 1)}}}; }
};
}  // namespace
}  // namespace ops

Array rounded_sum(const Array& x, Dtype dtype) {
  bool exact = dtype_size(dtype) > dtype_size(x.dtype());  // a cast does not complete a pending sum then
  if (!here().mesh || x.dtype() == dtype || exact) return x.astype(dtype);
  return call_one(ops::RoundedSum{dtype}, {x});
}
Array terms_of_sum(const Array& x, const MeshAxes& over) {
  auto* mesh = here().mesh;
  if (mesh) ops::check_terms(*mesh, over);
  return call_one(ops::TermsOfSum{mesh ? mesh->parts(over) : 1, mesh ? over : MeshAxes{}, 0}, {x});
}
}  // namespace bora
