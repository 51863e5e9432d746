// check_model.h -- what only the model's own parameters can tell about settings, before ranks start.
#pragma once
#include <vector>

namespace bora {
struct MeshAxis;
namespace text {
class Tokenizer;
}  // namespace text
}  // namespace bora
namespace bora::app {
struct Settings;
/// Throws ConfigError for patterns of freeze, lora.layers and optimizer.decay that match no parameter, and for a token
/// that the vocabulary lacks. Nothing is initialised or computed.
void check_model(const Settings&, const text::Tokenizer&, const std::vector<MeshAxis>&);
}  // namespace bora::app
