// token_store.h -- documents of ids in one block of bytes, in memory or mapped from a file: a header, for each field
// the ends of the documents, and then for each field their ids, as u16 or u32.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace bora::data {
/// The ids of a document, by field.
using Document = std::vector<std::vector<std::int32_t>>;
/// The first 80 bytes of a chunk.
struct ChunkHeader {
  char magic[8] = {'B', 'O', 'R', 'A', 'D', 'O', 'C', '1'};
  std::uint16_t fields = 0, width = 0;       // width: bytes of an id
  std::uint32_t ends_crc = 0, ids_crc = 0;   // CRC-32C of both parts
  std::uint32_t file = 0;                    // of the unit: where the next chunk begins
  std::uint64_t documents = 0, skipped = 0;  // skipped: records that were malformed
  std::uint64_t bytes = 0;                   // after this header
  std::uint64_t offset = 0, line = 0;        // in that file
  std::uint64_t read = 0;                    // bytes of the sources that it was made from
  std::uint32_t last = 0, header_crc = 0;    // last: no chunk follows; of the header before this field
};
static_assert(sizeof(ChunkHeader) == 80);

/// Gathers documents; ids below 2^16 take two bytes each if `vocabulary` allows.
class ChunkWriter {
 public:
  ChunkWriter(std::size_t fields, std::int64_t vocabulary);
  void add(const Document&);
  /// All documents of a writer with the same fields and vocabulary.
  void add(const ChunkWriter&);
  /// Makes room for ids of so many bytes in each field.
  void reserve(std::size_t bytes);
  /// The chunk's bytes; the counts and checksums of the header are filled in. The writer is empty again.
  void take(ChunkHeader, std::string& out);

 private:
  /// Bytes that grow without being set to zero first.
  class Bytes {
   public:
    char* add(std::size_t n);
    void reserve(std::size_t n);
    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    const char* data() const { return bytes_.get(); }

   private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0, room_ = 0;
  };
  std::size_t width_;
  std::uint64_t documents_ = 0;
  std::vector<std::vector<std::uint64_t>> ends_;  // by field
  std::vector<Bytes> ids_;
};
/// Documents by number. Ends and ids are checked when they are first used: lengths alone read no ids. Safe from any
/// thread.
class Chunk {
 public:
  /// Throws IoError "NAME: ..." unless the bytes have the form of a chunk; false sizes and ends are found here.
  Chunk(std::string bytes, std::string name);
  /// Maps a file.
  explicit Chunk(const std::string& path);
  ~Chunk();
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;
  const ChunkHeader& header() const { return header_; }
  std::int64_t size() const { return static_cast<std::int64_t>(header_.documents); }
  std::int64_t tokens(std::size_t field) const;
  std::int64_t length(std::int64_t document, std::size_t field) const;
  /// Ids [begin, begin + n) of a document's field.
  void read(std::int64_t document, std::size_t field, std::int64_t begin, std::int64_t n, std::int32_t* out) const;
  /// Gives back the memory of a mapped file; a later read takes it from the page cache again.
  void release() const;

 private:
  struct Field {
    const std::uint64_t* ends;  // [documents]
    const char* ids;
    std::uint64_t tokens;
  };
  /// Throw IoError if the bytes have changed since they were written.
  void check_ends() const;
  void check_ids() const;
  std::uint32_t checksum(std::size_t begin, std::size_t n) const;
  void parse(const char* data, std::size_t size);
  std::uint64_t bytes_of_ends() const { return 8 * header_.documents * header_.fields; }
  std::int64_t begin(std::int64_t document, std::size_t field) const;
  std::string owned_, name_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  const char* payload_ = nullptr;
  ChunkHeader header_ = {};
  std::vector<Field> fields_ = {};
  mutable std::once_flag checked_ends_, checked_ids_;
  mutable std::atomic<bool> touched_ = true;  // since the last release
};

/// The documents of many chunks, by number. What it maps of its files is given back every few uses, so that a
/// long run does not hold its corpus. Safe from any thread.
class Store {
 public:
  Store() = default;
  explicit Store(std::vector<std::shared_ptr<const Chunk>> chunks);
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  std::int64_t tokens(std::size_t field) const;
  std::int64_t skipped() const;
  std::int64_t length(std::int64_t document, std::size_t field) const;
  void read(std::int64_t document, std::size_t field, std::int64_t begin, std::int64_t n, std::int32_t* out) const;
  std::vector<std::int32_t> read(std::int64_t document, std::size_t field) const;

 private:
  std::pair<const Chunk*, std::int64_t> find(std::int64_t document) const;
  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::vector<std::int64_t> ends_;  // documents, by chunk
  mutable std::atomic<unsigned> uses_ = 0;
};
}  // namespace bora::data
