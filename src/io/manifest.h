// manifest.h -- manifests to and from bytes.
#pragma once
#include <string_view>
#include "bora/io/checkpoint.h"

namespace bora::io {
std::string pack(const std::vector<StoredLeaf>&);
std::vector<StoredLeaf> unpack(const std::string&);
void write_manifest(const std::string& path, const Manifest&);
/// The bytes of a manifest file: header and body.
std::string manifest_bytes(const Manifest&);
/// A manifest from the bytes of its file. All of it is checked: sizes against the bytes present before memory is taken
/// for them; boxes, shapes, dtypes, bytes, offsets and numbers of checksums against one another. Throws CheckpointError
/// naming the leaf.
Manifest parse_manifest(std::string_view file);
/// The first inconsistency of a manifest: the leaf and the problem. Empty if the manifest is consistent.
std::string contradiction(const Manifest&);
}  // namespace bora::io
