// schur_window.h -- QR iterations on a small Hessenberg matrix that lies in the cache, and what deflation asks of its
// Schur form. T is double or Complex; real matrices become quasi-triangular, with pairs of conjugate eigenvalues in
// standard 2 x 2 blocks [a b; c a], b c < 0. Whoever calls scales: numbers are near 1 at most. Private.
#pragma once
#include <complex>
#include <utility>
#include <vector>
#include "ops/linalg/algorithms/blocked.h"

namespace bora::linalg {
inline constexpr Index kIterations = 30;  // for each eigenvalue
/// Two shifts; of a real matrix both real or conjugate.
using Shifts = std::pair<Complex, Complex>;

/// Whether h(k, k - 1) may be set to 0. M. Ahues, F. Tisseur, "A new deflation criterion for the QR algorithm", 1997.
template <class T> bool negligible(Reads<T> h, Index k);
/// The first row of the block that ends in row `last` and is not split; the number left of it is set to 0.
template <class T> Index begin_of_block(Block<T> h, Index last);
/// The eigenvalues of h on the rows i and i + 1.
template <class T> Shifts eigenvalues_of_pair(Reads<T> h, Index i);
/// Those of the blocks of a triangular (quasi-triangular) t on rows 0 .. count - 1, one after the other.
template <class T> std::vector<Complex> eigenvalues_of(Reads<T> t, Index count);

/// One reflection of an iteration with two shifts: of the rows k .. k + 2 by the column before them, or where k is
/// `first`, by the shifts; `last` is the last row of the block. h becomes r^H h r, u becomes u r.
template <class T> void chase(Block<T> h, Block<T> u, Index k, Index first, Index last, const Shifts& shifts);
/// Hessenberg h [n, n] becomes its Schur form w^H h w, u becomes u w; false if that does not converge.
template <class T> bool iterate(Block<T> h, Block<T> u);
/// Moves the block of `rows` (1 or 2) rows from row `from` up to row `to` of the Schur form t, u likewise; false where
/// eigenvalues are too close, with the block left on the way. Z. Bai, J. Demmel, "On swapping diagonal blocks in real
/// Schur form", 1993.
template <class T> bool move_up(Block<T> t, Block<T> u, Index from, Index to, Index rows);
/// t becomes w^H t w for the reflection w = I - factor x x^H on the rows from `first` on, of which x has one number
/// each; u becomes u w. Columns before `from` of these rows are zero and left alone.
template <class T>
void reflect_both(Block<T> t, Block<T> u, const T* x, T factor, Index first, Index count, Index from);
}  // namespace bora::linalg
