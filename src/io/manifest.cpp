// The manifest file: magic, version, CRC-32C and size of the body, then the body as a portable cereal archive.
#include "manifest.h"
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <algorithm>
#include <cstring>
#include "base/api/crc32c.h"
#include "base/api/file.h"
#include "bora/io/cereal.h"

namespace bora {
template <class A> void serialize(A& archive, BlockRange& b) { archive(b.begin, b.end); }
namespace io {
template <class A> void serialize(A& archive, StoredBlock& b) { archive(b.box, b.file, b.offset, b.bytes, b.crc); }
template <class A> void save(A& archive, const StoredLeaf& l) {
  // The dtype's name, since enum values may change.
  archive(l.path, std::string(dtype_name(l.type.dtype)), l.type.shape.dims(), l.blocks);
}
template <class A> void load(A& archive, StoredLeaf& l) {
  std::string dtype;
  Dims shape;
  archive(l.path, dtype, shape, l.blocks);
  try {
    l.type = {Shape(std::move(shape)), parse_dtype(dtype)};
    check<CheckpointError>(dtype_name(l.type.dtype) == dtype, "leaf '", l.path, "': no dtype is written '", dtype, "'");
  } catch (const DtypeError& e) { fail<CheckpointError>("leaf '", l.path, "': ", e.text()); }
}
template <class A> void serialize(A& archive, Manifest& m) { archive(m.mesh, m.notes, m.leaves); }

/// A name that is there twice would lose one of its values without a word.
template <class K, class V> void load(BoundedArchive& a, std::map<K, V>& x) {
  for (auto n = a.length(); n > 0; --n) {
    std::pair<K, V> entry;
    a(entry.first, entry.second);
    check<CheckpointError>(!x.contains(entry.first), "it has the note '", entry.first, "' twice");
    x.insert(std::move(entry));
  }
}

namespace {
constexpr char magic[8] = {'b', 'o', 'r', 'a', 'c', 'k', 'p', '1'};
constexpr std::uint64_t kMostManifestBytes = std::uint64_t{1} << 30;  // millions of blocks
struct Header {
  char magic[8];
  std::uint32_t version = 1, crc = 0;
  std::uint64_t bytes = 0;
};

template <class T> T from_archive(std::string_view bytes) {
  T x;
  read_archive(x, bytes);
  return x;
}
}  // namespace

std::string pack(const std::vector<StoredLeaf>& leaves) { return archive_of(leaves); }
std::vector<StoredLeaf> unpack(const std::string& bytes) { return from_archive<std::vector<StoredLeaf>>(bytes); }

std::string manifest_bytes(const Manifest& m) {
  auto body = archive_of(m);
  Header h;
  std::memcpy(h.magic, magic, sizeof magic);
  h.crc = crc32c(body.data(), body.size());
  h.bytes = body.size();
  return std::string(reinterpret_cast<const char*>(&h), sizeof h) + body;
}
void write_manifest(const std::string& path, const Manifest& m) {
  auto bytes = manifest_bytes(m);
  auto file = File::create(path);
  file.write(bytes.data(), static_cast<std::int64_t>(bytes.size()));
  file.sync();
  file.close();
}

Manifest parse_manifest(std::string_view file) {
  Header h;
  check<CheckpointError>(file.size() >= sizeof h, "it is truncated");
  std::memcpy(static_cast<void*>(&h), file.data(), sizeof h);
  file.remove_prefix(sizeof h);
  check<CheckpointError>(std::memcmp(h.magic, magic, sizeof magic) == 0, "it does not begin as one");
  check<CheckpointError>(h.version == 1, "its format version ", h.version, " is newer than this library (1)");
  check<CheckpointError>(file.size() >= h.bytes, "it is truncated");
  check<CheckpointError>(file.size() == h.bytes, "it is longer than it says");
  check<CheckpointError>(crc32c(file.data(), file.size()) == h.crc, "its checksum differs");
  auto m = from_archive<Manifest>(file);
  auto wrong = contradiction(m);
  check<CheckpointError>(wrong.empty(), wrong);
  return m;
}
Manifest read_manifest(const std::string& folder) {
  auto damaged = [&](std::string_view why) {
    fail<CheckpointError>("checkpoint ", folder, ": the manifest is damaged: ", why);
  };
  try {
    auto file = File::open(folder + "/manifest");
    auto size = file.size();
    if (static_cast<std::uint64_t>(size) > kMostManifestBytes) damaged("it has " + std::to_string(size) + " bytes");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (!file.read(0, bytes.data(), size)) damaged("it became shorter while it was read");
    try {
      return parse_manifest(bytes);
    } catch (const CheckpointError& e) { damaged(e.text()); }
    return {};
  } catch (const IoError& e) { fail<CheckpointError>("no checkpoint at ", folder, ": ", e.text()); }
}

const StoredLeaf* Manifest::find(const std::string& path) const {
  auto it = std::find_if(leaves.begin(), leaves.end(), [&](auto& l) { return l.path == path; });
  return it == leaves.end() ? nullptr : &*it;
}
}  // namespace io
}  // namespace bora
