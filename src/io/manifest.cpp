// The manifest file: magic, CRC-32C and size of what follows, then a portable cereal archive.
#include "manifest.h"
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <algorithm>
#include <cstring>
#include <sstream>
#include "bora/base/crc32c.h"
#include "files.h"

namespace bora {
template <class A> void serialize(A& archive, BlockRange& b) { archive(b.begin, b.end); }
template <class A> void save(A& archive, const Type& t) { archive(std::string(dtype_name(t.dtype)), t.shape.dims()); }
template <class A> void load(A& archive, Type& t) {
  std::string dtype;  // by name: numbers of an enum may change
  Dims shape;
  archive(dtype, shape);
  t = {Shape(std::move(shape)), parse_dtype(dtype)};
}
namespace io {
template <class A> void serialize(A& archive, StoredBlock& b) { archive(b.box, b.file, b.offset, b.bytes, b.crc); }
template <class A> void serialize(A& archive, StoredLeaf& l) { archive(l.path, l.type, l.blocks); }
template <class A> void serialize(A& archive, Manifest& m) { archive(m.mesh, m.notes, m.leaves); }

namespace {
constexpr char magic[8] = {'b', 'o', 'r', 'a', 'c', 'k', 'p', '1'};
struct Header {
  char magic[8];
  std::uint32_t version = 1, crc = 0;
  std::uint64_t bytes = 0;
};
template <class T> std::string archive_of(const T& x) {
  std::ostringstream out;
  {
    cereal::PortableBinaryOutputArchive archive(out);
    archive(x);
  }
  return out.str();
}
template <class T> T from_archive(const std::string& bytes) {
  std::istringstream in(bytes);
  cereal::PortableBinaryInputArchive archive(in);
  T x;
  archive(x);
  return x;
}
}  // namespace

std::string pack(const std::vector<StoredLeaf>& leaves) { return archive_of(leaves); }
std::vector<StoredLeaf> unpack(const std::string& bytes) { return from_archive<std::vector<StoredLeaf>>(bytes); }

void write_manifest(const std::string& path, const Manifest& m) {
  auto body = archive_of(m);
  Header h;
  std::memcpy(h.magic, magic, sizeof magic);
  h.crc = crc32c(body.data(), body.size());
  h.bytes = body.size();
  auto file = File::create(path);
  file.write(&h, sizeof h);
  file.write(body.data(), static_cast<std::int64_t>(body.size()));
  file.sync();
  file.close();
}

Manifest read_manifest(const std::string& folder) {
  auto damaged = [&](std::string_view why) {
    fail<CheckpointError>("checkpoint ", folder, ": the manifest is damaged: ", why);
  };
  try {
    auto file = File::open(folder + "/manifest");
    Header h;
    if (!file.read(0, &h, sizeof h)) damaged("it is truncated");
    if (std::memcmp(h.magic, magic, sizeof magic) != 0) damaged("it does not begin as one");
    check<CheckpointError>(h.version == 1, "checkpoint ", folder, ": format version ", h.version,
                           " is newer than this library (1)");
    if (static_cast<std::uint64_t>(file.size()) - sizeof h < h.bytes) damaged("it is truncated");
    std::string body(h.bytes, '\0');
    file.read(sizeof h, body.data(), static_cast<std::int64_t>(body.size()));
    if (crc32c(body.data(), body.size()) != h.crc) damaged("its checksum differs");
    return from_archive<Manifest>(body);
  } catch (const IoError& e) { fail<CheckpointError>("no checkpoint at ", folder, ": ", e.what()); }
}

const StoredLeaf* Manifest::find(const std::string& path) const {
  auto it = std::find_if(leaves.begin(), leaves.end(), [&](auto& l) { return l.path == path; });
  return it == leaves.end() ? nullptr : &*it;
}
}  // namespace io
}  // namespace bora
