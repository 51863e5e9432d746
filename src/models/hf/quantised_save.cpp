#include "models/hf/quantised_save.h"
#include <utility>
#include "bora/ops/creation.h"
#include "bora/ops/sharding.h"
#include "bora/shard/shard.h"
#include "kernels/api/lowbit.h"

namespace bora::models {
namespace {
using I = std::int64_t;
struct Packed {
  Array integers = {}, scales = {};
};
/// Integers plus 2^(bits - 1), inputs from the low bits of a word on; scales rounded to bf16.
Packed packed(const Array& whole, I n, I k, const nn::WeightFormat& format) {
  kernels::Lowbit f{format.bits, format.group};
  auto block = local_block(here().mesh ? gather(whole) : whole).block.astype(f32);
  std::vector<unsigned char> bytes(at(f.bytes(n, k)));
  kernels::lowbit_pack(f, kernels::LowbitSource{block.bytes(), n, k, k, 1}, bytes.data());
  std::vector<std::int8_t> q(at(n * k));
  std::vector<std::uint16_t> half(at(n * f.groups(k)));
  kernels::lowbit_unpack(f, bytes.data(), n, k, q.data(), half.data());
  I per = 32 / f.bits, row = (k + per - 1) / per;
  std::vector<std::int32_t> words(at(n * row));
  for (I o = 0; o < n; ++o)
    for (I i = 0; i < k; ++i) {
      auto u = static_cast<std::uint32_t>(q[at(o * k + i)] + f.zero());
      auto& word = words[at(o * row + i / per)];
      word = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) | u << static_cast<unsigned>(i % per * f.bits));
    }
  std::vector<float> scales(half.size());
  for (std::size_t i = 0; i < half.size(); ++i) {
    float16 s;
    s.bits = half[i];
    scales[i] = static_cast<float>(s);
  }
  return {asarray(words, Shape{n, row}), asarray(scales, Shape{n, f.groups(k)}).astype(bf16)};
}
}  // namespace

std::vector<io::TensorSource> packed_sources(const std::string& tensor, const Shape& shape, const nn::WeightFormat& f,
                                             const std::function<Array()>& make) {
  auto n = shape.at(0), k = shape.at(1), per = std::int64_t{32 / f.bits};
  check<ValueError>(k % f.group == 0, "quantize: ", tensor, " has ", k, " inputs, which are no whole groups of ",
                    f.group, f.group == 128 && k % 32 == 0 ? "; use int4, whose groups are 32" : "");
  auto made = std::make_shared<Packed>();  // by whichever is asked for first, until the other one has its part
  auto take = [=](Array Packed::*part) {
    if (!((*made).*part).defined()) *made = packed(make(), n, k, f);
    return std::exchange((*made).*part, Array());
  };
  return {{tensor + "_packed", {Shape{n, (k + per - 1) / per}, i32}, [=] { return take(&Packed::integers); }},
          {tensor + "_scale", {Shape{n, k / f.group}, bf16}, [=] { return take(&Packed::scales); }},
          {tensor + "_shape", {Shape{2}, i64}, [=] { return asarray(std::vector<std::int64_t>{n, k}); }}};
}
void write_quantization(HfConfig& config, const nn::WeightFormat& f, const std::vector<std::string>& ignored) {
  auto q = config.group("quantization_config");
  q.set("quant_method", "compressed-tensors");
  q.set("format", "pack-quantized");
  q.set("quantization_status", "compressed");
  q.set("ignore", ignored);
  q.set("kv_cache_scheme", std::monostate());
  auto group = q.group("config_groups").group("group_0");
  group.set("targets", std::vector<std::string>{"Linear"});
  group.set("input_activations", std::monostate());
  group.set("output_activations", std::monostate());
  auto w = group.group("weights");
  w.set("num_bits", std::int64_t{f.bits});
  w.set("type", "int");
  w.set("symmetric", true);
  w.set("strategy", "group");
  w.set("group_size", f.group);
  w.set("dynamic", false);
  w.set("actorder", std::monostate());
}
}  // namespace bora::models
