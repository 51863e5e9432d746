// lora_settings.h -- adapters (LoRA) as settings: the group `lora`.
#pragma once
#include "bora/config/config.h"
#include "bora/nn/adapter_options.h"

namespace bora::models {
struct LoraSettings {  // the group lora
  std::int64_t rank = 0;
  double alpha = 16, dropout = 0;
  std::vector<std::string> layers = {};
  bool rslora = false, dora = false;
  nn::AdapterInit init = nn::AdapterInit::kaiming;
  std::string from = {}, base = {};
  static constexpr std::string_view named = "rank";
  static constexpr config::Meaning meanings[] = {
      {"rank", "of the adapters, which alone are trained and stored (LoRA); 0: there are none"},
      {"alpha", "an adapter's product is scaled by alpha / rank"},
      {"dropout", "fraction of an adapter's inputs dropped in training"},
      {"layers", "patterns of linear layers: [blocks.attn.q, \"*.v\"]; empty: all but the output layer"},
      {"rslora", "scaled by alpha / sqrt(rank) instead"},
      {"dora", "a magnitude of each output is trained too (DoRA), and the product changes the direction alone"},
      {"init", "of the first matrix, as PEFT's: kaiming or gaussian; the second begins with zeros"},
      {"from", "a folder of PEFT's that a new run's adapters are read from"},
      {"base", "form of the weights beside which they are trained: int8, int4, int4:128 (QLoRA); empty: numbers"}};
  void check() const;
  explicit operator bool() const { return rank > 0; }
  nn::AdapterOptions options() const { return {rank, alpha, dropout, rslora, init, dora}; }
};
}  // namespace bora::models
