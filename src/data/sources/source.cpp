#include "data/sources/source.h"

namespace bora::data {
std::string_view source_type_of(const std::string& path) {
  auto format = format_of(path);
  // A table may hold ids, but is read for its texts unless a source of ids is asked for.
  for (bool ids : {false, true})
    for (auto& row : config::rows<Source>()) {
      config::Choice<Source> source{std::string_view(row.type)};
      if (format && source->has_ids() == ids && source->format(path) == format) return row.type;
    }
  return Source::initial;
}
}  // namespace bora::data
