// One digest of sharded numbers: slices of the global array, in order, each assembled from the blocks of all ranks.
#include <algorithm>
#include <cstring>
#include "base/api/complex.h"
#include "blocks.h"
#include "base/api/sha256.h"

namespace bora::io {
namespace {
constexpr std::int64_t kSlice = 4 << 20;  // elements: 16 MiB of f32

/// Boxes of at most kSlice elements that are contiguous in the global array, in row-major order.
template <class F> void each_slice(const Shape& shape, Box& prefix, const F& f) {
  auto d = prefix.size();
  std::int64_t inner = 1;
  for (auto k = d + 1; k < shape.size(); ++k) inner *= shape[k];
  auto whole = [&] {
    auto box = prefix;
    for (auto k = box.size(); k < shape.size(); ++k) box.push_back({0, shape[k]});
    f(box);
  };
  if (d == shape.size() || shape[d] * inner <= kSlice) return whole();
  auto step = std::max<std::int64_t>(1, kSlice / std::max<std::int64_t>(1, inner));
  for (std::int64_t begin = 0; begin < shape[d]; begin += step) {
    prefix.push_back({begin, std::min(shape[d], begin + step)});
    if (inner <= kSlice) whole();
    else each_slice(shape, prefix, f);
    prefix.pop_back();
  }
}

void append_f32(Dtype dtype, const std::vector<char>& bytes, Sha256& digest) {
  if (is_complex(dtype)) return append_f32(real_dtype(dtype), bytes, digest);
  if (dtype == f32) return digest.update(bytes.data(), bytes.size());
  dispatch_real(dtype, "digest", [&](auto zero) {
    using T = decltype(zero);
    std::vector<float> numbers(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      T x;
      std::memcpy(&x, bytes.data() + i * sizeof(T), sizeof(T));
      numbers[i] = static_cast<float>(x);
    }
    digest.update(numbers.data(), numbers.size() * sizeof(float));
  });
}
}  // namespace

std::string digest_leaves(std::vector<Leaf> leaves, const Place& place, const GatherBytes& gather) {
  std::sort(leaves.begin(), leaves.end(), [](auto& a, auto& b) { return a.path < b.path; });
  Sha256 digest;
  auto ranks = place.mesh.size();
  std::vector<char> mine, all, slice;
  for (auto& leaf : leaves) {
    auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
    std::vector<Box> blocks;  // of each rank; empty if another rank represents it
    for (int r = 0; r < ranks; ++r)
      blocks.push_back(first_holder(leaf.spec, place.mesh, r) == r ? block_of_rank(leaf.type, leaf.spec, place.mesh, r)
                                                                   : Box{});
    auto speaks = [&](int r) { return first_holder(leaf.spec, place.mesh, r) == r; };
    Box prefix;
    each_slice(leaf.type.shape, prefix, [&](const Box& box) {
      std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
      std::vector<std::optional<Box>> parts(static_cast<std::size_t>(ranks));
      std::int64_t total = 0;
      for (std::size_t r = 0; r < counts.size(); ++r) {
        if (speaks(static_cast<int>(r))) parts[r] = overlap(box, blocks[r]);
        counts[r] = parts[r] ? elements(*parts[r]) * item : 0;
        total += counts[r];
      }
      auto me = static_cast<std::size_t>(place.rank);
      mine.resize(static_cast<std::size_t>(counts[me]));
      if (parts[me])  // packed in row-major order of the part
        each_run(blocks[me], *parts[me], *parts[me], [&](std::int64_t from, std::int64_t to, std::int64_t n) {
          std::memcpy(mine.data() + to * item, static_cast<const char*>(leaf.data) + from * item,
                      static_cast<std::size_t>(n * item));
        });
      all.resize(static_cast<std::size_t>(total));
      if (ranks > 1) gather(mine.data(), counts[me], all.data(), counts);
      else all.swap(mine);
      slice.resize(static_cast<std::size_t>(elements(box) * item));
      std::int64_t begin = 0;
      for (std::size_t r = 0; r < counts.size(); begin += counts[r], ++r)
        if (parts[r])
          each_run(*parts[r], box, *parts[r], [&](std::int64_t from, std::int64_t to, std::int64_t n) {
            std::memcpy(slice.data() + to * item, all.data() + begin + from * item, static_cast<std::size_t>(n * item));
          });
      append_f32(leaf.type.dtype, slice, digest);
    });
  }
  return digest.hex();
}
}  // namespace bora::io
