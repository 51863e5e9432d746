// encode.h -- the records of files become chunks of documents: one thread reads, all of them encode, one gathers.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>
#include "data/api/records.h"
#include "data/store/token_store.h"

namespace bora::data {
/// How the records of some files become documents.
struct Recipe {
  std::vector<SourceFile> files = {};
  std::vector<Format> formats = {};  // of the files; one: of all
  Selection selection = {};
  std::size_t fields = 1;  // of a document
  std::int64_t vocabulary = 0;
  bool skip = false;  // malformed records are counted instead of being an error
  TextRule rule = {};
  /// Called by many threads. Throws ConfigError for a record that does not have what is needed.
  std::function<void(const Record&, Document&)> encode = {};
};
/// Files [begin, end) of a recipe: small ones together, a large one alone. Units do not depend on anything else.
struct Unit {
  std::size_t begin = 0, end = 0;
  std::int64_t bytes = 0;
};
std::vector<Unit> units_of(const std::vector<SourceFile>&);
/// The place in a unit where its next chunk begins.
struct Cursor {
  std::size_t file = 0;  // of the unit
  Position position = {};
  bool done = false;
};
/// Encodes the chunks of a unit in order. Chunks do not depend on threads or on where a call stopped.
class Encoder {
 public:
  /// The recipe and the unit must outlive it.
  Encoder(const Recipe&, const Unit&, Cursor from);
  ~Encoder();
  /// Goes on until the unit's end or until `until` has passed, and gives each chunk to commit(its bytes, which may be
  /// moved from), called by one thread at a time. progress(bytes read since the last call): of files as they are
  /// stored. Throws the first record's error, in their order; an encoder that threw is of no use any more.
  void run(std::chrono::steady_clock::time_point until, const std::function<void(std::string& bytes)>& commit,
           const std::function<void(std::int64_t bytes)>& progress);
  bool done() const;
  /// CRC-32C of the unit's files as they were read; nothing for a file of which this encoder read only a part.
  const std::vector<std::optional<std::uint32_t>>& sums() const;

 private:
  class Reader;
  const Recipe& recipe_;
  std::unique_ptr<Reader> reader_;
};
}  // namespace bora::data
