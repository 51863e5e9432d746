// Keys made from seeds, split and folded: each applies the block cipher to a counter.
#include <cstring>
#include "bora/base/parallel.h"
#include "kernels/api/loop.h"
#include "bora/ops/creation.h"
#include "random/draw.h"
#include "random/scalar.h"
#include "bora/array/primitive.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"

namespace bora::random {
namespace {
void keys_only(std::string_view what, const Type& t) {
  check<DtypeError>(t.dtype == Dtype::key, what, ": needs keys (random::key(seed) makes one), got ", t);
}
Array sample_keys(const Shape& shape) {
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < 2 * volume(shape); ++i)
    words.push_back(static_cast<std::uint32_t>(7 + 2654435761u * static_cast<std::uint32_t>(i)));
  return from_bytes({shape, Dtype::key}, words.data());
}

/// Keys [b..] -> [b.., n].
struct SplitKeys {
  std::int64_t n;
  static constexpr std::string_view name = "split_keys";
  Type infer(const Types& in) const {
    keys_only("split", in.at(0));
    check<ValueError>(n >= 0, "split: the number of keys must not be negative, got ", n);
    auto s = in[0].shape;
    s.push_back(n);
    return {s, Dtype::key};
  }
  void eval(InputViews in, OutputViews out) const {
    auto* k = in[0].as<Words>();
    auto* y = out[0].as<Words>();
    parallel_for(out[0].type.size(), grain_for(12), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) y[i] = kernels::threefry(k[i / n], static_cast<std::uint64_t>(i % n));
    });
  }
  DimFactors factors(const Types& in) const {
    auto l = ops::range_of(in[0].ndim()), o = ops::range_of(in[0].ndim() + 1);
    return {{l}, {o}};
  }
  SplitKeys lift(std::int64_t) const { return *this; }
  static SamplesOf<SplitKeys> samples() {
    return {{{3}, {sample_keys({})}}, {{2}, {sample_keys({2})}}, {{0}, {sample_keys({})}}};
  }
};
/// Keys [b..], u32 [b..] -> keys [b..].
struct FoldIn {
  static constexpr std::string_view name = "fold_in";
  Type infer(const Types& in) const {
    keys_only("fold_in", in.at(0));
    check<DtypeError>(in.at(1).dtype == u32, "fold_in: data must be u32, got ", in[1]);
    check<ShapeError>(in[0].shape == in[1].shape, "fold_in: folds one number into one key, got keys ", in[0].shape,
                      " and data ", in[1].shape, "; use vmap");
    return in[0];
  }
  void eval(InputViews in, OutputViews out) const {
    auto* k = in[0].as<Words>();
    auto* data = in[1].as<std::uint32_t>();
    auto* y = out[0].as<Words>();
    parallel_for(out[0].type.size(), grain_for(12), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) y[i] = kernels::threefry(k[i], data[i]);
    });
  }
  DimFactors factors(const Types& in) const {
    auto l = ops::range_of(in[0].ndim());
    return {{l, l}, {l}};
  }
  FoldIn lift(std::int64_t) const { return *this; }
  static SamplesOf<FoldIn> samples() {
    const std::uint32_t data[] = {3, 0xffffffffu};
    return {{{}, {sample_keys({}), from_bytes({{}, u32}, data)}},
            {{}, {sample_keys({2}), from_bytes({{2}, u32}, data)}}};
  }
};
/// Keys [b..] <-> their words u32 [b.., 2]: the same memory.
struct KeyData {
  static constexpr std::string_view name = "key_data";
  static constexpr bool view = true;
  Type infer(const Types& in) const {
    keys_only("key_data", in.at(0));
    auto s = in[0].shape;
    s.push_back(2);
    return {s, u32};
  }
  void eval(InputViews in, OutputViews out) const {
    if (in[0].type.nbytes() && out[0].data != in[0].data) std::memcpy(out[0].data, in[0].data, in[0].type.nbytes());
  }
  DimFactors factors(const Types& in) const {
    return {{ops::range_of(in[0].ndim())}, {ops::range_of(in[0].ndim() + 1)}};
  }
  KeyData lift(std::int64_t) const { return *this; }
  static SamplesOf<KeyData> samples() { return {{{}, {sample_keys({3})}}}; }
};
struct WrapKeyData {
  static constexpr std::string_view name = "wrap_key_data";
  static constexpr bool view = true;
  Type infer(const Types& in) const {
    const auto& t = in.at(0);
    check<DtypeError>(t.dtype == u32, "wrap_key_data: the words of keys are u32, got ", t);
    check<ShapeError>(t.ndim() > 0 && t.shape.back() == 2,
                      "wrap_key_data: a key has two words, so the last dimension must be 2, got ", t);
    auto s = t.shape;
    s.pop_back();
    return {s, Dtype::key};
  }
  void eval(InputViews in, OutputViews out) const {
    if (in[0].type.nbytes() && out[0].data != in[0].data) std::memcpy(out[0].data, in[0].data, in[0].type.nbytes());
  }
  DimFactors factors(const Types& in) const {
    auto l = ops::range_of(in[0].ndim());
    l.back() = kNone;
    return {{l}, {ops::range_of(in[0].ndim() - 1)}};
  }
  WrapKeyData lift(std::int64_t) const { return *this; }
  static SamplesOf<WrapKeyData> samples() {
    const std::uint32_t words[] = {1, 2, 3, 4};
    return {{{}, {from_bytes({{2, 2}, u32}, words)}}};
  }
};
Array from_words(std::uint32_t hi, std::uint32_t lo) {
  const std::uint32_t words[] = {hi, lo};
  return from_bytes({{}, Dtype::key}, words);
}
}  // namespace

void one_key(std::string_view what, const Array& k) {
  keys_only(what, k.type());
  check<ShapeError>(k.ndim() == 0, what, ": takes one key, got ", k.type(),
                    "; use vmap, or split<N>(k) for N keys by name");
}
Array key(std::int64_t seed) {
  auto s = static_cast<std::uint64_t>(seed);
  return from_words(static_cast<std::uint32_t>(s >> 32), static_cast<std::uint32_t>(s));
}
Array key_x32(std::int64_t seed) { return from_words(0, static_cast<std::uint32_t>(seed)); }
Array split(const Array& k, std::int64_t n) {
  one_key("split", k);
  return call_one(SplitKeys{n}, {k});
}
Array fold_in(const Array& k, std::int64_t data) {
  check<ValueError>(data >= 0 && data <= 0xffffffffll, "fold_in: ", data, " does not lie in [0, 2^32)");
  one_key("fold_in", k);
  return call_one(FoldIn{}, {k, constant(Scalar(data), u32)});
}
Array fold_in(const Array& k, const Array& data) {
  check<DtypeError>(is_integer(data.dtype()), "fold_in: data must be an integer, got ", data.dtype());
  return call_one(FoldIn{}, {k, data.astype(u32)});
}
Array key_data(const Array& keys) { return call_one(KeyData{}, {keys}); }
Array wrap_key_data(const Array& words) { return call_one(WrapKeyData{}, {words}); }
Array detail::element(const Array& keys, std::int64_t i) { return index_in_dim(keys, 0, i); }
}  // namespace bora::random
