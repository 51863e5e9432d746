// digest.h -- SHA-256 of parameters.
#pragma once
#include "bora/base/sha256.h"

namespace bora::io {
using bora::Sha256;
}  // namespace bora::io
