// gguf.h -- GGUF files, llama.cpp's: metadata and tensors in one file, which is mapped. Layout:
// github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3, little-endian.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include "bora/base/error.h"

namespace bora::gguf {
/// Types of metadata, with the file's numbers.
enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };
/// A value of the metadata, in the mapped file. A list has items of one kind, and none of them is a list.
struct Value {
  Kind kind = Kind::u8, item = Kind::u8;
  std::uint64_t count = 1;  // of items
  std::string_view bytes = {};
};
/// The ways in which a tensor's numbers are stored, with the file's numbers.
enum class Encoding : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, q4_k = 12, q6_k = 14, bf16 = 30 };
/// Blocks of numbers along a tensor's last dimension.
struct Blocks {
  std::string_view name;
  std::int64_t numbers, bytes;  // of a block
};
const Blocks& blocks_of(Encoding);
struct Tensor {
  std::string name;
  std::vector<std::int64_t> shape = {};  // row-major: the last dimension is the one of blocks (the file's first)
  Encoding encoding = Encoding::f32;
  std::int64_t numbers = 0;
  const unsigned char* data = nullptr;
  std::int64_t bytes = 0;
};
class File {
 public:
  /// Maps and checks the file: sizes, counts, offsets, names, types. Throws IoError "FILE: ..". Nothing is taken that
  /// the file's own size does not bound.
  static std::shared_ptr<const File> open(const std::string& path);
  /// The same of bytes, which outlive it.
  static std::shared_ptr<const File> of(std::string_view bytes, const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }
  /// In the file's order.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Tensor* tensor(std::string_view name) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  // Values that are missing or of another kind are IoErrors "FILE: KEY: ..".
  std::string text(std::string_view key) const;
  std::optional<std::string> maybe_text(std::string_view key) const;
  /// An integer of any width; of a list whose items are all one number, that number.
  std::int64_t integer(std::string_view key) const;
  std::optional<std::int64_t> maybe_integer(std::string_view key) const;
  float number(std::string_view key) const;
  std::optional<float> maybe_number(std::string_view key) const;
  std::optional<bool> maybe_flag(std::string_view key) const;
  /// Views into the file; UTF-8.
  std::vector<std::string_view> texts(std::string_view key) const;
  /// Empty if the key is missing.
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<float> numbers(std::string_view key) const;
  template <class... Parts> [[noreturn]] void wrong(std::string_view key, const Parts&... parts) const {
    fail<IoError>(path_, ": ", key, ": ", parts...);
  }

 private:
  explicit File(std::string path) : path_(std::move(path)) {}
  void parse(std::string_view bytes);
  const Value* find(std::string_view key) const;
  const Value& need(std::string_view key) const;
  std::string path_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::unordered_map<std::string_view, Value> values_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> places_;
};
/// The numbers of blocks begin .. end of a tensor, exactly as ggml's reference gives them.
void decode(const Tensor&, std::int64_t begin, std::int64_t end, float* out);
/// The same for one encoding's integers and scales: q[numbers] and one scale for each block. For q8_0 and q4_0.
void decode_integers(const Tensor&, std::int64_t begin, std::int64_t end, std::int16_t* q, float* scales);
}  // namespace bora::gguf
