// Cases of convolution.h.
#include "laws/names_table.h"

namespace bora::laws::names_convolution_test {
void add_convolution(NamedCases& cases) {
  constexpr auto same = Padding::same;
  for (int n : {1, 2, 3}) {
    auto name = std::to_string(n);
    auto all = [n](std::int64_t x) { return Dims(static_cast<std::size_t>(n), x); };
    Padding::Pairs pads(static_cast<std::size_t>(n), {2, -1}), around(pads.size(), {1, 2});
    BORA_CASE(smooth, "conv/" + name, conv(a, b));
    BORA_CASE(smooth, "conv/same" + name, conv(a, b, {.padding = same}));
    BORA_CASE(smooth, "conv/stride" + name, conv(a, b, {.stride = all(2), .padding = same}));
    BORA_CASE(smooth, "conv/pads" + name, conv(a, b, {.padding = pads}));
    BORA_CASE(smooth, "conv/dilation" + name, conv(a, b, {.padding = same, .dilation = all(2)}));
    BORA_CASE(smooth, "conv/spread" + name,
              conv(a, b, {.stride = all(2), .padding = around, .input_dilation = all(3)}));
    BORA_CASE(smooth, "conv_transpose/" + name, conv_transpose(a, b));
    BORA_CASE(smooth, "conv_transpose/stride" + name, conv_transpose(a, b, {.stride = all(2)}));
    BORA_CASE(smooth, "conv_transpose/same" + name, conv_transpose(a, b, {.stride = all(3), .padding = same}));
    BORA_CASE(smooth, "conv_transpose/same_one" + name, conv_transpose(a, b, {.padding = same, .dilation = all(2)}));
  }
  BORA_CASE(smooth, "conv/groups", conv(a, b, {.groups = 2}));
  BORA_CASE(smooth, "conv/depthwise", conv(a, b, {.stride = {1, 2}, .padding = same, .groups = 3}));
  BORA_CASE(smooth, "conv/too_wide", conv(a, b));
  const std::map<std::string, PoolOptions> pools{
      {"plain", {.window = {2, 2}}},
      {"overlap", {.window = {3, 2}, .stride = {1, 2}}},
      {"same", {.window = {3, 3}, .stride = {2, 2}, .padding = same}},
      {"pads", {.window = {2, 2}, .stride = {2, 1}, .padding = Padding::Pairs{{1, 0}, {0, 1}}}}};
  for (auto& [name, options] : pools) {
    auto o = options;
    BORA_CASE(smooth, "max_pool/" + name, max_pool(a, o));
    BORA_CASE(smooth, "min_pool/" + name, min_pool(a, o));
    BORA_CASE(smooth, "sum_pool/" + name, sum_pool(a, o));
    BORA_CASE(smooth, "avg_pool/" + name, avg_pool(a, o));
    BORA_CASE(smooth, "avg_pool/" + name + "_whole", avg_pool(a, o, false));
  }
}
}  // namespace bora::laws::names_convolution_test
