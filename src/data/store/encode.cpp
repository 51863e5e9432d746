#include "data/store/encode.h"
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <algorithm>
#include <exception>
#include <future>
#include <utility>
#include "bora/base/error.h"
#include "bora/base/parallel.h"

namespace bora::data {
namespace {
constexpr std::int64_t kChunkBytes = 16 << 20;  // of records, before a chunk is cut
constexpr std::size_t kBatchBytes = 128 << 10, kBatchRecords = 2048, kMostFiles = 4096;
constexpr int kWaiting = 32;  // batches that are encoded while one waits for an earlier one

/// Records on their way to a chunk.
struct Batch {
  std::shared_ptr<const Layout> layout = {};
  std::vector<Raw> records = {};
  std::optional<ChunkWriter> documents = {};  // narrow at once: their ids are in the processor's cache only now
  std::uint64_t skipped = 0;
  std::exception_ptr error = {};   // of the first malformed record, or of reading
  std::optional<Cursor> cut = {};  // a chunk ends here
  std::uint64_t read = 0;          // bytes of records in that chunk
  std::int64_t stored = 0;         // bytes of files that this batch finishes or reads
};

void encode(const Recipe& recipe, Batch& batch) {
  batch.documents.emplace(recipe.fields, recipe.vocabulary);
  batch.documents->reserve(kBatchBytes);  // room for an id of two bytes for every two bytes of text
  for (auto& raw : batch.records) {
    Document d(recipe.fields);
    try {
      recipe.encode(Record(*batch.layout, raw, recipe.rule), d);
      batch.documents->add(d);
    } catch (const ConfigError&) {
      if (recipe.skip) ++batch.skipped;
      else {
        batch.error = std::current_exception();  // comes before an error of reading, which ended the batch
        break;
      }
    }
  }
  batch.records = {};
}
}  // namespace

/// Reads the records of a unit in order.
class Encoder::Reader {
 public:
  Reader(const Recipe& recipe, const Unit& unit, const Cursor& from)
      : recipe_(recipe), unit_(unit), at_(from), sums_(unit.end - unit.begin) {}
  /// It stops at the first end of a chunk behind that time.
  void go_on(std::chrono::steady_clock::time_point until) {
    until_ = until;
    stopped_ = false;
  }
  /// Null at the end.
  std::shared_ptr<Batch> next() {
    if (at_.done || stopped_) return nullptr;
    auto batch = std::make_shared<Batch>();
    try {
      fill(*batch);
    } catch (const std::exception&) {
      batch->error = std::current_exception();
      stopped_ = true;
    }
    return batch;
  }
  bool done() const { return at_.done; }
  const std::vector<std::optional<std::uint32_t>>& sums() const { return sums_; }

