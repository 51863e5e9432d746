// statics.h -- the static values of a tree in a checkpoint: a note of its manifest, which is an archive.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include "bora/io/checkpoint.h"
#include "bora/tree/value.h"

namespace bora::io {
inline constexpr std::string_view kStatics = "statics";  // the note
/// Values of tree::write_values. Throws ValueError if one is nested too deeply to be read back.
std::string pack_statics(const tree::Value&);
/// Reads them from bytes that may be damaged: memory is taken for what has been read. Throws CheckpointError.
tree::Value unpack_statics(std::string_view bytes);
/// Those of a checkpoint; none if the library that wrote it kept none. Throws CheckpointError if they are damaged.
std::optional<tree::Value> statics_of(const std::string& folder, const Manifest&);
}  // namespace bora::io
