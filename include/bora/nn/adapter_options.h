// adapter_options.h -- the form of an adapter (adapters.h).
#pragma once
#include <cstdint>

namespace bora::nn {
enum class AdapterInit : std::uint8_t { kaiming, gaussian };  // the first numbers of an adapter's matrix a
struct AdapterOptions {                                       // of adapters of linear layers
  std::int64_t rank = 8;                                      // the size of the dimension between a and b
  double alpha = 16, dropout = 0;                             // of the scale; the rate of dropout of the layer's input
  bool rslora = false;                      // scaled by alpha / sqrt(rank) (Kalajdzievski 2023), not alpha / rank
  AdapterInit init = AdapterInit::kaiming;  // of a, as PEFT: uniform within 1 / sqrt(fan-in), or normal / rank
  bool dora = false;                        // with a trained magnitude of each output, at first its weights' norm
  double scale() const;
};
}  // namespace bora::nn
