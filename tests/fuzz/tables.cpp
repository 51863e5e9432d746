// A table or a file of ids; its first byte says which. Its rows are read in all ways, and again from one of them on.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include "bora/base/error.h"
#include "data/api/records.h"
#include "support/temp_folder.h"

using namespace bora;
using namespace bora::data;
namespace {
constexpr std::size_t kMostRows = 300;
/// Reads from a position on; returns the rows' bytes.
std::vector<std::string> read(const SourceFile& file, Position from) {
  std::vector<std::string> rows;
  try {
    RecordReader reader(file, *format_of(file.path), from, {}, {.columns = {}, .end = 7});
    for (Raw raw; rows.size() < kMostRows;) try {
        if (!reader.next(raw)) break;
        rows.push_back(raw.bytes);
        Record record(*reader.layout(), raw);
        for (auto& field : reader.layout()->header) {
          for (auto call : {+[](const Record& r, const std::string& f) { (void)r.text(f); },
                            +[](const Record& r, const std::string& f) { (void)r.numbers(f); },
                            +[](const Record& r, const std::string& f) { (void)r.turns(f); }})
            try {
              call(record, field);
            } catch (const ConfigError&) {}
        }
      } catch (const ConfigError&) { rows.emplace_back("malformed"); }
  } catch (const Error&) {}
  return rows;
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const test::TempFolder temp;
  if (n == 0) return 0;
  const char* endings[] = {".parquet", ".arrow", ".bin", ".npy"};
  SourceFile file{temp / "table" + endings[data[0] % 4], static_cast<std::int64_t>(n) - 1};
  std::ofstream(file.path, std::ios::binary).write(reinterpret_cast<const char*>(data + 1), file.bytes);
  auto all = read(file, {});
  if (data[0] % 4 == 1 && all.size() > 1 && all.size() < kMostRows) {
    // From the last row on there is this row. (A page of Parquet that lies and is passed over is found out only where
    // one behind it ends.)
    auto rest = read(file, {0, static_cast<std::int64_t>(all.size())});
    if (!rest.empty() && rest[0] != all.back()) std::abort();
  }
  std::filesystem::remove(file.path);
  return 0;
}
