// pretrained.h -- the parameters of a model from a folder of Hugging Face's, and into one. Which tensor holds which
// leaf is the model's (hugging_face.h); here are folders, names and sizes.
#pragma once
#include "bora/base/dtype.h"
#include "bora/models/hugging_face.h"
#include "bora/models/model.h"
#include "bora/nn/weight_format.h"

namespace bora::models {
/// A folder of Hugging Face's, as its config.json and the names of its tensors describe it. A GGUF file is a folder
/// here: its metadata make the config.json, its tensors have Hugging Face's names.
struct Pretrained {
  std::string folder;
  config::Choice<Model> model = {};
  std::int64_t vocabulary = 0;
  HfConfig config = {};  // all of it
  /// Throws IoError: no such folder, no config.json, a model type that no model here has, a field that is not
  /// supported; and as Safetensors::open. On a mesh every rank must call it.
  static Pretrained open(const std::string& folder);
};
/// The tensor of Hugging Face's files that has this element of a leaf; empty: none has it.
std::string hf_tensor_of(const Model&, const std::string& leaf, const Dims& element);
/// Whether a folder has a config.json, or is a GGUF file, which stands for one.
bool is_pretrained(const std::string& folder);

/// A tensor as the files keep it: its name, "f32 [3, 4]" or "Q4_K [3, 256]", numbers and bytes.
struct StoredTensor {
  std::string name, form;
  std::int64_t numbers = 0, bytes = 0;
};
/// Those of a folder of Hugging Face's by name, or of a GGUF file. Throws IoError; DtypeError for a dtype that is none
/// here.
std::vector<StoredTensor> stored_tensors(const std::string& folder);

struct LoadPretrained {            // of load_pretrained
  bool init_missing = false;       // a leaf whose tensors are missing keeps its numbers; else that is an error
  bool ignore_unexpected = false;  // there may be tensors that no leaf takes; else they are an error
  std::int64_t piece = 4 << 20;    // numbers of a table of tokens that are read and packed at a time
  std::optional<nn::WeightFormat> weights = none;  // `parameters` are packed so: each layer's numbers as it is read
};
/// Throws IoError and CheckpointError, without any rank, for all that load_pretrained would refuse by names and sizes.
void check_pretrained(const std::string& folder, const Model&, std::int64_t vocabulary, const LoadPretrained& = {});
/// Fills the leaves of `parameters` from the folder's tensors, in the leaves' dtypes and split as they are; leaves that
/// the model's table does not name keep their numbers. Rows of tokens that the files lack are the mean of the others.
/// Returns lines to say. On a mesh every rank must call it, and all ranks return or throw the same error.
std::vector<std::string> load_pretrained(tree::Node parameters, const std::string& folder, const Model&,
                                         std::int64_t vocabulary, const LoadPretrained& = {});

struct SavePretrained {                            // of save_pretrained
  std::optional<Dtype> dtype = none;               // of all tensors; none: of each leaf
  std::int64_t shard_bytes = 5'000'000'000;        // most bytes of tensors in a file
  std::optional<nn::WeightFormat> weights = none;  // linear layers become integers, in compressed-tensors' layout
};
/// Writes the tensors, and config.json last, with the fields of `config` that the model does not set. No rank holds
/// more than its own part of the tensors, and one tensor. On a mesh every rank must call it. Throws as
/// save_safetensors; for `weights` ConfigError if the model's tensors are [inputs, outputs], ValueError if the inputs
/// of a layer are no whole groups.
void save_pretrained(const std::string& folder, tree::Node parameters, const Model&, std::int64_t vocabulary,
                     HfConfig config = {}, const SavePretrained& = {});
}  // namespace bora::models
