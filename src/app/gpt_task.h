// gpt_task.h -- a byte-level GPT-2 as something to train: where the model and the trainer meet.
#pragma once
#include "bora/models/gpt2.h"
#include "bora/train/trainer.h"

namespace bora::app {
inline constexpr std::int64_t kVocab = 256;  // bytes
models::Gpt2Config gpt_config(const Settings&);
/// Throws ConfigError if the layout splits something into more parts than it has: ranks would hold, and do, nothing.
void check_parts(const Settings&, const MeshShape&);
Task<models::Gpt2> gpt_task(const Settings&);
std::unique_ptr<Trainable> gpt_trainable(const Settings&, const MeshShape&);
}  // namespace bora::app
