// row.h -- a row of scores, fast and with the same bits on every CPU: its maximum, its exponentials and their sum, its
// largest scores. Private.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace bora::generate::rows {
/// The largest score; NaN if one is NaN.
float largest(std::span<const float> scores);
/// The id of the largest score, the smallest of several; NaN as in largest(), for which there is -1.
std::int32_t largest_id(std::span<const float> scores);
/// exp(score - most), within 2 ulp; 0 below exp(-87). most: at least each score.
void exponentials(std::span<const float> scores, float most, float* out);
/// The sums of exp(score - most) over blocks of kBlock scores each.
inline constexpr std::size_t kBlock = 512;
std::vector<double> block_sums(std::span<const float> scores, float most);
/// Their sum.
double exponential_sum(std::span<const float> scores, float most);
/// The places of scores that are at least `least`, in order.
std::vector<std::int32_t> places_of(std::span<const float> scores, float least);
struct Scored {
  float score;
  std::int32_t place;
};
/// The n largest scores (all, if there are fewer), the largest first, of equal ones the first.
std::vector<Scored> best(std::span<const float> scores, std::int64_t n);
/// The n-th largest score; the smallest one if there are fewer.
float nth_largest(std::span<const float> scores, std::int64_t n);
/// Something with a weight and its place in an order: larger keys first, of equal ones the smaller place.
struct Weighted {
  float key, weight;
  std::int32_t place;
};
/// The number of first items whose weights have this sum or more, all of them if they have less; these come to the
/// front. Takes time proportional to the number of items: they are not sorted.
std::size_t fewest(std::vector<Weighted>& items, double sum);
}  // namespace bora::generate::rows
