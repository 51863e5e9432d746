// lowbit.cpp -- weights of 8 and 4 bits, spread over threads: a thread has tiles beside each other, whose bytes are one
// stream.
#include "kernels/api/lowbit.h"
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include "bora/base/dtype.h"
#include "bora/base/error.h"
#include "bora/base/parallel.h"
#include "kernels/api/amx.h"
#include "kernels/api/cpu.h"
#include "kernels/api/memory.h"
#include "kernels/lowbit/layout.h"
#include "kernels/lowbit/tile.h"

namespace bora::kernels {
namespace {
using I = std::int64_t;
constexpr double kPack = 1.5, kUnpack = 3, kRound = 0.3;  // ns
constexpr I kRowsBytes = 192 << 10;  // rounded rows that stay in the second-level cache, where it is small
constexpr I kAmxRows = 10;           // from so many on AMX is faster, whose tiles have 16

bool wide() { return isa() == Isa::v4 && has_vnni(); }
/// Memory for rounded rows, which this thread keeps.
LowbitRows rows_for(I rows, I parts, bool amx) {
  const I block = amx ? kLowbitBlock : 1;
  rows = (rows + block - 1) / block * block;
  static thread_local std::shared_ptr<void> memory;
  static thread_local std::size_t size = 0;
  const auto each = static_cast<std::size_t>(rows * parts) * 4, q = each / 4 * kLowbitPart;
  if (q + 2 * each > size) {
    memory = nullptr, size = 0;  // so it stays if there is no memory
    memory = allocate(q + 2 * each), size = q + 2 * each;
  }
  auto* p = static_cast<char*>(memory.get());
  return {reinterpret_cast<std::int8_t*>(p), reinterpret_cast<float*>(p + q),
          reinterpret_cast<std::int32_t*>(p + q + each), parts, block};
}
void check_format(const Lowbit& f) {
  check<ValueError>((f.bits == 8 && f.group == 32) || (f.bits == 4 && (f.group == 32 || f.group == 128)),
                    "weights of ", f.bits, " bits in groups of ", f.group,
                    " have no kernel; there are 8 bits in groups of 32, and 4 bits in groups of 32 or 128");
}
}  // namespace

void lowbit_pack(const Lowbit& f, const LowbitSource& from, void* packed) {
  check_format(f);
  check<DtypeError>(from.dtype == Dtype::f32 || from.dtype == Dtype::bf16, "weights of ", f.bits,
                    " bits are made of f32 or bf16, not of ", from.dtype);
  const bool v4 = isa() == Isa::v4;
  const I row = f.groups(from.k) * f.block_bytes();
  parallel_for(f.tiles(from.n), grain_for(kPack * static_cast<double>(kLowbitTile * from.k)), [&](I begin, I end) {
    for (I t = begin; t < end; ++t)
      (v4 ? v4::lowbit_pack_tile : v3::lowbit_pack_tile)(f, from, t, static_cast<unsigned char*>(packed) + t * row);
  });
}
void lowbit_pack(const Lowbit& f, const LowbitGiven& g, void* packed) {
  check_format(f);
  const I groups = f.groups(g.k);
  parallel_for(f.tiles(g.n), grain_for(kUnpack * static_cast<double>(kLowbitTile * g.k)), [&](I begin, I end) {
    for (I t = begin; t < end; ++t)
      for (I j = 0; j < groups; ++j) {
        LowbitBlock b{f, static_cast<unsigned char*>(packed) + (t * groups + j) * f.block_bytes()};
        b.clear();
        for (I o = 0; o < kLowbitTile; ++o) {
          const I output = t * kLowbitTile + o;
          const std::uint16_t scale = output < g.n ? g.scales[output * groups + j] : std::uint16_t{0};
          std::memcpy(b.p + 2 * o, &scale, sizeof scale);
          for (I i = 0; i < f.group; ++i) {
            const I input = j * f.group + i;
            b.put(o, i, output < g.n && input < g.k ? g.q[output * g.k + input] : std::int8_t{0});
          }
        }
      }
  });
}
void lowbit_unpack(const Lowbit& f, const void* packed, I n, I k, std::int8_t* q, std::uint16_t* scales) {
  check_format(f);
  const I groups = f.groups(k);
  auto* from = static_cast<unsigned char*>(const_cast<void*>(packed));
  parallel_for(f.tiles(n), grain_for(kUnpack * static_cast<double>(kLowbitTile * k)), [&](I begin, I end) {
    for (I output = begin * kLowbitTile; output < std::min(n, end * kLowbitTile); ++output)
      for (I j = 0; j < groups; ++j) {
        LowbitBlock b{f, from + (output / kLowbitTile * groups + j) * f.block_bytes()};
        const I o = output % kLowbitTile;
        std::memcpy(scales + output * groups + j, b.p + 2 * o, sizeof *scales);
        for (I i = j * f.group; i < std::min(k, (j + 1) * f.group); ++i) q[output * k + i] = b.get(o, i - j * f.group);
      }
  });
}
void lowbit_rows(const Lowbit& f, const void* packed, I n, I k, const std::int32_t* rows, I count, float* y) {
  check_format(f);
  const I groups = f.groups(k);
  auto* from = static_cast<unsigned char*>(const_cast<void*>(packed));
  parallel_for(count, grain_for(kUnpack * static_cast<double>(k)), [&](I begin, I end) {
    for (I r = begin; r < end; ++r) {
      const I row = rows[r];
      if (row < 0 || row >= n) {
        std::fill_n(y + r * k, k, std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      for (I j = 0; j < groups; ++j) {
        LowbitBlock b{f, from + (row / kLowbitTile * groups + j) * f.block_bytes()};
        const I o = row % kLowbitTile;
        float16 scale;
        std::memcpy(&scale, b.p + 2 * o, sizeof scale);
        const auto s = static_cast<float>(scale);
        for (I i = j * f.group; i < std::min(k, (j + 1) * f.group); ++i)
          y[r * k + i] = s * static_cast<float>(b.get(o, i - j * f.group));
      }
    }
  });
}
void lowbit_product(const LowbitProduct& p) {
  check_format(p.format);
  if (p.m <= 0 || p.n <= 0) return;
  const bool v4 = wide(), amx = v4 && has_byte_tiles() && p.m >= kAmxRows;
  const auto& f = p.format;
  const I groups = f.groups(p.k), parts = groups * (f.group / kLowbitPart), tiles = f.tiles(p.n),
          bytes = groups * f.block_bytes();
  static const I cache = std::max<I>(kRowsBytes, sysconf(_SC_LEVEL2_CACHE_SIZE) / 2);
  const I fit = parts > 0 ? (amx ? cache : kRowsBytes) / (parts * kLowbitPart) / kLowbitBlock * kLowbitBlock : p.m;
  const I block = std::min(p.m, std::max(kLowbitBlock, fit));
  const auto rows = rows_for(block, parts, amx);
  const auto tile = amx ? lowbit_tile_amx : v4 ? v4::lowbit_tile : v3::lowbit_tile;
  const double multiply_add = amx ? 0.002 : v4 ? 0.007 : 0.02;  // ns
  for (I first = 0; first < p.m; first += block) {
    const I m = std::min(block, p.m - first);
    parallel_for(m, grain_for(kRound * static_cast<double>(p.k)), [&](I begin, I end) {
      for (I r = begin; r < end; ++r)
        (v4 ? v4::lowbit_round : v3::lowbit_round)(p.x + (first + r) * p.k, p.k, f.zero(), rows, r);
    });
    // Rows that fill the last block: what memory has there would be multiplied too, and tiny numbers are slow.
    for (I r = m; r % rows.block != 0; ++r)
      for (I part = 0; part < parts; ++part) rows.scales[rows.place(r) + part * rows.block] = 0;
    const double work = std::max(multiply_add * static_cast<double>(m), f.bits == 8 ? 0.06 : 0.03);
    parallel_for(tiles, grain_for(work * static_cast<double>(kLowbitTile * p.k)), [&](I begin, I end) {
      for (I t = begin; t < end; ++t)
        tile({f, rows, 0, m, std::min<I>(kLowbitTile, p.n - t * kLowbitTile),
              static_cast<const unsigned char*>(p.packed) + t * bytes, p.y + first * p.n + t * kLowbitTile, p.n});
    });
  }
}
}  // namespace bora::kernels
