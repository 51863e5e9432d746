// mxfp4.h -- weights of 4 bits in blocks of 32 that share a power of two (MXFP4 of the OCP Microscaling Formats 1.0),
// as the files of gpt-oss have them. Private.
#pragma once
#include <string>
#include "bora/io/safetensors.h"

namespace bora::models {
/// The tensors NAME_blocks u8 [experts, outputs, groups, 16], two inputs in a byte, the lower bits first, and
/// NAME_scales u8 [experts, outputs, groups], exponents plus 127, stand for NAME bf16 [experts, 32 * groups, outputs],
/// which holds their numbers exactly.
inline constexpr std::string_view kMxfp4Blocks = "_blocks", kMxfp4Scales = "_scales";
/// The type of NAME. Throws CheckpointError if the tensors do not fit each other.
Type mxfp4_type(const Safetensors& files, const std::string& name);
/// NAME, on every rank the whole of it. Throws CheckpointError for a scale whose numbers are not finite.
Array mxfp4_numbers(const Safetensors& files, const std::string& name);
}  // namespace bora::models
