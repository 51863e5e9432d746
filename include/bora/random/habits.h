// habits.h -- calls in the manner of NumPy: each is a compile error that names the right call. Functions that are given
// to transforms and by_name by their names have none: a template beside them would hide which one is meant.
#pragma once
#include <array>
#include <concepts>
#include <vector>
#include "bora/ops/arguments.h"

namespace bora {
template <ArrayLike... More>
__attribute__((unavailable("write matmul(matmul(a, b), c), or linalg::multi_dot({a, b, c})"))) Array
matmul(const Array& a, const Array& b, const Array& c, const More&... more);
template <ArrayLike... More>
__attribute__((unavailable("write dot(dot(a, b), c), or linalg::multi_dot({a, b, c})"))) Array
dot(const Array& a, const Array& b, const Array& c, const More&... more);
template <class T>
__attribute__((unavailable("write the rows into one std::vector v: asarray(v, {rows, columns})"))) Array
asarray(const std::vector<std::vector<T>>&);
template <class T, std::size_t N, std::size_t M>
__attribute__((unavailable("write the rows into one std::vector v: asarray(v, {rows, columns})"))) Array
asarray(const std::array<std::array<T, N>, M>&);
}  // namespace bora

namespace bora::random {
// A seed in place of a key.
template <std::integral Seed, class... More>
__attribute__((unavailable("write bits(random::key(seed), ..)"))) Array bits(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write uniform(random::key(seed), ..)"))) Array uniform(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write normal(random::key(seed), ..)"))) Array normal(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write gumbel(random::key(seed), ..)"))) Array gumbel(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write exponential(random::key(seed), ..)"))) Array
exponential(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write laplace(random::key(seed), ..)"))) Array laplace(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write logistic(random::key(seed), ..)"))) Array
logistic(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write rademacher(random::key(seed), ..)"))) Array
rademacher(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write randint(random::key(seed), ..)"))) Array randint(Seed, const Shape&, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write bernoulli(random::key(seed), ..)"))) Array bernoulli(Seed, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write truncated_normal(random::key(seed), ..)"))) Array
truncated_normal(Seed, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write categorical(random::key(seed), ..)"))) Array categorical(Seed, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write gamma(random::key(seed), ..)"))) Array gamma(Seed, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write permutation(random::key(seed), ..)"))) Array permutation(Seed, const More&...);
template <std::integral Seed, class... More>
__attribute__((unavailable("write choice(random::key(seed), ..)"))) Array choice(Seed, const More&...);
}  // namespace bora::random
