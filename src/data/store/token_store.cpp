#include "data/store/token_store.h"
#include <immintrin.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include "base/api/crc32c.h"
#include "base/api/file.h"

namespace bora::data {
namespace {
constexpr std::uint16_t kMostFields = 16;
constexpr std::string_view kDamaged = ": was damaged since it was written; remove this file, and it will be made anew";
std::size_t padded(std::size_t n) { return (n + 7) / 8 * 8; }
/// Writes ids below 2^16 as u16.
void narrow(const std::vector<std::int32_t>& ids, char* to) {
  auto from = ids.data();
  std::size_t n = ids.size(), i = 0;
  for (; i + 16 <= n; i += 16) {
    auto a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    auto b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + 8));
    auto mixed = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8);  // packs within halves of a register
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i), mixed);
  }
  for (; i < n; ++i) {
    auto id = static_cast<std::uint16_t>(from[i]);
    std::memcpy(to + 2 * i, &id, sizeof id);
  }
}
std::uint32_t crc_of(const ChunkHeader& h) { return crc32c(&h, offsetof(ChunkHeader, header_crc)); }
}  // namespace

char* ChunkWriter::Bytes::add(std::size_t n) {
  if (room_ - size_ < n) reserve(std::max(2 * room_, size_ + n));
  return bytes_.get() + std::exchange(size_, size_ + n);
}
void ChunkWriter::Bytes::reserve(std::size_t n) {
  if (n <= room_) return;
  auto more = std::make_unique_for_overwrite<char[]>(n);
  if (size_ > 0) std::memcpy(more.get(), bytes_.get(), size_);
  bytes_ = std::move(more);
  room_ = n;
}
ChunkWriter::ChunkWriter(std::size_t fields, std::int64_t vocabulary)
    : width_(vocabulary <= 1 << 16 ? 2 : 4), ends_(fields), ids_(fields) {}
void ChunkWriter::reserve(std::size_t bytes) {
  for (auto& ids : ids_) ids.reserve(bytes);
}
void ChunkWriter::add(const Document& d) {
  for (std::size_t f = 0; f < ids_.size(); ++f) {
    auto n = d[f].size();
    auto to = ids_[f].add(n * width_);
    if (width_ == sizeof(std::uint16_t)) narrow(d[f], to);
    else if (n > 0) std::memcpy(to, d[f].data(), n * width_);
    ends_[f].push_back(ids_[f].size() / width_);
  }
  ++documents_;
}
void ChunkWriter::add(const ChunkWriter& other) {
  for (std::size_t f = 0; f < ids_.size(); ++f) {
    auto before = ids_[f].size() / width_;
    for (auto end : other.ends_[f]) ends_[f].push_back(before + end);
    auto n = other.ids_[f].size();
    if (n > 0) std::memcpy(ids_[f].add(n), other.ids_[f].data(), n);
  }
  documents_ += other.documents_;
}
void ChunkWriter::take(ChunkHeader h, std::string& out) {
  h.fields = static_cast<std::uint16_t>(ids_.size());
  h.width = static_cast<std::uint16_t>(width_);
  h.documents = std::exchange(documents_, 0);
  auto total = sizeof h;
  for (auto& ids : ids_) total += h.documents * 8 + padded(ids.size());
  out.clear();
  out.reserve(total);
  out.resize(sizeof h);
  for (auto& ends : ends_) {
    out.append(reinterpret_cast<const char*>(ends.data()), ends.size() * 8);
    ends.clear();
  }
  auto middle = out.size();
  for (auto& ids : ids_) {
    out.append(ids.data(), ids.size());
    out.resize(padded(out.size()));
    ids.clear();
  }
  h.bytes = out.size() - sizeof h;
  h.ends_crc = crc32c(out.data() + sizeof h, middle - sizeof h);
  h.ids_crc = crc32c(out.data() + middle, out.size() - middle);
  h.header_crc = crc_of(h);
  std::memcpy(out.data(), &h, sizeof h);
}

