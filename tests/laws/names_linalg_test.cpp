// Cases of numpy.linalg.
#include "laws/names_table.h"

namespace bora::laws::names_linalg_test {
namespace {
using namespace linalg;
Arrays all_of(const LuFactor& f) { return {f.lu, f.pivots, f.permutation}; }
void add_systems(NamedCases& cases) {
  for (std::string n : {"1", "2", "3", "4", "empty"}) {
    BORA_CASE(smooth, "linalg::det/" + n, det(a));
    BORA_CASE(smooth, "linalg::slogdet/" + n, Arrays{slogdet(a).sign, slogdet(a).logabsdet});
    if (n != "empty") BORA_CASE(smooth, "linalg::inv/" + n, inv(a));
  }
  BORA_CASE(smooth, "linalg::det/singular", det(a));
  BORA_CASE(steps, "linalg::slogdet/singular", Arrays{slogdet(a).sign, slogdet(a).logabsdet});
  for (std::string n : {"square", "tall", "wide", "batch"}) {
    BORA_CASE(smooth, "linalg::lu/" + n, Arrays{lu(a).p, lu(a).l, lu(a).u});
    BORA_CASE(smooth, "linalg::lu_factor/" + n, all_of(lu_factor(a)));
  }
  BORA_CASE(smooth, "linalg::lu_solve", lu_solve(lu_factor(a), b));
  BORA_CASE(smooth, "linalg::lu_solve/transposed", lu_solve(lu_factor(a), b, true));
  BORA_CASE(smooth, "linalg::cho_solve", cho_solve(tril(a), b));
  for (bool lower : {false, true})
    for (bool transposed : {false, true})
      for (bool unit : {false, true}) {
        auto rest = std::to_string(lower) + std::to_string(transposed) + std::to_string(unit);
        BORA_CASE(smooth, "linalg::solve_triangular/" + rest,
                  solve_triangular(a, b, {.lower = lower, .transposed = transposed, .unit_diagonal = unit}));
      }
  auto parts = [](const Lstsq& r) { return Arrays{r.x, r.residuals, r.rank, r.singular_values}; };
  for (std::string n : {"square", "tall", "wide"}) BORA_CASE(smooth, "linalg::lstsq/" + n, parts(lstsq(a, b)));
  BORA_CASE(steps, "linalg::lstsq/deficient", parts(lstsq(a, b)));
  for (std::string n : {"square", "tall", "wide", "equal", "empty"}) BORA_CASE(smooth, "linalg::pinv/" + n, pinv(a));
  BORA_CASE(steps, "linalg::pinv/deficient", pinv(a));
  BORA_CASE(smooth, "linalg::tensorsolve", tensorsolve(a, b));
  BORA_CASE(smooth, "linalg::tensorinv", tensorinv(a));
}
void add_norms(NamedCases& cases) {
  auto text = [](double p) {
    return std::isinf(p) ? p > 0 ? "inf" : "-inf" : p == 0.5 ? "0.5" : std::to_string(int(p));
  };
  constexpr auto inf = std::numeric_limits<double>::infinity();
  for (double p : {1., 2., 3., 0.5, 0., inf, -inf}) {
    auto kind = p == 0 ? Takes::steps : Takes::smooth;
    auto put = [&](const std::string& name, std::function<Arrays(const Arrays&)> f) { cases[name] = {kind, f}; };
    put("linalg::vector_norm/" + text(p), [=](const Arrays& in) { return Arrays{vector_norm(in[0], p)}; });
    put("linalg::vector_norm/axis" + text(p), [=](const Arrays& in) { return Arrays{vector_norm(in[0], p, 1, true)}; });
    put("linalg::norm/vector" + text(p), [=](const Arrays& in) { return Arrays{norm(in[0], p)}; });
  }
  std::map<std::string, Order> orders{{"fro", "fro"}, {"nuc", "nuc"}};
  for (double p : {1., -1., 2., -2., inf, -inf}) orders.emplace(text(p), p);
  for (auto& [name, order] : orders) {
    auto o = order;
    BORA_CASE(smooth, "linalg::matrix_norm/" + name, matrix_norm(a, o));
    BORA_CASE(smooth, "linalg::norm/matrix" + name, norm(a, o, {0, 2}, true));
    if (name != "nuc") BORA_CASE(smooth, "linalg::cond/" + name, cond(a, o));
  }
  BORA_CASE(smooth, "linalg::norm", norm(a));
  BORA_CASE(smooth, "linalg::norm/axis", norm(a, none, 1));
  BORA_CASE(smooth, "linalg::cond", cond(a));
  for (std::string n : {"square", "tall", "wide"}) {
    BORA_CASE(smooth, "linalg::svdvals/" + n, svdvals(a));
    BORA_CASE(steps, "linalg::matrix_rank/" + n, matrix_rank(a));
  }
  BORA_CASE(steps, "linalg::matrix_rank/deficient", matrix_rank(a));
  BORA_CASE(smooth, "linalg::eigvalsh", eigvalsh(a));
}
void add_functions(NamedCases& cases) {
  for (int n : {-2, -1, 0, 1, 2, 3, 7})
    BORA_CASE(smooth, "linalg::matrix_power/" + std::to_string(n), matrix_power(a, n));
  BORA_CASE(smooth, "linalg::multi_dot/2", multi_dot({a, b}));
  BORA_CASE(smooth, "linalg::multi_dot/3", multi_dot({a, b, c}));
  BORA_CASE(smooth, "linalg::multi_dot/4", multi_dot({a, b, a, b}));
  for (std::string n : {"0", "0.1", "1", "10", "batch", "empty"}) BORA_CASE(smooth, "linalg::expm/" + n, expm(a));
  BORA_CASE(steps, "linalg::expm/100", expm(a));
  auto sorted_parts = [](const Array& z) { return Arrays{sort(real(z)), sort(imag(z))}; };
  auto turned = [](const Array& x) { return swapaxes(conj(x), -1, -2); };
  for (std::string n : {"square", "batch", "symmetric"}) {
    BORA_CASE(smooth, "linalg::eigvals/" + n, sorted_parts(eigvals(a)));
    cases["linalg::eig/" + n] = {Takes::smooth, [](const Arrays& in) {
                                   auto [w, v] = eig(in[0]);
                                   auto back = matmul(v * expand_dims(w, -2), inv(v));
                                   return Arrays{real(back), sum(square(abs(v)), -2)};
                                 }};
    cases["linalg::schur/" + n] = {Takes::steps, [=](const Arrays& in) {
                                     auto [t, z] = schur(in[0]);
                                     return Arrays{matmul(matmul(z, t), turned(z)), matmul(turned(z), z)};
                                   }};
    cases["linalg::rsf2csf/" + n] = {Takes::steps, [=](const Arrays& in) {
                                       auto [t, z] = rsf2csf(schur(in[0]));
                                       return Arrays{real(matmul(matmul(z, t), turned(z))),
                                                     real(matmul(turned(z), z)), abs(tril(t, -1))};
                                     }};
    BORA_CASE(smooth, "linalg::sqrtm/" + n, Arrays{real(sqrtm(a)), imag(sqrtm(a))});
  }
  BORA_CASE(smooth, "linalg::solve_sylvester", solve_sylvester(a, b, c));
  BORA_CASE(smooth, "linalg::eigh", eigh(a, b).values);
  BORA_CASE(smooth, "linalg::eigh_tridiagonal", eigh_tridiagonal(a, b));
  for (std::string n : {"tall", "wide", "square"}) {
    cases["linalg::full_qr/" + n] = {Takes::steps, [=](const Arrays& in) {
                                       auto [q, r] = full_qr(in[0]);
                                       return Arrays{matmul(q, r), matmul(turned(q), q)};
                                     }};
    cases["linalg::full_svd/" + n] = {Takes::steps, [=](const Arrays& in) {
                                        auto [u, s, vt] = full_svd(in[0]);
                                        return Arrays{s, matmul(turned(u), u), matmul(vt, turned(vt))};
                                      }};
  }
  BORA_CASE(smooth, "linalg::polar/right", Arrays{polar(a).u, polar(a).p});
  BORA_CASE(smooth, "linalg::polar/left", Arrays{polar(a, true).u, polar(a, true).p});
  BORA_CASE(smooth, "linalg::block_diag", block_diag({a, b, c}));
  BORA_CASE(smooth, "linalg::toeplitz", toeplitz(a));
  BORA_CASE(smooth, "linalg::toeplitz/row", toeplitz(a, b));
  BORA_CASE(steps, "linalg::hilbert/4", hilbert(4, f64));
}
void add_vectors(NamedCases& cases) {
  using namespace linalg;
  for (auto name : {"vector", "vectors", "batches", "one_matrix"})
    BORA_CASE(smooth, std::string("linalg::solve/") + name, solve(a, b));
  BORA_CASE(smooth, "linalg::lu_solve/vector", lu_solve(lu_factor(a), b));
  BORA_CASE(smooth, "linalg::cho_solve/vector", cho_solve(tril(a), b));
  BORA_CASE(smooth, "linalg::solve_triangular/vector", solve_triangular(a, b, {.lower = true}));
}
}  // namespace
void add_linalg(NamedCases& cases) {
  add_systems(cases);
  add_norms(cases);
  add_functions(cases);
  add_vectors(cases);
}
}  // namespace bora::laws::names_linalg_test
