// manifest.h -- manifests as bytes.
#pragma once
#include "bora/io/checkpoint.h"

namespace bora::io {
inline constexpr std::int64_t kChunk = 1 << 20;  // bytes that one checksum covers
std::string pack(const std::vector<StoredLeaf>&);
std::vector<StoredLeaf> unpack(const std::string&);
void write_manifest(const std::string& path, const Manifest&);
}  // namespace bora::io