 private:
  void fill(Batch& batch) {
    auto& file = recipe_.files[unit_.begin + at_.file];
    auto& formats = recipe_.formats;
    auto format = formats.size() == 1 ? formats[0] : formats[unit_.begin + at_.file];
    if (!reader_) reader_.emplace(file, format, at_.position, Limits{}, recipe_.selection);
    batch.layout = reader_->layout();
    bool more = true;
    std::size_t bytes = 0;
    while (bytes < kBatchBytes && batch.records.size() < kBatchRecords) {
      Raw raw;
      try {
        if (!(more = reader_->next(raw))) break;
      } catch (const ConfigError&) {
        if (!recipe_.skip) throw;
        ++batch.skipped;
        continue;
      }
      bytes += raw.bytes.size();
      batch.records.push_back(std::move(raw));
    }
    auto before = std::min(at_.position.offset, file.bytes);  // compressed files: more than they have stored
    at_.position = reader_->position();
    chunk_ += static_cast<std::int64_t>(bytes);
    if (!more) {
      batch.stored = file.bytes - before;
      sums_[at_.file] = reader_->stored_crc();
      reader_.reset();
      at_ = {at_.file + 1, {}, unit_.begin + at_.file + 1 == unit_.end};
    } else batch.stored = std::min(at_.position.offset, file.bytes) - before;
    if (at_.done || chunk_ >= kChunkBytes) {
      batch.cut = at_;
      batch.read = static_cast<std::uint64_t>(chunk_);
      chunk_ = 0;
      stopped_ = std::chrono::steady_clock::now() >= until_;
    }
  }
  const Recipe& recipe_;
  const Unit& unit_;
  Cursor at_;
  std::vector<std::optional<std::uint32_t>> sums_;
  std::chrono::steady_clock::time_point until_ = {};
  std::optional<RecordReader> reader_ = {};
  std::int64_t chunk_ = 0;
  bool stopped_ = false;
};

std::vector<Unit> units_of(const std::vector<SourceFile>& files) {
  std::vector<Unit> units;
  for (std::size_t f = 0; f < files.size(); ++f) {
    bool joins = !units.empty() && units.back().bytes + files[f].bytes <= kChunkBytes &&
                 units.back().end - units.back().begin < kMostFiles;
    if (!joins) units.push_back({f, f, 0});
    units.back().end = f + 1;
    units.back().bytes += files[f].bytes;
  }
  return units;
}
Encoder::Encoder(const Recipe& recipe, const Unit& unit, Cursor from)
    : recipe_(recipe), reader_(std::make_unique<Reader>(recipe, unit, from)) {}
Encoder::~Encoder() = default;
bool Encoder::done() const { return reader_->done(); }
const std::vector<std::optional<std::uint32_t>>& Encoder::sums() const { return reader_->sums(); }
void Encoder::run(std::chrono::steady_clock::time_point until, const std::function<void(std::string&)>& commit,
                  const std::function<void(std::int64_t)>& progress) {
  using BatchPtr = std::shared_ptr<Batch>;
  reader_->go_on(until);
  // Two chunks take turns, one that grows and one that is written: this thread encodes on instead of waiting for a
  // disk, and memory that they once had stays theirs.
  ChunkWriter chunk(recipe_.fields, recipe_.vocabulary), whole(recipe_.fields, recipe_.vocabulary);
  std::string bytes;
  std::uint64_t skipped = 0;
  std::future<void> writing;
  auto write = [&](const ChunkHeader& h) {
    if (writing.valid()) writing.get();
    std::swap(chunk, whole);
    // If no thread can be started, the next call or the end writes it.
    writing = std::async(std::launch::async | std::launch::deferred, [&, h] {
      whole.take(h, bytes);
      commit(bytes);
    });
  };
  auto read = [&](tbb::flow_control& flow) {
    auto batch = reader_->next();
    if (!batch) flow.stop();
    return batch;
  };
  auto work = [&](BatchPtr batch) {
    encode(recipe_, *batch);
    return batch;
  };
  auto gather = [&](const BatchPtr& batch) {
    chunk.add(*batch->documents);
    batch->documents.reset();
    skipped += batch->skipped;
    if (batch->error) std::rethrow_exception(batch->error);
    progress(batch->stored);
    if (!batch->cut) return;
    ChunkHeader h;
    h.skipped = std::exchange(skipped, 0);
    h.file = static_cast<std::uint32_t>(batch->cut->file);
    h.last = batch->cut->done;
    h.offset = static_cast<std::uint64_t>(batch->cut->position.offset);
    h.line = static_cast<std::uint64_t>(batch->cut->position.line);
    h.read = batch->read;
    write(h);
  };
  using tbb::filter_mode;
  tbb::task_arena(thread_count()).execute([&] {
    tbb::parallel_pipeline(static_cast<std::size_t>(kWaiting + 2 * thread_count()),
                           tbb::make_filter<void, BatchPtr>(filter_mode::serial_in_order, read) &
                               tbb::make_filter<BatchPtr, BatchPtr>(filter_mode::parallel, work) &
                               tbb::make_filter<BatchPtr, void>(filter_mode::serial_in_order, gather));
  });
  if (writing.valid()) writing.get();
}
}  // namespace bora::data
