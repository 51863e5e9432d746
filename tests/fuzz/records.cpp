// A file of records; its first byte says which. Records do not depend on blocks nor on the place where reading begins.
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
struct Seen {
  std::string bytes;
  std::int64_t line;
  Position behind;
  friend bool operator==(const Seen&, const Seen&) = default;
};
/// The fields of a record, read in all ways.
void look(const Layout& layout, const Raw& raw) try {
  Record record(layout, raw);
  for (std::string_view field : {"text", "t", "a"}) {
    if (!record.has(field)) continue;
    try {
      if (record.text(field).size() > 3 * raw.bytes.size()) std::abort();
    } catch (const ConfigError&) {}
    try {
      record.number(field);
    } catch (const ConfigError&) {}
    try {
      record.turns(field);
    } catch (const ConfigError&) {}
  }
  record.text("nothing");
} catch (const ConfigError&) {}
/// The records from a position to the end, or to the damage.
std::vector<Seen> read(const SourceFile& file, Format format, Position from, std::int64_t block, bool& damaged) {
  std::vector<Seen> seen;
  try {
    RecordReader reader(file, format, from, {.record = 100, .document = 60, .block = block});
    for (Raw raw;;) try {
        if (!reader.next(raw)) return seen;
        seen.push_back({raw.bytes, raw.line, reader.position()});
        if (seen.back().behind.offset < 0 || raw.bytes.size() > 100) std::abort();
        look(*reader.layout(), raw);
      } catch (const ConfigError& e) { seen.push_back({e.what(), 0, reader.position()}); }
  } catch (const IoError&) { damaged = true; } catch (const ConfigError&) {
  }  // of the header
  return seen;
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const test::TempFolder temp;
  if (n == 0) return 0;
  const char* endings[] = {"", ".gz", ".zst", ""};
  const Format formats[] = {Format::text, Format::jsonl, Format::csv, Format::jsonl};
  SourceFile file{temp / "records" + endings[data[0] / 4 % 4], static_cast<std::int64_t>(n) - 1};
  std::ofstream(file.path, std::ios::binary).write(reinterpret_cast<const char*>(data + 1), file.bytes);
  auto format = formats[data[0] % 4];
  bool damaged = false;
  auto all = read(file, format, {}, 64, damaged), others = read(file, format, {}, 1 + data[0] / 16, damaged);
  if (damaged) {  // what came before the damage may end at another place
    for (std::size_t i = 0; i < std::min(all.size(), others.size()); ++i)
      if (all[i] != others[i]) std::abort();
  } else {
    if (all != others) std::abort();
    auto i = all.empty() ? 0 : data[0] % all.size();
    if (!all.empty() && read(file, format, all[i].behind, 50, damaged) !=
                            std::vector<Seen>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()))
      std::abort();
  }
  std::filesystem::remove(file.path);
  return 0;
}
