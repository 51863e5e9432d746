// Laws of nothing: every public function of arrays on a dimension of size 0 gives what NumPy and JAX give, or throws an
// error that says so.
#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include "laws/accuracy_table.h"

namespace bora::laws {
namespace {
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
Array none_of(const Shape& s, Dtype d = f64) { return zeros(s, d); }
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
      gives("qr", {0, 2}, BORA_F(linalg::qr(stop_gradient(x)).r), none_of({0, 2})),
      gives("svd", {2, 0}, BORA_F(linalg::svd(stop_gradient(x)).s), none_of({0})),
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
#undef BORA_F
/// Elementwise functions of one and two operands give an empty result for empty operands.
std::vector<Case> elementwise() {
  std::vector<Case> r;
  for (auto& a : accuracies())
    if (a.f) r.push_back(gives(a.name, {2, 0}, a.f, none_of({2, 0})));
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&, const Array&)>>{
           {"add", add}, {"subtract", subtract}, {"multiply", multiply}, {"divide", divide}, {"fmod", fmod},
           {"floor_divide", floor_divide}, {"remainder", remainder}, {"pow", pow}, {"maximum", maximum},
           {"minimum", minimum}, {"logaddexp", logaddexp}, {"equal", equal}, {"not_equal", not_equal}, {"less", less},
           {"less_equal", less_equal}, {"greater", greater}, {"greater_equal", greater_equal},
           {"logical_and", logical_and}, {"logical_or", logical_or}}) {
    auto d = f(zeros({1}, f64), zeros({1}, f64)).dtype();
    r.push_back(gives(name, {2, 0}, [f = f](const Array& x) { return f(x, zeros({2, 1}, f64)); }, none_of({2, 0}, d)));
  }
  for (auto& [name, f] : std::initializer_list<std::pair<const char*, Array (*)(const Array&, const Array&)>>{
           {"bitwise_and", bitwise_and}, {"bitwise_or", bitwise_or}, {"bitwise_xor", bitwise_xor},
           {"left_shift", left_shift}, {"right_shift", right_shift}})
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
  for (auto& part : {reductions(), products(), shapes(), elementwise()}) r.insert(r.end(), part.begin(), part.end());
  return r;
}
/// What f throws, empty if nothing.
std::string thrown(const std::function<Array(const Array&)>& f, const Array& x) {
  try {
    (void)f(x).concrete();
  } catch (const Error& e) { return e.text(); }
  return {};
}
TEST(Empty, EveryFunctionGivesTheReferenceOrSaysWhyNot) {
  for (auto& c : cases()) {
    SCOPED_TRACE(c.what);
    auto x = ones(c.in, f64);
    auto staged = jit([&](const Array& v) { return c.f(v); });
    if (!c.want) {
      EXPECT_NE(thrown(c.f, x).find(c.message), std::string::npos) << "says " << thrown(c.f, x);
      EXPECT_NE(thrown([&](const Array& v) { return staged(v); }, x).find(c.message), std::string::npos) << "staged";
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
  const std::set<std::string> elsewhere{"array", "constant", "make_literal", "from_range", "from_integers"};
  std::regex declaration("\n(?:Array|Arrays|TopK|Qr|Svd|Eigh) (\\w+)\\(");
  for (auto* file : {"elementwise", "functions", "reduce", "shape", "index", "linalg", "creation"}) {
    std::ifstream in(std::string(BORA_SOURCE_DIR) + "/include/bora/ops/" + file + ".h");
    std::stringstream s;
    s << in.rdbuf();
    auto text = s.str();
    for (std::sregex_iterator i(text.begin(), text.end(), declaration), end; i != end; ++i) {
      std::string name = (*i)[1];
      EXPECT_TRUE(tried.count(name) || elsewhere.count(name))
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
}  // namespace bora::laws
