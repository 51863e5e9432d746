// safetensors.h -- Hugging Face's files of tensors: one file, or shards with an index. Any mesh reads and writes them:
// a rank reads only the bytes of its own blocks, and writes its blocks at their places.
//
//   auto files = Safetensors::open("llama");      // a folder, FILE.safetensors or FILE.safetensors.index.json
//   model = load_safetensors(files, model);       // each leaf from the tensor with its path
//   save_safetensors("llama-2", {{"embed", x}, {"head", y}}, {.shard_bytes = 5'000'000'000});
//
// Dtypes in files: F64 F32 F16 BF16 F8_E4M3 I64 I32 I16 I8 U64 U32 U16 U8 BOOL C64. Tensors of other dtypes
// (F8_E5M2 ..) are listed, and refused by name when they are read.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "bora/io/checkpoint.h"
#include "bora/tree/tree.h"

namespace bora {
class Safetensors;
struct LoadSafetensorsOptions;
namespace io {
struct Job;
/// load_safetensors without the tree's type.
void load_tensors(tree::Node, const Safetensors&, const LoadSafetensorsOptions&);
}  // namespace io
/// A tensor of a file, or a part of it, possibly with its dimensions in another order. The query weights [1, embed,
/// heads, size] in a stored [3 * heads * size, embed]:
///   {.name = "attn.weight", .view = Shape{3, heads, size, embed}, .end = {1, heads, size, embed},
///    .order = {0, 3, 1, 2}}
struct TensorPart {
  std::string name;
  std::optional<Shape> view = none;  // as many elements as the tensor has; none: its own shape
  Dims begin = {}, end = {};         // in each dimension of the view; empty: 0 and its size
  Dims order = {};                   // dimension d of the result is dimension order[d] of the view; empty: the same
  std::optional<Shape> split = none;  // of begin to end: each dimension of the view as one or more (a last one of 1 as
                                      // none), which are the view's for `order`; none: as they are
};

/// The tensors of a file or of a folder's files, which are read on demand.
class Safetensors {
 public:
  /// Reads and checks the headers of all files. In a folder: model.safetensors, or model.safetensors.index.json and
  /// its shards. Throws IoError "FILE: TENSOR: why" for damage, a shard or tensor that is missing, a name in two
  /// shards, and for files of PyTorch, saying how to convert them. On a mesh every rank must call it.
  static Safetensors open(const std::string& path);
  /// The names of all tensors, sorted.
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  /// "FILE: TENSOR", for messages.
  std::string where(const std::string& name) const;
  /// As it is read. Throws CheckpointError if there is no such tensor, DtypeError if its dtype is none here.
  Type type(const std::string& name) const;
  Type type(const TensorPart& part) const;
  /// The texts of __metadata__.
  const std::map<std::string, std::string>& metadata() const;
  /// The tensor, split over the mesh as `spec` says, which refers to the result's dimensions; without a mesh, whole.
  /// On a mesh every rank must call it.
  Array read(const TensorPart& part, const Spec& spec = {}) const;
  Array read(const std::string& name, const Spec& spec = {}) const { return read(TensorPart{name}, spec); }
  /// Fills leaf.data with this rank's block. One part of as many dimensions is the leaf; else parts are stacked along
  /// its first dimension, or along its first ones, row-major, if parts have two dimensions fewer or less. Floats are
  /// converted to the leaf's dtype, integers to a wider one. Throws CheckpointError if shapes or dtypes differ.
  void fill(const io::Leaf& leaf, const std::vector<TensorPart>& parts, const io::Place& place) const;

 private:
  struct State;
  friend void io::load_tensors(tree::Node, const Safetensors&, const LoadSafetensorsOptions&);
  void list(const io::Leaf&, const std::vector<TensorPart>&, const io::Place&, std::vector<io::Job>&) const;
  explicit Safetensors(std::shared_ptr<const State> s) : state_(std::move(s)) {}
  std::shared_ptr<const State> state_;
};

struct LoadSafetensorsOptions {  // of load_safetensors
  /// The parts of tensors that make a leaf, by its path and global type; several are stacked, without parts the leaf
  /// keeps its numbers. Empty: the tensor of the leaf's name.
  std::function<std::vector<TensorPart>(const std::string& path, const Type&)> from = {};
  bool others = false;  // whether there may be tensors that no leaf takes
};
/// `like` with its leaves read from the files, of its dtypes and split as its leaves are, whose numbers are ignored.
/// Throws CheckpointError naming the first tensor that is missing, unexpected, or of another shape. On a mesh every
/// rank must call it, and all ranks return or throw the same error.
template <class T> T load_safetensors(const Safetensors& files, T like, const LoadSafetensorsOptions& options = {}) {
  io::load_tensors(tree::node(like), files, options);
  return like;
}

struct SaveSafetensorsOptions {  // of save_safetensors
  std::int64_t shard_bytes = 0;  // most bytes of tensors in a file, unless one alone has more; 0: one file
  std::map<std::string, std::string> metadata = {{"format", "pt"}};  // the texts of __metadata__
};
/// Writes FILE.safetensors, or into a folder model.safetensors, or its shards and model.safetensors.index.json.
/// Replaces earlier files once all new bytes are on disk; an interrupted exchange of shards leaves a folder without an
/// index, which is refused. The bytes do not depend on the mesh, where every rank must call it and writes its own
/// blocks. Throws IoError; DtypeError for keys; ConfigError for wrong options and names; TraceError inside transforms.
void save_safetensors(const std::string& path, const std::map<std::string, Array>& tensors,
                      const SaveSafetensorsOptions& options = {});
}  // namespace bora