Chunk::Chunk(std::string bytes, std::string name) : owned_(std::move(bytes)), name_(std::move(name)) {
  parse(owned_.data(), owned_.size());
}
Chunk::Chunk(const std::string& path) : name_(path) {
  std::string problem;
  int fd = open_file(path, problem);
  check<IoError>(fd >= 0, "cannot read ", path, ": ", problem);
  struct ::stat s {};
  bool known = ::fstat(fd, &s) == 0;
  mapped_bytes_ = known ? static_cast<std::size_t>(s.st_size) : 0;
  if (mapped_bytes_ > 0) mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ, MAP_SHARED, fd, 0);
  auto error = errno;
  ::close(fd);
  if (mapped_ == MAP_FAILED) mapped_ = nullptr;
  check<IoError>(known && (mapped_ || mapped_bytes_ == 0), "cannot map ", path, ": ", std::strerror(error));
  try {
    parse(static_cast<const char*>(mapped_), mapped_bytes_);
  } catch (...) {
    if (mapped_) ::munmap(mapped_, mapped_bytes_);
    throw;
  }
  release();
}
Chunk::~Chunk() {
  if (mapped_) ::munmap(mapped_, mapped_bytes_);
}
void Chunk::parse(const char* data, std::size_t size) {
  check<IoError>(size >= sizeof header_, name_, ": is no chunk of documents: it has ", size, " bytes");
  std::memcpy(&header_, data, sizeof header_);
  auto& h = header_;
  ChunkHeader fresh;
  check<IoError>(std::memcmp(h.magic, fresh.magic, sizeof h.magic) == 0 && h.header_crc == crc_of(h), name_,
                 ": is no chunk of documents, or its header was damaged");
  // The header is whole, but may have been written by a stranger: nothing below trusts its numbers.
  check<IoError>(h.bytes == size - sizeof h, name_, ": has ", size - sizeof h, " bytes of documents instead of ",
                 h.bytes);
  check<IoError>(
      h.fields >= 1 && h.fields <= kMostFields && (h.width == 2 || h.width == 4) && h.documents <= h.bytes / 8, name_,
      ": has an impossible header");
  payload_ = data + sizeof h;
  check<IoError>(bytes_of_ends() <= h.bytes, name_, ": ends within the ends of its documents");
  auto at = bytes_of_ends();
  for (std::uint64_t f = 0; f < h.fields; ++f) {
    auto ends = reinterpret_cast<const std::uint64_t*>(payload_) + f * h.documents;
    auto ids = h.documents == 0 ? 0 : ends[h.documents - 1];
    check<IoError>(ids <= (h.bytes - at) / h.width && padded(ids * h.width) <= h.bytes - at, name_,
                   ": ends within the ids of field ", f);
    fields_.push_back({ends, payload_ + at, ids});
    at += padded(ids * h.width);
  }
  check<IoError>(at == h.bytes, name_, ": has bytes after its last field");
}
std::uint32_t Chunk::checksum(std::size_t begin, std::size_t n) const {
  constexpr std::size_t piece = 1 << 20;  // what of a mapped file is held at a time
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < n; at += piece) {
    crc = crc32c(payload_ + begin + at, std::min(piece, n - at), crc);
    touched_ = true;
    release();
  }
  return crc;
}
void Chunk::check_ends() const {
  std::call_once(checked_ends_, [this] {
    bool whole = checksum(0, bytes_of_ends()) == header_.ends_crc;
    for (auto& f : fields_) whole = whole && std::is_sorted(f.ends, f.ends + header_.documents);
    touched_ = true;
    check<IoError>(whole, name_, kDamaged);
    release();
  });
}
// A read of a few bytes maps up to 2 MiB of the page cache: for each chunk of a large corpus that is much.
void Chunk::release() const {
  if (mapped_ && touched_.exchange(false)) ::madvise(mapped_, mapped_bytes_, MADV_DONTNEED);
}
void Chunk::check_ids() const {
  std::call_once(checked_ids_, [this] {
    auto n = bytes_of_ends();
    check<IoError>(checksum(n, header_.bytes - n) == header_.ids_crc, name_, kDamaged);
  });
}
std::int64_t Chunk::begin(std::int64_t document, std::size_t field) const {
  check_ends();
  touched_ = true;
  return document == 0 ? 0 : static_cast<std::int64_t>(fields_[field].ends[document - 1]);
}
std::int64_t Chunk::tokens(std::size_t field) const {
  check_ends();
  return static_cast<std::int64_t>(fields_[field].tokens);
}
std::int64_t Chunk::length(std::int64_t document, std::size_t field) const {
  auto first = begin(document, field);
  return static_cast<std::int64_t>(fields_[field].ends[document]) - first;
}
void Chunk::read(std::int64_t document, std::size_t field, std::int64_t from, std::int64_t n, std::int32_t* out) const {
  check_ids();
  auto ids = fields_[field].ids + (begin(document, field) + from) * header_.width;
  if (header_.width == 2) std::copy_n(reinterpret_cast<const std::uint16_t*>(ids), n, out);
  else std::copy_n(reinterpret_cast<const std::int32_t*>(ids), n, out);
}

Store::Store(std::vector<std::shared_ptr<const Chunk>> chunks) : chunks_(std::move(chunks)) {
  std::int64_t n = 0;
  for (auto& c : chunks_) ends_.push_back(n += c->size());
}
std::int64_t Store::tokens(std::size_t field) const {
  std::int64_t n = 0;
  for (auto& c : chunks_) n += c->tokens(field);
  return n;
}
std::int64_t Store::skipped() const {
  std::int64_t n = 0;
  for (auto& c : chunks_) n += static_cast<std::int64_t>(c->header().skipped);
  return n;
}
std::pair<const Chunk*, std::int64_t> Store::find(std::int64_t document) const {
  constexpr unsigned kUses = 8;  // each may map pieces of 2 MiB
  if (uses_.fetch_add(1, std::memory_order_relaxed) % kUses == kUses - 1)
    for (auto& c : chunks_) c->release();
  auto at = std::upper_bound(ends_.begin(), ends_.end(), document) - ends_.begin();
  auto& c = chunks_[static_cast<std::size_t>(at)];
  return {c.get(), document - (ends_[static_cast<std::size_t>(at)] - c->size())};
}
std::int64_t Store::length(std::int64_t document, std::size_t field) const {
  auto [chunk, d] = find(document);
  return chunk->length(d, field);
}
void Store::read(std::int64_t document, std::size_t field, std::int64_t begin, std::int64_t n,
                 std::int32_t* out) const {
  auto [chunk, d] = find(document);
  chunk->read(d, field, begin, n, out);
}
std::vector<std::int32_t> Store::read(std::int64_t document, std::size_t field) const {
  auto [chunk, d] = find(document);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(chunk->length(d, field)));
  chunk->read(d, field, 0, static_cast<std::int64_t>(ids.size()), ids.data());
  return ids;
}
}  // namespace bora::data
