// quantised.h -- the tensors of a folder of Hugging Face's, in which weights may be integers that share scales: those
// of compressed-tensors (pack-quantized) and of GPTQ, and MXFP4's, look like the float weights that they stand for, as
// do a GGUF file's. Private.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "bora/io/safetensors.h"
#include "bora/nn/weight_format.h"

namespace bora::models {
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
/// What `quantization_config` of a config.json says.
struct QuantisedFiles {
  enum class Kind : std::uint8_t { none, packed, gptq, mxfp4 };
  Kind kind = Kind::none;
  int bits = 4;
  std::int64_t group = 0;   // inputs that share a scale; 0: all
  bool symmetric = true;    // no zero points of their own
  bool ordered = true;      // groups are inputs beside each other
  bool zero_minus_one = true;  // of GPTQ: zero points are stored less one
  /// Throws IoError, naming the field, for a layout that is not read here. `file`: the config.json, in errors.
  static QuantisedFiles parse(const std::string& config, const std::string& file);
  /// The word of the nearest form of ours.
  std::string nearest() const;
};
/// A matrix [n, k] of integers less their zero points, times the scale [n, groups] of each input's group.
struct QuantisedMatrix {
  std::int64_t n = 0, k = 0, groups = 0;
  std::vector<std::int16_t> q = {};
  std::vector<float> scales = {};
  std::vector<std::int32_t> group_of = {};  // of each input
  /// f32 [n, k].
  Array numbers() const;
  /// The same numbers in a format of ours, packed: u8 [tiles, groups, bytes]; none if they are others.
  std::optional<Array> packed(const nn::WeightFormat&) const;
};
class GgufTensors;
class FolderTensors {
 public:
  /// As Safetensors::open; reads the folder's config.json, if it has one. On a mesh every rank must call it.
  static FolderTensors open(const std::string& folder);
  /// Null: they are a GGUF file's.
  const Safetensors* safetensors() const { return gguf_ ? nullptr : &*files_; }
  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const;
  std::string where(const std::string& name) const;
  /// Of numbers. Throws CheckpointError if the tensors of a quantised weight do not fit each other.
  Type type(const std::string& name) const;
  Type type(const TensorPart& part) const;
  bool is_quantised(const std::string& name) const;
  /// Whether matrix() gives it.
  bool has_matrix(const std::string& name) const;
  /// Throws CheckpointError for damage.
  QuantisedMatrix matrix(const std::string& name) const;
  Array read(const TensorPart& part, const Spec& spec = {}) const;

 private:
  FolderTensors() = default;
  const Safetensors& files() const { return *files_; }
  std::optional<Safetensors> files_ = {};         // one of two
  std::shared_ptr<const GgufTensors> gguf_ = {};
  QuantisedFiles how_ = {};
  std::vector<std::string> names_ = {};
};
}  // namespace bora::models
