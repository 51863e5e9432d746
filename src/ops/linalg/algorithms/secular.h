// secular.h -- the equation by which divide and conquer finds eigenvalues and singular values. Private.
#pragma once
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
/// 1 + rho sum_j z_j^2 / (p_j - x) = 0 with the poles p = d, or p = d^2 where `squares` holds. d is ascending and apart
/// (not negative for squares), and no z is small.
struct Secular {
  std::vector<double> d, z;
  double rho = 1;
  bool squares = false;
  /// Columns of the parts' vectors that stand for its unit vectors.
  std::vector<Index> from = {};
  Index size() const { return static_cast<Index>(d.size()); }
};
/// A root as p(pole) + offset: its differences from all poles keep their digits.
struct Root {
  Index pole = 0;
  double offset = 0;
};
/// One root after each pole, ascending. The bits do not depend on threads.
std::vector<Root> roots_of(const Secular& s);
/// d, or its square root for squares, at the root.
double value_of(const Secular& s, const Root& root);
/// Column i of right [k, k] becomes z_j / (p_j - root i) of length 1, where z has exactly these roots: orthogonal to
/// all digits, however near the roots are. For squares column i of left becomes (-1, d_j z_j / (p_j - root i)) of
/// length 1, the left vectors of the matrix with first row z and diagonal d, whose d_0 = 0. M. Gu, S. Eisenstat, 1994
/// and 1995.
void vectors_of(const Secular& s, const std::vector<Root>& roots, Block<double> right, Block<double> left = {});
/// made = part[:, from[some]] vectors[some, :].
void combine(Block<const double> part, const std::vector<Index>& from, const std::vector<Index>& some,
             Block<const double> vectors, Block<double> made);
}  // namespace bora::linalg
