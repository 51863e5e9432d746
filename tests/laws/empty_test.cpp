// Laws of nothing: every public function of arrays on a dimension of size 0 gives what JAX gives, or throws an error.
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <set>
#include <sstream>
#include "bora/ops/calculus.h"
#include "bora/ops/contractions.h"
#include "laws/accuracy_table.h"
#include "support/places.h"
#include "support/throws.h"
namespace bora::laws::empty_test {
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
Array none_of(const Shape& s, Dtype d = f64) { return zeros(s, d); }
Array kv() { return ones({3, 1, 32, 32}, f64); }
PagedTokens none_in() { return {none_of({0}, i32), none_of({0}, i32), none_of({0}, i32)}; }
struct Case {
  std::string what;  // the function's name first
  std::function<Array(const Array&)> f;
  Shape in;
  std::optional<Array> want = {};  // nothing: it throws
  std::string message = {};        // a part of what is thrown
};
/// f of an empty array is this.
Case gives(std::string what, Shape in, std::function<Array(const Array&)> f, const Array& want) {
  return {std::move(what), std::move(f), std::move(in), want, {}};
}
Case throws(std::string what, Shape in, std::function<Array(const Array&)> f, std::string message) {
  return {std::move(what), std::move(f), std::move(in), {}, std::move(message)};
}
#define BORA_F(...) [](const Array& x) -> Array { return __VA_ARGS__; }
std::vector<Case> reductions() {
  std::vector<Case> r{
      gives("softmax", {3, 0}, BORA_F(softmax(x)), none_of({3, 0})),
      gives("softmax of no rows", {0, 3}, BORA_F(softmax(x)), none_of({0, 3})),
      gives("softmax of all", {3, 0}, BORA_F(softmax(x, none)), none_of({3, 0})),
      gives("softmax of both", {0, 0}, BORA_F(softmax(x, {0, 1})), none_of({0, 0})),
      gives("log_softmax", {3, 0}, BORA_F(log_softmax(x)), none_of({3, 0})),
      gives("log_softmax of no rows", {0, 3}, BORA_F(log_softmax(x)), none_of({0, 3})),
      gives("log_softmax of a vector", {0}, BORA_F(log_softmax(x)), none_of({0})),
      gives("logsumexp", {2, 0}, BORA_F(logsumexp(x, 1)), array({-kInf, -kInf}, f64)),
      gives("logsumexp of all", {0, 2}, BORA_F(logsumexp(x)), array(-kInf, f64)),
      gives("logsumexp of no rows", {0, 2}, BORA_F(logsumexp(x, -1)), none_of({0})),
      gives("sum", {2, 0}, BORA_F(sum(x, 1)), zeros({2}, f64)),
      gives("prod", {2, 0}, BORA_F(prod(x, 1)), ones({2}, f64)),
      gives("mean", {2, 0}, BORA_F(mean(x, 1)), full({2}, kNan, f64)),
      gives("mean of all", {0}, BORA_F(mean(x)), array(kNan, f64)),
      gives("mean of no rows", {0, 2}, BORA_F(mean(x, 1)), none_of({0})),
      gives("var", {2, 0}, BORA_F(var(x, 1)), full({2}, kNan, f64)),
      gives("stddev", {2, 0}, BORA_F(stddev(x, 1)), full({2}, kNan, f64)),
      gives("all", {2, 0}, BORA_F(all(x, 1)), ones({2}, boolean)),
      gives("any", {2, 0}, BORA_F(any(x, 1)), zeros({2}, boolean)),
      gives("amax of no rows", {0, 2}, BORA_F(amax(x, 1)), none_of({0})),
      throws("amax", {2, 0}, BORA_F(amax(x, 1)), "amax: dimension 1 of [2, 0] is empty"),
      throws("amin", {0, 2}, BORA_F(amin(x)), "amin: dimension 0 of [0, 2] is empty"),
      throws("argmax", {2, 0}, BORA_F(argmax(x)), "argmax: dimension 1 of [2, 0] is empty"),
      throws("argmin", {0}, BORA_F(argmin(x)), "argmin: dimension 0 of [0] is empty"),
      gives("argmax of no rows", {0, 2}, BORA_F(argmax(x)), none_of({0}, i32)),
      gives("cumsum", {2, 0}, BORA_F(cumsum(x, 1)), none_of({2, 0})),
      gives("cumsum of no rows", {0, 2}, BORA_F(cumsum(x, 1)), none_of({0, 2})),
      gives("reverse_cumsum", {2, 0}, BORA_F(reverse_cumsum(x, 1)), none_of({2, 0})),
      gives("sort", {2, 0}, BORA_F(sort(x)), none_of({2, 0})),
      gives("sort of no rows", {0, 2}, BORA_F(sort(x)), none_of({0, 2})),
      gives("argsort", {2, 0}, BORA_F(argsort(x)), none_of({2, 0}, i32)),
      gives("searchsorted", {0}, BORA_F(searchsorted(x, ones({2}, f64))), zeros({2}, i32)),
      gives("searchsorted of nothing", {0}, BORA_F(searchsorted(ones({2}, f64), x)), none_of({0}, i32)),
      gives("top_k", {2, 0}, BORA_F(top_k(x, 0).values), none_of({2, 0})),
      throws("top_k of more", {2, 0}, BORA_F(top_k(x, 1).values), "top_k"),
      gives("layer_norm", {2, 0}, BORA_F(layer_norm(x)), none_of({2, 0})),
      gives("layer_norm of no rows", {0, 2}, BORA_F(layer_norm(x, ones({2}), zeros({2}))), none_of({0, 2})),
      gives("rms_norm", {2, 0}, BORA_F(rms_norm(x)), none_of({2, 0})),
      gives("rms_norm of no rows", {0, 2}, BORA_F(rms_norm(x, ones({2}))), none_of({0, 2})),
      gives("cross_entropy", {0, 3}, BORA_F(cross_entropy(x, zeros({0}, i32))), none_of({0})),
      gives("cross_entropy of no classes", {2, 0}, BORA_F(cross_entropy(x, zeros({2}, i32))), full({2}, kNan, f64)),
      gives("attention of no batch", {0, 2, 1, 4}, BORA_F(attention(x, x, x)), none_of({0, 2, 1, 4})),
      gives("attention of no queries", {0, 1, 4}, BORA_F(attention(x, ones({3, 1, 4}, f64), ones({3, 1, 4}, f64))),
            none_of({0, 1, 4})),
      gives("paged_attention", {0, 2, 32}, BORA_F(paged_attention(stop_gradient(x), kv(), kv(), none_in())),
            none_of({0, 2, 32})),
      gives("write_key_pages", {0, 1, 32}, BORA_F(write_key_pages(kv(), stop_gradient(x), none_in().first)), kv()),
      gives("write_value_pages", {0, 1, 32}, BORA_F(write_value_pages(kv(), stop_gradient(x), none_in().first)), kv()),
      gives("attention of no keys", {0, 1, 4}, BORA_F(attention(ones({3, 1, 4}, f64), x, x)), zeros({3, 1, 4}, f64)),
  };
  return r;
}
std::vector<Case> products() {
  return {
      gives("matmul", {2, 0}, BORA_F(matmul(x, transpose(x))), zeros({2, 2}, f64)),
      gives("matmul to nothing", {0, 3}, BORA_F(matmul(x, ones({3, 2}, f64))), none_of({0, 2})),
      gives("matmul of vectors", {0}, BORA_F(matmul(x, x)), array(0., f64)),
      gives("matmul of no batch", {0, 2, 3}, BORA_F(matmul(x, transpose(x, {0, 2, 1}))), none_of({0, 2, 2})),
      gives("dot", {0}, BORA_F(dot(x, x)), array(0., f64)),
      gives("outer", {0}, BORA_F(outer(x, ones({3}, f64))), none_of({0, 3})),
      gives("tensordot", {2, 0}, BORA_F(tensordot(x, x, 2)), array(0., f64)),
      gives("dot_general", {2, 0}, BORA_F(dot_general(x, x, {.contract_a = {1}, .contract_b = {1}})),
            zeros({2, 2}, f64)),
      gives("einsum_flat", {2, 0}, BORA_F(einsum_flat("ij,kj->ik", {x, x})), zeros({2, 2}, f64)),
      gives("einsum of one", {2, 0}, BORA_F(einsum("ij->i", x)), zeros({2}, f64)),
      gives("einsum of three", {2, 0}, BORA_F(einsum("ij,kj,k->i", x, x, ones({2}, f64))), zeros({2}, f64)),
      gives("cholesky", {0, 0}, BORA_F(linalg::cholesky(x)), none_of({0, 0})),
      gives("cholesky of no batch", {0, 2, 2}, BORA_F(linalg::cholesky(x)), none_of({0, 2, 2})),
      gives("triangular_solve", {0, 3}, BORA_F(linalg::triangular_solve(zeros({0, 0}, f64), x)), none_of({0, 3})),
      gives("solve", {0, 3}, BORA_F(linalg::solve(zeros({0, 0}, f64), x)), none_of({0, 3})),
      gives("solve for no columns", {2, 0}, BORA_F(linalg::solve(eye(2, f64), x)), none_of({2, 0})),
      gives("qr", {0, 2}, BORA_F(linalg::qr(x).r), none_of({0, 2})),
      gives("svd", {2, 0}, BORA_F(linalg::svd(x).s), none_of({0})),
      gives("eigh", {0, 0}, BORA_F(linalg::eigh(x).values), none_of({0})),
  };
}
std::vector<Case> shapes() {
  return {
      gives("broadcast_in_dim", {0}, BORA_F(broadcast_in_dim(x, {2, 0}, {1})), none_of({2, 0})),
      gives("broadcast_to", {1, 0}, BORA_F(broadcast_to(x, {3, 0})), none_of({3, 0})),
      gives("broadcast_to nothing", {1}, BORA_F(broadcast_to(x, {0})), none_of({0})),
      gives("reshape", {2, 0}, BORA_F(reshape(x, {0, 5})), none_of({0, 5})),
      throws("reshape of -1", {2, 0}, BORA_F(reshape(x, {0, -1})), "reshape"),
      gives("transpose", {2, 0, 3}, BORA_F(transpose(x)), none_of({3, 0, 2})),
      gives("swapaxes", {2, 0}, BORA_F(swapaxes(x, 0, 1)), none_of({0, 2})),
      gives("moveaxis", {2, 0}, BORA_F(moveaxis(x, 0, 1)), none_of({0, 2})),
      gives("expand_dims", {0}, BORA_F(expand_dims(x, 0)), none_of({1, 0})),
      gives("squeeze", {1, 0}, BORA_F(squeeze(x)), none_of({0})),
      throws("squeeze of nothing", {1, 0}, BORA_F(squeeze(x, 1)), "squeeze"),
      gives("ravel", {2, 0}, BORA_F(ravel(x)), none_of({0})),
      gives("flip", {2, 0}, BORA_F(flip(x)), none_of({2, 0})),
      gives("tile", {2, 0}, BORA_F(tile(x, {2, 3})), none_of({4, 0})),
      gives("tile to nothing", {2}, BORA_F(tile(x, {0})), none_of({0})),
      gives("repeat", {2, 0}, BORA_F(repeat(x, 2, 1)), none_of({2, 0})),
      gives("repeat to nothing", {2}, BORA_F(repeat(x, 0, 0)), none_of({0})),
      gives("roll", {2, 0}, BORA_F(roll(x, 1, 1)), none_of({2, 0})),
      gives("slice", {2, 0}, BORA_F(slice(x, {0, 0}, {1, 0})), none_of({1, 0})),
      gives("slice_in_dim", {2, 0}, BORA_F(slice_in_dim(x, 0, 1, 1)), none_of({0, 0})),
      throws("index_in_dim", {2, 0}, BORA_F(index_in_dim(x, 1, 0)), "index 0 is outside of dimension 1 of [2, 0]"),
      gives("pad", {0}, BORA_F(pad(x, {1}, {1}, 7)), full({2}, 7, f64)),
      gives("concatenate", {2, 0}, BORA_F(concatenate({x, ones({2, 1}, f64), x}, 1)), ones({2, 1}, f64)),
      gives("concatenate of nothing", {0}, BORA_F(concatenate({x, x})), none_of({0})),
      gives("stack", {0}, BORA_F(stack({x, x})), none_of({2, 0})),
      gives("split", {0}, BORA_F(split(x, 2)[1]), none_of({0})),
      gives("iota", {0}, BORA_F(iota(x.shape(), 0)), none_of({0}, i32)),
      gives("take nothing", {3, 2}, BORA_F(take(x, zeros({0}, i32))), none_of({0, 2})),
      gives("take of nothing", {0, 2}, BORA_F(take(x, zeros({3}, i32))), full({3, 2}, kNan, f64)),
      gives("take_along_axis", {2, 0}, BORA_F(take_along_axis(x, zeros({2, 0}, i32), 1)), none_of({2, 0})),
      gives("scatter_add", {0, 2}, BORA_F(scatter_add(ones({3, 2}, f64), zeros({0}, i32), x)), ones({3, 2}, f64)),
      gives("scatter_set", {0, 2}, BORA_F(scatter_set(ones({3, 2}, f64), zeros({0}, i32), x)), ones({3, 2}, f64)),
      gives("scatter_set into nothing", {0}, BORA_F(scatter_set(x, zeros({2}, i32), ones({2}, f64))), none_of({0})),
      gives("scatter_multiply", {0}, BORA_F(scatter_multiply(ones({3}, f64), zeros({0}, i32), x)), ones({3}, f64)),
      gives("scatter_min", {0}, BORA_F(scatter_min(ones({3}, f64), zeros({0}, i32), x)), ones({3}, f64)),
      gives("scatter_max", {0}, BORA_F(scatter_max(ones({3}, f64), zeros({0}, i32), x)), ones({3}, f64)),
      gives("dynamic_slice", {3, 0}, BORA_F(dynamic_slice(x, {array(1), array(0)}, {2, 0})), none_of({2, 0})),
      gives("dynamic_update_slice", {0}, BORA_F(dynamic_update_slice(ones({3}, f64), x, {array(1)})), ones({3}, f64)),
      throws("dynamic_index_in_dim", {0}, BORA_F(dynamic_index_in_dim(x, array(0))), "dynamic_"),
      gives("zeros", {0}, BORA_F(zeros(x.shape(), f64)), none_of({0})),
      gives("ones", {0}, BORA_F(ones(x.shape(), f64)), none_of({0})),
      gives("full", {0}, BORA_F(full(x.shape(), 3, f64)), none_of({0})),
      gives("full_like", {0}, BORA_F(full_like(x, 3)), none_of({0})),
      gives("zeros_like", {0}, BORA_F(zeros_like(x)), none_of({0})),
      gives("ones_like", {0}, BORA_F(ones_like(x)), none_of({0})),
      gives("full_of", {0}, BORA_F(full_of(x.type(), 3)), none_of({0})),
      gives("select", {0}, BORA_F(select(x > 0, x, x)), none_of({0})),
      gives("linspace", {0}, BORA_F(linspace(0, 1, x.shape(0), f64)), none_of({0})),
      gives("eye", {0}, BORA_F(eye(x.shape(0), f64)), none_of({0, 0})),
      gives("tri", {0}, BORA_F(tri(x.shape(0), 2, 0, f64)), none_of({0, 2})),
      gives("tril", {0, 2}, BORA_F(tril(x)), none_of({0, 2})),
      gives("triu", {2, 0}, BORA_F(triu(x)), none_of({2, 0})),
      gives("one_hot", {0}, BORA_F(one_hot(x.astype(i32), 3, f64)), none_of({0, 3})),
      gives("one_hot of no classes", {2}, BORA_F(one_hot(x.astype(i32), 0, f64)), none_of({2, 0})),
      gives("meshgrid", {0}, BORA_F(meshgrid({x, ones({3}, f64)})[1]), none_of({3, 0})),
      gives("arange", {0}, BORA_F(arange(x.shape(0))), none_of({0}, i32)),
      gives("asarray", {0}, BORA_F(asarray(x)), none_of({0})),
      gives("where", {0}, BORA_F(where(x > 0, x, 1)), none_of({0})),
      gives("clip", {0}, BORA_F(clip(x, 0, 1)), none_of({0})),
      gives("clamp", {0}, BORA_F(clamp(x, x, x)), none_of({0})),
      gives("fma", {0}, BORA_F(fma(x, x, x)), none_of({0})),
      gives("bitcast", {0}, BORA_F(bitcast(x, i64)), none_of({0}, i64)),
      gives("gelu", {0}, BORA_F(gelu(x)), none_of({0})),
      gives("power", {0}, BORA_F(power(x, 3)), none_of({0})),
      gives("vmap of softmax", {2, 0}, BORA_F(vmap([](const Array& v) { return softmax(v); })(x)), none_of({2, 0})),
      gives("vmap of nothing", {0, 3}, BORA_F(vmap([](const Array& v) { return sum(v * v); })(x)), none_of({0})),
  };
}
std::vector<Case> statistics() {
  std::vector<Case> r{
      gives("nansum", {2, 0}, BORA_F(nansum(x, 1)), zeros({2}, f64)),
      gives("nanprod", {2, 0}, BORA_F(nanprod(x, 1)), ones({2}, f64)),
      gives("nanmean", {2, 0}, BORA_F(nanmean(x, 1)), full({2}, kNan, f64)),
      gives("nanvar", {2, 0}, BORA_F(nanvar(x, 1)), full({2}, kNan, f64)),
      gives("nanstd", {2, 0}, BORA_F(nanstd(x, 1)), full({2}, kNan, f64)),
      throws("nanmax", {2, 0}, BORA_F(nanmax(x, 1)), "nanmax: dimension 1 of [2, 0] is empty"),
      throws("nanmin", {2, 0}, BORA_F(nanmin(x, 1)), "nanmin: dimension 1 of [2, 0] is empty"),
      throws("nanargmax", {2, 0}, BORA_F(nanargmax(x)), "dimension 1 of [2, 0] is empty"),
      throws("nanargmin", {2, 0}, BORA_F(nanargmin(x)), "dimension 1 of [2, 0] is empty"),
      gives("nancumsum", {2, 0}, BORA_F(nancumsum(x, 1)), none_of({2, 0})),
      gives("nancumprod", {0, 2}, BORA_F(nancumprod(x, 1)), none_of({0, 2})),
      gives("cumprod", {2, 0}, BORA_F(cumprod(x, 1)), none_of({2, 0})),
      gives("count_nonzero", {2, 0}, BORA_F(count_nonzero(x, 1)), zeros({2}, i32)),
      throws("ptp", {2, 0}, BORA_F(ptp(x, 1)), "ptp: dimension 1 of [2, 0] is empty"),
      gives("ptp of no rows", {0, 2}, BORA_F(ptp(x, 1)), none_of({0})),
      gives("average", {2, 0}, BORA_F(average(x, x, 1)), full({2}, kNan, f64)),
      gives("cov of no variables", {0, 3}, BORA_F(cov(x)), none_of({0, 0})),
      gives("corrcoef of no variables", {0, 3}, BORA_F(corrcoef(x)), none_of({0, 0})),
      gives("histogram", {0}, BORA_F(histogram(x, 3).counts), zeros({3}, i32)),
      gives("histogram_bin_edges", {0}, BORA_F(histogram_bin_edges(x, 2)), array({0., 0.5, 1.}, f64)),
      gives("bincount", {0}, BORA_F(bincount(x.astype(i32), {.length = 2})), zeros({2}, i32)),
      gives("searchsorted", {0}, BORA_F(searchsorted(x, ones({2}, f64))), zeros({2}, i32)),
      gives("searchsorted of nothing", {0}, BORA_F(searchsorted(ones({2}, f64), x)), none_of({0}, i32)),
      gives("digitize", {0}, BORA_F(digitize(ones({2}, f64), x)), zeros({2}, i32)),
      gives("unique", {0}, BORA_F(unique(x, {.size = 2})), zeros({2}, f64)),
      gives("unique_all", {0}, BORA_F(unique_all(x, {.size = 2}).counts), zeros({2}, i32)),
      gives("union1d", {0}, BORA_F(union1d(x, x, {.size = 1})), zeros({1}, f64)),
      gives("intersect1d", {0}, BORA_F(intersect1d(x, ones({2}, f64), {.size = 1})), zeros({1}, f64)),
      gives("setdiff1d", {0}, BORA_F(setdiff1d(x, ones({2}, f64), {.size = 1})), zeros({1}, f64)),
      gives("setxor1d", {0}, BORA_F(setxor1d(x, ones({2}, f64), {.size = 1})), ones({1}, f64)),
      gives("isin", {0}, BORA_F(isin(ones({2}, f64), x)), zeros({2}, boolean)),
      gives("flatnonzero", {2, 0}, BORA_F(flatnonzero(x, {.size = 2})), zeros({2}, i32)),
      gives("nonzero", {2, 0}, BORA_F(nonzero(x, {.size = 2})[1]), zeros({2}, i32)),
      gives("argwhere", {2, 0}, BORA_F(argwhere(x, {.size = 3})), zeros({3, 2}, i32)),
      gives("compress", {2, 0}, BORA_F(compress(zeros({0}), x, 1, {.size = 1})), zeros({2, 1}, f64)),
      gives("extract", {0}, BORA_F(extract(x, x, {.size = 1})), zeros({1}, f64)),
      gives("lexsort", {2, 0}, BORA_F(lexsort({x, x})), none_of({2, 0}, i32)),
  };
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&)>>{
           {"quantile", BORA_F(quantile(x, 0.5, 1))},
           {"percentile", BORA_F(percentile(x, 50, 1))},
           {"median", BORA_F(median(x, 1))},
           {"nanquantile", BORA_F(nanquantile(x, 0.5, 1))},
           {"nanpercentile", BORA_F(nanpercentile(x, 50, 1))},
           {"nanmedian", BORA_F(nanmedian(x, 1))}}) {
    r.push_back(gives(std::string(name) + " of no rows", {0, 2}, f, none_of({0})));
    r.push_back(throws(name, {2, 0}, f, "there are no elements along axes [1] of [2, 0]"));
  }
  r.push_back(throws("partition", {2, 0}, BORA_F(partition(x, 0)), "partition: kth = 0 does not lie in [0, 0)"));
  r.push_back(throws("argpartition", {2, 0}, BORA_F(argpartition(x, 0)), "kth = 0 does not lie in [0, 0)"));
  return r;
}
std::vector<Case> numeric() {
  std::vector<Case> r{
      gives("diff", {2, 0}, BORA_F(diff(x)), none_of({2, 0})),
      gives("ediff1d", {0}, BORA_F(ediff1d(x)), none_of({0})),
      throws("gradient", {0}, BORA_F(gradient(x)), "gradient: dimension 0 of [0] has fewer than two elements"),
      gives("gradient of no rows", {0, 2}, BORA_F(gradient(x)), none_of({0, 2})),
      gives("trapezoid", {2, 0}, BORA_F(trapezoid(x)), zeros({2}, f64)),
      gives("interp", {0}, BORA_F(interp(x, ones({2}, f64), ones({2}, f64))), none_of({0})),
      throws("interp of no points", {0}, BORA_F(interp(ones({2}, f64), x, x)), "interp: there are no points"),
      gives("unwrap", {2, 0}, BORA_F(unwrap(x)), none_of({2, 0})),
      gives("cross", {0, 3}, BORA_F(cross(x, x)), none_of({0, 3})),
      gives("kron", {2, 0}, BORA_F(kron(x, ones({3, 3}, f64))), none_of({6, 0})),
      gives("inner", {2, 0}, BORA_F(inner(x, x)), zeros({2, 2}, f64)),
      gives("vdot", {2, 0}, BORA_F(vdot(x, x)), array(0., f64)),
      gives("vecdot", {2, 0}, BORA_F(vecdot(x, x)), zeros({2}, f64)),
      gives("matvec", {2, 0}, BORA_F(matvec(x, zeros({0}, f64))), zeros({2}, f64)),
      gives("vecmat", {0, 2}, BORA_F(vecmat(zeros({0}, f64), x)), zeros({2}, f64)),
      gives("vander", {0}, BORA_F(vander(x, 2)), none_of({0, 2})),
      gives("polyval", {0}, BORA_F(polyval(x, ones({2}, f64))), zeros({2}, f64)),
      gives("polyadd", {0}, BORA_F(polyadd(x, ones({2}, f64))), ones({2}, f64)),
      gives("polysub", {0}, BORA_F(polysub(x, ones({2}, f64))), full({2}, -1, f64)),
      throws("polymul", {0}, BORA_F(polymul(x, x)), "vectors must not be empty"),
      gives("polyder", {0}, BORA_F(polyder(x)), none_of({0})),
      gives("polyint", {0}, BORA_F(polyint(x)), zeros({1}, f64)),
      gives("poly", {0}, BORA_F(poly(x)), ones({1}, f64)),
      throws("convolve", {0}, BORA_F(convolve(x, ones({2}, f64))), "convolve: vectors must not be empty"),
      throws("correlate", {0}, BORA_F(correlate(x, ones({2}, f64))), "correlate: vectors must not be empty"),
      gives("divmod", {0}, BORA_F(divmod(x, x).remainder), none_of({0})),
      gives("modf", {0}, BORA_F(modf(x).fraction), none_of({0})),
      gives("isclose", {0}, BORA_F(isclose(x, x)), none_of({0}, boolean)),
      gives("logical_xor", {0}, BORA_F(logical_xor(x, x)), none_of({0}, boolean)),
      gives("nan_to_num", {0}, BORA_F(nan_to_num(x)), none_of({0})),
  };
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&)>>{{"sinc", sinc},
                                                                                                {"deg2rad", deg2rad},
                                                                                                {"rad2deg", rad2deg},
                                                                                                {"radians", radians},
                                                                                                {"degrees", degrees},
                                                                                                {"positive", positive},
                                                                                                {"fabs", fabs},
                                                                                                {"rint", rint},
                                                                                                {"fix", fix},
                                                                                                {"signbit", signbit},
                                                                                                {"isposinf", isposinf},
                                                                                                {"isneginf", isneginf}})
    r.push_back(gives(name, {2, 0}, f, none_of({2, 0}, f(ones({1}, f64)).dtype())));
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&, const Array&)>>{
           {"hypot", hypot},
           {"logaddexp2", logaddexp2},
           {"heaviside", heaviside},
           {"copysign", copysign},
           {"fmax", fmax},
           {"fmin", fmin},
           {"float_power", float_power}})
    r.push_back(gives(name, {2, 0}, [f = f](const Array& x) { return f(x, ones({2, 1}, f64)); }, none_of({2, 0})));
  return r;
}
std::vector<Case> arrange() {
  return {
      gives("atleast_1d", {0}, BORA_F(atleast_1d(x)), none_of({0})),
      gives("atleast_2d", {0}, BORA_F(atleast_2d(x)), none_of({1, 0})),
      gives("atleast_3d", {2, 0}, BORA_F(atleast_3d(x)), none_of({2, 0, 1})),
      gives("hstack", {0}, BORA_F(hstack({x, ones({1}, f64)})), ones({1}, f64)),
      gives("vstack", {0, 2}, BORA_F(vstack({x, ones({1, 2}, f64)})), ones({1, 2}, f64)),
      gives("dstack", {0, 2}, BORA_F(dstack({x, x})), none_of({0, 2, 2})),
      gives("column_stack", {0}, BORA_F(column_stack({x, x})), none_of({0, 2})),
      gives("block", {2, 0}, BORA_F(block({{x, ones({2, 1}, f64)}})), ones({2, 1}, f64)),
      gives("broadcast_arrays", {0}, BORA_F(broadcast_arrays({x, ones({2, 1}, f64)})[0]), none_of({2, 0})),
      gives("array_split", {0}, BORA_F(array_split(x, 2)[1]), none_of({0})),
      gives("hsplit", {2, 0}, BORA_F(hsplit(x, 2)[1]), none_of({2, 0})),
      gives("vsplit", {0, 2}, BORA_F(vsplit(x, 2)[1]), none_of({0, 2})),
      gives("dsplit", {1, 1, 0}, BORA_F(dsplit(x, 3)[2]), none_of({1, 1, 0})),
      gives("unstack", {2, 0}, BORA_F(unstack(x)[1]), none_of({0})),
      gives("append", {0}, BORA_F(append(x, ones({2}, f64))), ones({2}, f64)),
      gives("insert", {0}, BORA_F(insert(x, 0, ones({2}, f64))), ones({2}, f64)),
      throws("insert behind", {0}, BORA_F(insert(x, 1, x)), "insert: position 1 does not lie in [0, 0]"),
      gives("delete_", {0}, BORA_F(delete_(x, {})), none_of({0})),
      gives("resize", {0}, BORA_F(resize(x, {2, 0})), none_of({2, 0})),
      throws("resize to some", {0}, BORA_F(resize(x, {2})), "resize: [0] has no elements to fill [2]"),
      gives("fliplr", {2, 0}, BORA_F(fliplr(x)), none_of({2, 0})),
      gives("flipud", {0}, BORA_F(flipud(x)), none_of({0})),
      gives("rot90", {2, 0}, BORA_F(rot90(x)), none_of({0, 2})),
      gives("rollaxis", {2, 0}, BORA_F(rollaxis(x, 1)), none_of({0, 2})),
      gives("matrix_transpose", {2, 0}, BORA_F(matrix_transpose(x)), none_of({0, 2})),
      gives("diagonal", {2, 0}, BORA_F(diagonal(x)), none_of({0})),
      gives("trace", {2, 0}, BORA_F(trace(x)), array(0., f64)),
      gives("diag", {0}, BORA_F(diag(x, 1)), zeros({1, 1}, f64)),
      gives("diagflat", {2, 0}, BORA_F(diagflat(x)), none_of({0, 0})),
      gives("fill_diagonal", {2, 0}, BORA_F(fill_diagonal(x, ones({}, f64))), none_of({2, 0})),
      gives("ravel_multi_index", {0}, BORA_F(ravel_multi_index({x.astype(i32)}, {3})), none_of({0}, i32)),
      gives("unravel_index", {0}, BORA_F(unravel_index(x.astype(i32), {3})[0]), none_of({0}, i32)),
      gives("put_along_axis", {2, 0}, BORA_F(put_along_axis(x, x.astype(i32), x, 1)), none_of({2, 0})),
      gives("select", {0}, BORA_F(bora::select(Arrays{x > 0}, Arrays{x})), none_of({0})),
      gives("piecewise", {0}, BORA_F(piecewise(x, {x > 0}, {[](const Array& y) { return sinc(y); }})), none_of({0})),
      gives("choose", {0}, BORA_F(choose(x.astype(i32), {x, x})), none_of({0})),
      gives("packbits", {0}, BORA_F(packbits(x.astype(i32))), none_of({0}, u8)),
      gives("unpackbits", {0}, BORA_F(unpackbits(x.astype(u8))), none_of({0}, u8)),
  };
}
std::vector<Case> windows() {
  return {
      gives("conv", {0, 5, 2}, BORA_F(conv(x, ones({3, 2, 4}, f64))), none_of({0, 3, 4})),
      gives("conv of no channels", {1, 5, 0}, BORA_F(conv(x, ones({3, 0, 4}, f64))), zeros({1, 3, 4}, f64)),
      gives("conv of no positions", {1, 0, 2}, BORA_F(conv(x, ones({3, 2, 4}, f64))), none_of({1, 0, 4})),
      throws("conv of no window", {1, 5, 2}, BORA_F(conv(x, ones({0, 2, 4}, f64))), "the window's size 0 must be"),
      gives("conv_transpose", {0, 5, 2}, BORA_F(conv_transpose(x, ones({3, 2, 4}, f64))), none_of({0, 7, 4})),
      gives("max_pool", {0, 4, 2}, BORA_F(max_pool(x, {.window = {2}})), none_of({0, 2, 2})),
      gives("min_pool", {1, 0, 2}, BORA_F(min_pool(x, {.window = {2}})), none_of({1, 0, 2})),
      gives("sum_pool", {1, 4, 0}, BORA_F(sum_pool(x, {.window = {2}})), none_of({1, 2, 0})),
      gives("avg_pool", {0, 4, 2}, BORA_F(avg_pool(x, {.window = {2}})), none_of({0, 2, 2})),
  };
}
std::vector<Case> of_matrices() {
  using namespace linalg;
  auto square = Shape{0, 0};
  return {
      gives("det", square, BORA_F(det(x)), array(1., f64)),
      gives("det of no batch", {0, 2, 2}, BORA_F(det(x)), none_of({0})),
      gives("slogdet", square, BORA_F(slogdet(x).logabsdet), array(0., f64)),
      gives("lu", {0, 2}, BORA_F(lu(x).u), none_of({0, 2})),
      gives("lu_factor", {2, 0}, BORA_F(lu_factor(x).permutation), array({0, 1})),
      gives("lu_solve", {0, 3}, BORA_F(lu_solve(lu_factor(zeros({0, 0}, f64)), x)), none_of({0, 3})),
      gives("inv", square, BORA_F(inv(x)), none_of(square)),
      gives("cho_solve", {0, 3}, BORA_F(cho_solve(zeros({0, 0}, f64), x)), none_of({0, 3})),
      gives("solve_triangular", {0, 3}, BORA_F(solve_triangular(zeros({0, 0}, f64), x)), none_of({0, 3})),
      gives("lstsq", {0, 2}, BORA_F(lstsq(x, zeros({0}, f64)).x), zeros({2}, f64)),
      gives("lstsq of no unknowns", {2, 0}, BORA_F(lstsq(x, ones({2}, f64)).residuals), array({2.}, f64)),
      gives("pinv", {0, 2}, BORA_F(pinv(x)), none_of({2, 0})),
      gives("tensorsolve", {0, 0}, BORA_F(tensorsolve(x, zeros({0}, f64))), none_of({0})),
      gives("tensorinv", {0, 0}, BORA_F(tensorinv(x, 1)), none_of(square)),
      gives("svdvals", {2, 0}, BORA_F(svdvals(x)), none_of({0})),
      gives("eigvalsh", square, BORA_F(eigvalsh(x)), none_of({0})),
      gives("vector_norm", {2, 0}, BORA_F(vector_norm(x, 1, 1)), zeros({2}, f64)),
      throws("vector_norm of the largest", {2, 0}, BORA_F(vector_norm(x, kInf, 1)), "norm: dimension 1 of [2, 0]"),
      gives("matrix_norm", {3, 2, 0}, BORA_F(matrix_norm(x, "nuc")), zeros({3}, f64)),
      throws("matrix_norm of the largest", {2, 0}, BORA_F(matrix_norm(x, 2.)), "matrix_norm: f64[2, 0] is empty"),
      gives("norm of sums", {2, 0}, BORA_F(norm(x, 1., 1)), zeros({2}, f64)),
      throws("norm", {2, 0}, BORA_F(norm(x, 1.)), "matrix_norm: f64[2, 0] is empty"),
      throws("cond", {2, 0}, BORA_F(cond(x)), "cond: f64[2, 0] is empty"),
      gives("matrix_rank", {2, 0}, BORA_F(matrix_rank(x)), array(0)),
      gives("matrix_power", square, BORA_F(matrix_power(x, -2)), none_of(square)),
      gives("multi_dot", {2, 0}, BORA_F(multi_dot({x, zeros({0, 3}, f64), ones({3}, f64)})), zeros({2}, f64)),
      gives("eig", square, BORA_F(real(eig(x).vectors)), none_of(square)),
      gives("eigvals", {2, 0, 0}, BORA_F(real(eigvals(x))), none_of({2, 0})),
      gives("schur", square, BORA_F(schur(stop_gradient(x)).t), none_of(square)),
      gives("rsf2csf", square, BORA_F(real(rsf2csf(schur(stop_gradient(x))).t)), none_of(square)),
      gives("sqrtm", square, BORA_F(real(sqrtm(x))), none_of(square)),
      gives("solve_sylvester", {2, 0}, BORA_F(solve_sylvester(eye(2, f64), zeros({0, 0}, f64), x)), none_of({2, 0})),
      gives("eigh_tridiagonal", {0}, BORA_F(eigh_tridiagonal(x, x)), none_of({0})),
      gives("full_qr", {0, 2}, BORA_F(full_qr(x).r), none_of({0, 2})),
      gives("full_svd", {0, 2}, BORA_F(full_svd(x).s), none_of({0})),
      gives("expm", square, BORA_F(expm(x)), none_of(square)),
      gives("polar", {2, 0}, BORA_F(polar(x).u), none_of({2, 0})),
      gives("block_diag", {2, 0}, BORA_F(block_diag({x, ones({1, 1}, f64)})), array({{0.}, {0.}, {1.}}, f64)),
      gives("toeplitz", {0}, BORA_F(toeplitz(x, ones({2}, f64))), none_of({0, 2})),
  };
}
std::vector<Case> special_functions() {
  using namespace special;
  using namespace nn;
  std::vector<Case> r{
      gives("polygamma", {0}, BORA_F(polygamma(1, x)), none_of({0})),
      gives("xlogy", {0}, BORA_F(xlogy(x, 2)), none_of({0})),
      gives("xlog1py", {0}, BORA_F(xlog1py(2, x)), none_of({0})),
      gives("rel_entr", {0}, BORA_F(rel_entr(x, ones({2, 1}, f64))), none_of({2, 0})),
      gives("kl_div", {0}, BORA_F(kl_div(x, x)), none_of({0})),
      gives("comb", {0}, BORA_F(comb(x, 2)), none_of({0})),
      gives("poch", {0}, BORA_F(poch(x, 2)), none_of({0})),
      gives("beta", {0}, BORA_F(special::beta(x, 2)), none_of({0})),
      gives("betaln", {0}, BORA_F(betaln(x, 2)), none_of({0})),
      gives("gammainc", {0}, BORA_F(gammainc(2, x)), none_of({0})),
      gives("gammaincc", {0}, BORA_F(gammaincc(2, x)), none_of({0})),
      gives("betainc", {0}, BORA_F(betainc(2, 3, x)), none_of({0})),
      gives("expn", {0}, BORA_F(expn(2, x)), none_of({0})),
      gives("multigammaln", {0}, BORA_F(multigammaln(x, 2)), none_of({0})),
      gives("logsumexp", {2, 0}, BORA_F(special::logsumexp(x, 1)), full({2}, -HUGE_VAL, f64)),
      gives("signed_logsumexp", {2, 0}, BORA_F(signed_logsumexp(x, 1).sign), zeros({2}, f64)),
      gives("glu", {2, 0}, BORA_F(glu(x)), none_of({2, 0})),
      gives("celu", {2, 0}, BORA_F(celu(x)), none_of({2, 0})),
      gives("elu", {2, 0}, BORA_F(elu(x)), none_of({2, 0})),
      gives("leaky_relu", {2, 0}, BORA_F(leaky_relu(x)), none_of({2, 0})),
      gives("squareplus", {2, 0}, BORA_F(squareplus(x)), none_of({2, 0})),
      gives("logmeanexp", {2, 0}, BORA_F(logmeanexp(x, 0)), none_of({0})),
      gives("standardize", {2, 0}, BORA_F(standardize(x, 0)), none_of({2, 0})),
      gives("softmax where", {2, 0}, BORA_F(softmax(x, 1, x > 0)), none_of({2, 0})),
      gives("log_softmax where", {2, 0}, BORA_F(log_softmax(x, 1, x > 0)), none_of({2, 0})),
      gives("logpdf of vectors", {0, 3}, BORA_F(stats::multivariate_normal::logpdf(x, ones({3}), eye(3))),
            none_of({0})),
      gives("pdf of parts", {3, 0}, BORA_F(stats::dirichlet::pdf(x, ones({3}))), none_of({0})),
      gives("logpmf of counts", {0, 3}, BORA_F(stats::multinomial::logpmf(x.astype(i32), array(2), ones({3}, f64))),
            none_of({0})),
      throws("mode", {0, 2}, BORA_F(stats::mode(x).mode), "mode: dimension 0 of [0, 2] is empty"),
      gives("mode of no rows", {2, 0}, BORA_F(stats::mode(x).mode), none_of({0})),
      gives("sem", {2, 0}, BORA_F(stats::sem(x)), none_of({0})),
      gives("rankdata", {2, 0}, BORA_F(stats::rankdata(x, stats::Ties::average, 1)), none_of({2, 0})),
      gives("logpdf", {0}, BORA_F(stats::truncnorm::logpdf(x, -1, 1)), none_of({0})),
      gives("pdf", {0}, BORA_F(stats::gamma::pdf(x, 2)), none_of({0})),
      gives("cdf", {0}, BORA_F(stats::beta::cdf(x, 2, 3)), none_of({0})),
      gives("logcdf", {0}, BORA_F(stats::expon::logcdf(x)), none_of({0})),
      gives("sf", {0}, BORA_F(stats::chi2::sf(x, 2)), none_of({0})),
      gives("logsf", {0}, BORA_F(stats::norm::logsf(x)), none_of({0})),
      gives("ppf", {0}, BORA_F(stats::pareto::ppf(x, 2)), none_of({0})),
      gives("isf", {0}, BORA_F(stats::cauchy::isf(x)), none_of({0})),
      gives("logpmf", {0}, BORA_F(stats::betabinom::logpmf(x, 5, 1, 2)), none_of({0})),
      gives("pmf", {0}, BORA_F(stats::poisson::pmf(x, 2)), none_of({0})),
  };
  for (auto& [name, f] :
       std::initializer_list<std::pair<const char*, Array (*)(const Array&)>>{{"erfinv", erfinv},
                                                                              {"erfcx", erfcx},
                                                                              {"expit", expit},
                                                                              {"logit", logit},
                                                                              {"entr", entr},
                                                                              {"ndtr", ndtr},
                                                                              {"log_ndtr", log_ndtr},
                                                                              {"ndtri", ndtri},
                                                                              {"gamma", special::gamma},
                                                                              {"gammaln", gammaln},
                                                                              {"gammasgn", gammasgn},
                                                                              {"loggamma", special::loggamma},
                                                                              {"digamma", digamma},
                                                                              {"zeta", zeta},
                                                                              {"factorial", factorial},
                                                                              {"exp1", exp1},
                                                                              {"expi", expi},
                                                                              {"spence", spence},
                                                                              {"i0", special::i0},
                                                                              {"i0e", i0e},
                                                                              {"i1", i1},
                                                                              {"i1e", i1e},
                                                                              {"selu", selu},
                                                                              {"relu6", relu6},
                                                                              {"hard_sigmoid", hard_sigmoid},
                                                                              {"hard_silu", hard_silu},
                                                                              {"hard_swish", hard_swish},
                                                                              {"hard_tanh", hard_tanh},
                                                                              {"log_sigmoid", log_sigmoid},
                                                                              {"mish", mish},
                                                                              {"swish", swish},
                                                                              {"soft_sign", soft_sign},
                                                                              {"sparse_plus", sparse_plus},
                                                                              {"sparse_sigmoid", sparse_sigmoid},
                                                                              {"log1mexp", log1mexp}})
    r.push_back(gives(name, {2, 0}, f, none_of({2, 0})));
  return r;
}
#undef BORA_F
/// Elementwise functions of one and two operands give an empty result for empty operands.
std::vector<Case> elementwise() {
  std::vector<Case> r;
  for (auto& a : accuracies())
    if (a.f) r.push_back(gives(a.name, {2, 0}, a.f, none_of({2, 0})));
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&, const Array&)>>{
           {"add", add},
           {"subtract", subtract},
           {"multiply", multiply},
           {"divide", divide},
           {"fmod", fmod},
           {"floor_divide", floor_divide},
           {"remainder", remainder},
           {"pow", pow},
           {"maximum", maximum},
           {"minimum", minimum},
           {"logaddexp", logaddexp},
           {"equal", equal},
           {"not_equal", not_equal},
           {"less", less},
           {"less_equal", less_equal},
           {"greater", greater},
           {"greater_equal", greater_equal},
           {"logical_and", logical_and},
           {"logical_or", logical_or}}) {
    auto d = f(zeros({1}, f64), zeros({1}, f64)).dtype();
    r.push_back(gives(name, {2, 0}, [f = f](const Array& x) { return f(x, zeros({2, 1}, f64)); }, none_of({2, 0}, d)));
  }
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&, const Array&)>>{
           {"bitwise_and", bitwise_and},
           {"bitwise_or", bitwise_or},
           {"bitwise_xor", bitwise_xor},
           {"left_shift", left_shift},
           {"right_shift", right_shift}})
    r.push_back(
        gives(name, {0}, [f = f](const Array& x) { return f(x.astype(i32), x.astype(i32)); }, none_of({0}, i32)));
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&)>>{
           {"isnan", isnan}, {"isinf", isinf}, {"isfinite", isfinite}, {"logical_not", logical_not}})
    r.push_back(gives(name, {0}, f, none_of({0}, boolean)));
  r.push_back(gives("bitwise_not", {0}, [](const Array& x) { return ~x.astype(i32); }, none_of({0}, i32)));
  return r;
}
std::vector<Case> cases() {
  std::vector<Case> r;
  for (auto& part : {reductions(), products(), shapes(), elementwise(), statistics(), numeric(), arrange(),
                     of_matrices(), windows(), special_functions()})
    r.insert(r.end(), part.begin(), part.end());
  return r;
}
TEST(Empty, EveryFunctionGivesTheReferenceOrSaysWhyNot) {
  for (auto& c : cases()) {
    SCOPED_TRACE(c.what);
    auto x = ones(c.in, f64);
    auto staged = jit([&](const Array& v) { return c.f(v); });
    if (!c.want) {
      test::says([&] { (void)c.f(x).concrete(); }, c.message);
      test::says([&] { (void)staged(x).concrete(); }, c.message);
      continue;
    }
    try {
      auto y = c.f(x);
      EXPECT_EQ(worst(y, *c.want), 0) << y << ", expected " << *c.want;
      EXPECT_EQ(worst(staged(x), *c.want), 0) << "staged";
      if (!is_float(c.want->dtype())) continue;
      auto g = grad([&](const Array& v) { return sum(c.f(v)); })(x);
      EXPECT_EQ(g.type(), x.type()) << "its derivative";
    } catch (const std::exception& e) { ADD_FAILURE() << e.what(); }
  }
}
TEST(Empty, EveryPublicFunctionIsTried) {
  std::set<std::string> tried;
  for (auto& c : cases()) tried.insert(std::regex_replace(c.what, std::regex("[ ,].*"), ""));
  // These take numbers, not arrays.
  const std::set<std::string> elsewhere{"array", "constant", "make_literal", "from_range", "from_integers", "bartlett",
                                        "blackman", "hamming", "hanning", "logspace", "geomspace", "tril_indices",
                                        "triu_indices", "diag_indices", "indices", "hilbert", "bernoulli"};
  std::regex declaration("\n[A-Z]\\w+ (\\w+)\\(");
  std::istringstream open(  // these have no case yet
      "acos acosh apply arccos arccosh arcsin arcsinh arctan arctan2 around asin asinh atan atan2 atanh bessel_jn "
      "bitwise_count boxcox boxcox1p cho_factor circulant clz companion convolution_matrix cumulative_prod "
      "cumulative_sum dawsn dft diag_indices_from empty empty_like expm_frechet fiedler fiedler_companion fresnel "
      "frexp fromfunction funm gcd get hadamard hankel helmert hessenberg histogram2d histogramdd householder_product "
      "hyp1f1 hyp2f1 identity invhilbert invpascal ix_ kaiser lcm ldexp leslie logm mask_indices max mgrid min mulhi "
      "nextafter ogrid owens_t pascal place polydiv polyfit population_count put qr_multiply qr_raw ragged_dot "
      "reduce_precision reflected roots segment_max segment_min segment_prod segment_sum set shift_right_logical sici "
      "sort_complex spacing sph_harm_y tril_indices_from trim_zeros triu_indices_from view_of wofz");
  const std::set<std::string> untried{std::istream_iterator<std::string>(open), {}};
  for (auto* file : {"calculus", "contractions", "convolution", "creation", "indexing", "linalg", "manipulation", "nn",
                     "polynomials", "reductions", "sets", "sorting", "special", "statistics", "stats", "ufuncs"}) {
    std::stringstream s;
    s << std::ifstream(test::source_dir() + "/include/bora/ops/" + file + ".h").rdbuf();
    auto text = s.str();
    EXPECT_FALSE(text.empty()) << "there is no header " << file;
    for (std::sregex_iterator i(text.begin(), text.end(), declaration), end; i != end; ++i) {
      std::string name = (*i)[1];
      EXPECT_TRUE(tried.count(name) || elsewhere.count(name) || untried.count(name))
          << name << " (" << file << ".h) is tried on nothing nowhere";
    }
  }
}
TEST(Empty, NamedFunctionsToo) {
  Axis rows{"rows", 2}, nothing{"nothing", 0};
  auto x = NamedArray(zeros({2, 0}), {rows, nothing});
  EXPECT_EQ(softmax(x, nothing).array().shape(), (Shape{2, 0}));
  EXPECT_EQ(log_softmax(x, nothing).array().shape(), (Shape{2, 0}));
  EXPECT_EQ(worst(logsumexp(x, nothing).array(), array({-kInf, -kInf})), 0);
  EXPECT_EQ(worst(sum(x, nothing).array(), zeros({2})), 0);
  EXPECT_EQ(worst(mean(x, nothing).array(), full({2}, kNan)), 0);
  EXPECT_EQ(worst(var(x, nothing).array(), full({2}, kNan)), 0);
  EXPECT_EQ(sort(x, nothing).array().shape(), (Shape{2, 0}));
  EXPECT_EQ(cumsum(x, nothing).array().shape(), (Shape{2, 0}));
  EXPECT_EQ(worst(dot(x, x, nothing).array(), zeros({2})), 0);
  EXPECT_THROW((void)amax(x, nothing), ShapeError);
  EXPECT_THROW((void)argmax(x, nothing), ShapeError);
  auto scores = NamedArray(zeros({0, 5}), {nothing, Axis{"vocab", 5}});
  EXPECT_EQ(nn::cross_entropy(scores, "vocab", NamedArray(zeros({0}, i32), {nothing})).array().shape(), Shape{0});
}
}  // namespace
}  // namespace bora::laws::empty_test
