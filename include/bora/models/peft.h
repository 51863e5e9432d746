// peft.h -- adapters in PEFT's files, adapter_config.json and adapter_model.safetensors, and in the weights of their
// base.
#pragma once
#include "bora/models/lora_settings.h"
#include "bora/models/model.h"

namespace bora::models {
/// Writes the adapters of a tree of parameters (others are left alone), in f32, for the model's tensors by the names of
/// its table. base: the folder or name of the base, as PEFT's base_model_name_or_path; empty: none. Of an absolute path
/// only the name of the folder is written, or the name on a hub that its config.json has. Throws ConfigError for an
/// adapter that PEFT cannot hold, since its layer is a part of a tensor of the files (GPT-2's queries). On a mesh every
/// rank must call it. IoError.
void save_adapters(const std::string& folder, tree::Node parameters, const Model&, const LoraSettings&,
                   const std::string& base = {});
/// Fills the adapters of a tree of parameters, in their dtype and split as they are. Throws IoError and CheckpointError
/// unless the folder has just these adapters: names, shapes, rank and scale. On a mesh every rank must call it.
void load_adapters(tree::Node parameters, const std::string& folder, const Model&, const LoraSettings&);
/// Adds the adapters' products to the weights beside which they stand, as nn::merged does for a tree that has both; for
/// the two parts of a Trainable or a Generator.
void merge_adapters(tree::Node base, tree::Node adapters, const LoraSettings&);
/// Gives the adapters the magnitudes (DoRA) of the weights beside which they stand, after these were read. integers:
/// the base's weights that are packed (Model::packed).
void begin_magnitudes(tree::Node base, tree::Node adapters, const std::vector<PackedLeaf>& integers);
}  // namespace bora::models
