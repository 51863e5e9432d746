#include "data/api/records.h"
#include "bora/data/training_texts.h"

namespace bora::data {
namespace {
constexpr std::size_t kAtOnce = 16 << 20;  // bytes of texts
}  // namespace

std::int64_t read_texts(const std::vector<std::string>& patterns, const std::string& field,
                        const std::function<void(const std::vector<std::string_view>&)>& f) {
  std::vector<std::string> texts;
  std::int64_t bytes = 0;
  std::size_t held = 0;
  auto give = [&] {
    f({texts.begin(), texts.end()});
    bytes += static_cast<std::int64_t>(held);
    texts.clear();
    held = 0;
  };
  for (auto& pattern : patterns)
    for (auto& file : list_files(pattern)) {
      auto format = format_of(file.path).value_or(Format::text);
      RecordReader reader(file, format, {}, {.document = kAtOnce}, {.columns = {field}});
      for (Raw raw; reader.next(raw);) {
        bool whole = format == Format::text;
        texts.push_back(Record(*reader.layout(), raw).text(whole ? "text" : field));
        held += texts.back().size();
        if (held >= kAtOnce) give();
      }
    }
  give();
  return bytes;
}
}  // namespace bora::data
