// state.h -- what a reader of records is in, by the kind of its file.
#pragma once
#include "data/api/records.h"

namespace bora::data {
struct RecordReader::State {
  virtual ~State() = default;
  /// RecordReader::next. `behind` stands behind the record afterwards, also behind a malformed one.
  virtual bool next(Raw& raw) = 0;
  virtual std::optional<std::uint32_t> stored_crc() const { return {}; }
  std::shared_ptr<const Layout> layout = {};
  Position behind = {};
};
}  // namespace bora::data
