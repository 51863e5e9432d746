// safetensors_format.h -- the format as bytes (safetensors 0.4 to 0.8: README.md and safetensors/src/tensor.rs): u64 n,
// n bytes of JSON {"name": {"dtype", "shape", "data_offsets"}, "__metadata__": {}}, then the numbers without gaps.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/dtype.h"
#include "bora/base/shape.h"

namespace bora::io {
constexpr std::int64_t kMostHeader = 100'000'000;  // bytes; the limit of the format's own library
struct StoredTensor {
  std::string dtype = {};  // "BF16"
  Shape shape = {};
  std::int64_t offset = 0, bytes = 0;  // in the file
};
struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors = {};
  std::map<std::string, std::string> metadata = {};
};
/// The length of the header, which the first 8 bytes state. IoError unless it fits into the file.
std::int64_t header_length(std::string_view first, std::int64_t file_bytes, const std::string& file);
/// Checks the JSON against the file: the tensors' bytes fill the rest of the file exactly. IoError "FILE: TENSOR: why".
SafetensorsHeader parse_safetensors(std::string_view json, std::int64_t file_bytes, const std::string& file);
/// The shard of each tensor: plain names of files. IoError.
std::map<std::string, std::string> parse_safetensors_index(std::string_view json, const std::string& file);

/// A dtype of the format. read_as: the dtype here that holds it exactly, if there is one.
struct StoredDtype {
  std::string_view name;
  std::int64_t size;
  std::optional<Dtype> read_as;
};
/// Null if it is not known.
const StoredDtype* stored_dtype(std::string_view name);
/// DtypeError for keys.
std::string_view stored_name(Dtype);
/// The length and the JSON, padded to 8 bytes. Tensors lie in the order of the list; offsets count from their first.
/// ConfigError for names that are not UTF-8.
std::string safetensors_header(const std::vector<std::pair<std::string, StoredTensor>>& tensors,
                               const std::map<std::string, std::string>& metadata);
std::string safetensors_index(const std::map<std::string, std::string>& files, std::int64_t bytes);
}  // namespace bora::io
