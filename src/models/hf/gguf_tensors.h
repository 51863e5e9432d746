// gguf_tensors.h -- a GGUF file's tensors under Hugging Face's names and in their order of numbers. Private.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "gguf/api/gguf.h"
#include "models/hf/quantised.h"

namespace bora::models {
class GgufTensors {
 public:
  /// Throws IoError for a damaged file, and for an architecture that is not read here.
  explicit GgufTensors(const std::string& file);
  explicit GgufTensors(std::shared_ptr<const gguf::File> file);
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return tensors_.contains(name); }
  std::string where(const std::string& name) const;
  /// f32. Throws CheckpointError if there is no such tensor.
  Type type(const std::string& name) const;
  /// Whether matrix() gives it.
  bool is_quantised(const std::string& name) const;
  /// Of Q8_0 and Q4_0: the file's integers and scales.
  QuantisedMatrix matrix(const std::string& name) const;
  /// The numbers, dequantised as ggml's reference does. Only this tensor is in memory.
  Array numbers(const std::string& name) const;

 private:
  struct Source {
    const gguf::Tensor* tensor;
    std::int64_t heads = 0;   // rows of so many heads that were reordered for llama.cpp's rotary positions; 0: none
    bool turned = false;      // a matrix that Hugging Face keeps as [inputs, outputs]
    bool minus_one = false;   // of a norm whose weights lie around 0 there
  };
  void add(const std::string& name, Source);
  const Source& find(const std::string& name) const;
  /// The row of the file that is row r.
  static std::int64_t row_of(const Source&, std::int64_t r);
  std::shared_ptr<const gguf::File> file_;
  std::map<std::string, Source> tensors_;
};
/// The word for --weights that is nearest to a file: int8 or int4 for its quantised numbers, else bf16 or f32.
std::string gguf_weights(const gguf::File&);
}  // namespace bora::models
