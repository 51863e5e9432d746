// keep.h -- the settings of which checkpoints stay, as the rule of io.
#pragma once
#include "bora/train/settings.h"
#include "io/api/retention.h"

namespace bora::training {
io::Keep keep_of(const KeepSettings&);
}  // namespace bora::training
