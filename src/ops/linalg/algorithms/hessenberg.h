// hessenberg.h -- matrices become zero below the diagonal next to the main one, by panels of reflections: the rest is
// read once for each column, and written once for each panel by products. The bits do not depend on threads. J.
// Dongarra, S. Hammarling, D. Sorensen, "Block reduction of matrices to condensed forms for eigenvalue computations",
// 1989. Private.
#pragma once
#include "ops/linalg/algorithms/reflections.h"

namespace bora::linalg {
/// a = q h q^H.
template <class T> struct HessenbergForm {
  Owned<T> h;
  ReflectionProduct<T> q;
};
template <class T> HessenbergForm<T> hessenberg_form(Owned<T> a);
}  // namespace bora::linalg
