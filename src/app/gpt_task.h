// gpt_task.h -- a byte-level GPT-2 as a training task: connects the model and the trainer.
#pragma once
#include "bora/models/gpt2.h"
#include "bora/train/trainer.h"

namespace bora::app {
inline constexpr std::int64_t kVocab = 256;  // bytes
models::Gpt2Config gpt_config(const Settings&);
/// Throws ConfigError if the layout splits a dimension into more parts than it has: some ranks would have no work.
void check_parts(const Settings&, const MeshShape&);
Task<models::Gpt2> gpt_task(const Settings&);
std::unique_ptr<Trainable> gpt_trainable(const Settings&, const MeshShape&, const CompileOptions& = {});
}  // namespace bora::app
