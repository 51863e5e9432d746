#include "app/texts.h"
#include "data/records.h"

namespace bora::app {
namespace {
constexpr std::size_t kAtOnce = 16 << 20;  // bytes of texts
data::Format format_of(const std::string& path) {
  auto ends = [&](const std::string& word) {
    return path.ends_with(word) || path.ends_with(word + ".gz") || path.ends_with(word + ".zst");
  };
  return ends(".jsonl") ? data::Format::jsonl : ends(".csv") ? data::Format::csv : data::Format::text;
}
}  // namespace

std::int64_t read_texts(const std::vector<std::string>& files, const std::string& field,
                        const std::function<void(const std::vector<std::string_view>&)>& f) {
  std::int64_t total = 0;
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  auto give = [&] {
    if (!texts.empty()) f({texts.begin(), texts.end()});
    total += static_cast<std::int64_t>(bytes);
    texts.clear();
    bytes = 0;
  };
  for (auto& pattern : files)
    for (auto& file : data::list_files(pattern)) {
      auto format = format_of(file.path);
      data::RecordReader reader(file, format, {}, {.document = kAtOnce});
      auto layout = reader.layout();
      for (data::Raw raw; reader.next(raw);) {
        if (format == data::Format::text) texts.push_back(std::move(raw.bytes));
        else texts.push_back(data::Record(*layout, raw).text(field));
        bytes += texts.back().size();
        if (bytes >= kAtOnce) give();
      }
    }
  give();
  return total;
}
}  // namespace bora::app
