// check_model.h -- checks of settings that need the model's own parameters, before ranks start.
#pragma once
#include <vector>
#include "app/forward.h"

namespace bora::app {
/// Throws ConfigError for patterns of freeze, lora.layers and optimizer.decay that match no parameter, and for a token
/// that the vocabulary lacks. Nothing is initialised or computed.
void check_model(const Settings&, const text::Tokenizer&, const std::vector<MeshAxis>&);
}  // namespace bora::app
