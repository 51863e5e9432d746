// model.h -- a kind of language model in the settings, and what it makes: a model in training, one that generates, one
// that scores. contract.h has the contract of the models themselves.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "bora/config/choice.h"

namespace bora {
class Array;
class AxisMapping;
class NamedArray;
class Trainable;
namespace data {
enum class Prediction : std::uint8_t;
}  // namespace data
namespace nn {
struct Embedding;
struct Linear;
struct WeightFormat;
}  // namespace nn
namespace tree {
struct Node;
}  // namespace tree
namespace training {
struct Example;
}  // namespace training
}  // namespace bora
namespace bora::models {
struct AnyModel;
class HfConfig;
struct HfNames;
struct HfWeight;
struct LoraSettings;
struct ModelOptions;
struct PackedLeaf;
struct Parameter;

/// A model (contract.h) that a task, a generator or a scorer shares.
using AnyModelPtr = std::shared_ptr<const AnyModel>;
/// A function of each linear layer of a model, and its path (nn::each_linear).
using VisitLinear = std::function<void(const std::string& path, nn::Linear&)>;
using VisitEmbedding = std::function<void(const std::string& path, nn::Embedding&)>;  // of each table of tokens
/// The size of a logical axis as errors name it.
struct AxisSize {
  std::string_view axis, key;
  std::int64_t size;
  std::string_view noun, of = {};
};
/// Tokens one after another, from parameters that were trained.
class Generator {
 public:
  /// From scores f32 [vocab], for example a token. Staged.
  using Choose = std::function<Array(const Array& scores, const Array& key)>;
  virtual ~Generator() = default;
  virtual tree::Node parameters() = 0;
  /// Forgets all tokens.
  virtual void restart() = 0;
  /// Forgets all tokens; the decoder's tokens that come next are about these inputs of the encoder, which are one or
  /// more. Throws ValueError if the model has no encoder.
  virtual void read(const std::vector<std::int32_t>& inputs) = 0;
  /// The choice after these tokens, which follow those given since restart(). Staged once for each number of tokens.
  /// Throws ValueError if there are more than the model's positions in all, and before read() if it has an encoder.
  virtual Array next(const std::vector<std::int32_t>& tokens, const Array& key) = 0;
};
class Stepper;
/// The forward pass without its type, for parameters that were trained.
class Scorer {
 public:
  virtual ~Scorer() = default;
  virtual tree::Node parameters() = 0;
  /// After each position the scores of all tokens, f32 [batch, position, vocab], without dropout.
  virtual NamedArray scores(const training::Example&) = 0;
  /// The sum of weights * cross entropy over the targets, an f32 scalar, without dropout.
  virtual NamedArray loss(const training::Example&) = 0;
  /// Of each target its log-probability, f32, and whether no token has a higher score, i32 (of equal ones the smallest
  /// id): with the targets' axes, without dropout.
  virtual std::pair<NamedArray, NamedArray> targets(const training::Example&) = 0;
  /// An encoder's vectors in front of its head, f32 [batch, position, embed], without dropout. Throws ConfigError for a
  /// model that is no encoder alone.
  virtual NamedArray vectors(const training::Example&) = 0;
};
/// A kind of language model in the settings.
struct Model : config::Chosen {
  static constexpr std::string_view initial = "gpt2";
  virtual std::int64_t positions() const = 0;
  /// The token before a decoder's first one, of a model with an encoder; none: it has none. Its Example has the
  /// encoder's tokens as `inputs` [batch, input] with `input_mask`; `tokens` are the targets shifted by one, this token
  /// first (and in the place of targets that are no tokens).
  virtual std::optional<std::int32_t> decoder_start() const = 0;
  virtual std::vector<AxisSize> axes() const = 0;
  /// Why training, or else evaluation, cannot split `position` over the mesh axis `context`: "model.window: ..", or "".
  virtual std::string no_context(bool training) const = 0;
  /// Whether the model itself draws random numbers in training; none: its settings do not say.
  virtual std::optional<bool> draws() const = 0;
  virtual AnyModelPtr model(std::int64_t vocabulary) const = 0;
  std::unique_ptr<Trainable> trainable(const ModelOptions&) const;
  /// Parameters are born in `storage`. Throws ConfigError unless generates().
  std::unique_ptr<Generator> generator(const ModelOptions&, const AxisMapping& storage, const Array& key,
                                       Generator::Choose) const;
  /// The mapping in force when its functions are called splits its computation. Parameters are born in `storage`.
  /// Throws ConfigError unless generates().
  std::unique_ptr<Stepper> stepper(const ModelOptions&, const AxisMapping& storage, const Array& key) const;
  /// All leaves; nothing is computed.
  std::vector<Parameter> parameters(std::int64_t vocabulary) const;
  /// The leaves whose numbers become integers in this format (weights.h).
  std::vector<PackedLeaf> packed(std::int64_t vocabulary, const nn::WeightFormat&) const;
  /// The leaves of the adapters that these settings add.
  std::vector<Parameter> adapters(std::int64_t vocabulary, const LoraSettings&) const;
  std::unique_ptr<Scorer> scorer(const ModelOptions&, const AxisMapping& storage, const Array& key) const;
  // Hugging Face's folders (hugging_face.h); without types only hf_names() may be called.
  virtual HfNames hf_names() const = 0;
  virtual void from_hf(HfConfig&) = 0;  // sets all fields
  virtual void to_hf(HfConfig&) const = 0;
  virtual std::vector<HfWeight> hf_weights() const = 0;
  /// Whether it predicts next tokens; else it is an encoder alone, whose targets are of their own position.
  virtual bool generates() const = 0;
  /// Throws ConfigError unless generates().
  void check_generates() const;
  virtual data::Prediction prediction() const = 0;
  virtual std::vector<std::string> labels() const = 0;  // the classes that it tells apart
  virtual bool of_words() const = 0;                    // these are of words, else of a whole text
  virtual bool in_stages() const = 0;  // its layers can be the stages of a pipeline (nn/pipeline.h)
  virtual bool has_extra_loss() const = 0;  // training adds a loss of the model's own, which is about all rows at once
};
}  // namespace bora::models
