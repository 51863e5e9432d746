// spellings.h -- spellings of NumPy, JAX, xtensor and PyTorch that Array does not have. Operations are functions here:
// each of these members is a compile error that names the right call.
#pragma once

namespace bora {
class Array;
namespace detail {
/// Any index expression.
struct AnyIndex {
  template <class... I> AnyIndex(I&&...);
};
struct Spellings {
  // Deleted, so that concepts that look for [], () and begin() find none.
  void operator[](AnyIndex) const = delete;  // write view(x, i), view(x, range(a, b)); to change a part at(x, i).set(v)
  template <class... I> void operator()(I&&...) const = delete;  // write view(x, i, j); a number: x.item<float>()
  void begin() const = delete;  // write for (int i = 0; i < x.shape(0); ++i) with view(x, i), or x.to_vector<float>()
  void end() const = delete;

  // clang-format off
  __attribute__((unavailable("an Array never changes: write x = x + 1"))) Array operator++() const;
  __attribute__((unavailable("an Array never changes: write x = x + 1"))) Array operator++(int) const;
  __attribute__((unavailable("an Array never changes: write x = x - 1"))) Array operator--() const;
  __attribute__((unavailable("an Array never changes: write x = x - 1"))) Array operator--(int) const;
  __attribute__((unavailable("write transpose(x)"))) Array T() const;
  template <class... A> __attribute__((unavailable("write transpose(x, {..})"))) Array transpose(A&&...) const;
  __attribute__((unavailable("write transpose(x, {..})"))) Array transpose(AnyIndex) const;
  template <class... A> __attribute__((unavailable("write reshape(x, {..})"))) Array reshape(A&&...) const;
  __attribute__((unavailable("write reshape(x, {..})"))) Array reshape(AnyIndex) const;
  template <class... A> __attribute__((unavailable("write view(x, ..), reshape(x, {..})"))) Array view(A&&...) const;
  __attribute__((unavailable("write reshape(x, {..})"))) Array view(AnyIndex) const;
  template <class... A> __attribute__((unavailable("write at(x, i).set(v)"))) Array at(A&&...) const;
  template <class... A> __attribute__((unavailable("write ravel(x)"))) Array flatten(A&&...) const;
  template <class... A> __attribute__((unavailable("write ravel(x)"))) Array ravel(A&&...) const;
  template <class... A> __attribute__((unavailable("write squeeze(x)"))) Array squeeze(A&&...) const;
  template <class... A> __attribute__((unavailable("write sum(x, axes)"))) Array sum(A&&...) const;
  template <class... A> __attribute__((unavailable("write mean(x, axes)"))) Array mean(A&&...) const;
  template <class... A> __attribute__((unavailable("write prod(x, axes)"))) Array prod(A&&...) const;
  template <class... A> __attribute__((unavailable("write amax(x, axes)"))) Array max(A&&...) const;
  template <class... A> __attribute__((unavailable("write amin(x, axes)"))) Array min(A&&...) const;
  template <class... A> __attribute__((unavailable("write stddev(x, axes)"))) Array std(A&&...) const;
  template <class... A> __attribute__((unavailable("write var(x, axes)"))) Array var(A&&...) const;
  template <class... A> __attribute__((unavailable("write all(x, axes)"))) Array all(A&&...) const;
  template <class... A> __attribute__((unavailable("write any(x, axes)"))) Array any(A&&...) const;
  template <class... A> __attribute__((unavailable("write argmax(x, axis)"))) Array argmax(A&&...) const;
  template <class... A> __attribute__((unavailable("write argmin(x, axis)"))) Array argmin(A&&...) const;
  template <class... A> __attribute__((unavailable("write cumsum(x, axis)"))) Array cumsum(A&&...) const;
  template <class... A> __attribute__((unavailable("write dot(a, b) or matmul(a, b)"))) Array dot(A&&...) const;
  template <class... A> __attribute__((unavailable("write matmul(a, b)"))) Array matmul(A&&...) const;
  template <class... A> __attribute__((unavailable("write clip(x, lo, hi)"))) Array clip(A&&...) const;
  template <class... A> __attribute__((unavailable("write x: it never changes"))) Array copy(A&&...) const;
  template <class... A> __attribute__((unavailable("write stop_gradient(x)"))) Array detach(A&&...) const;
  template <class... A> __attribute__((unavailable("write grad(f)(x)"))) void backward(A&&...) const;
  // clang-format on
};
}  // namespace detail
}  // namespace bora
