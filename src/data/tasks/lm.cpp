// A text and nothing else: every token predicts the next one.
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct Lm {
  static constexpr std::string_view type = "lm";
  static constexpr std::size_t fields_stored = 1;

  std::string encoding() const { return "text"; }
  void need(const Record& r, const std::string& field) const { (void)r.text(field); }
  std::vector<std::string> reads(const std::string& field) const { return {field}; }
  Encode encoder(const Materials& m, const std::string& field) const { return text_encoder(m, field); }
  static Sharing how(const PackSettings& pack) {
    using enum Sharing;
    return sharing_of(pack, concat, {concat, first_fit, best_fit, none}, type);
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    return learnt_shape(positions, pack, how(pack));
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    return learnt_rows(d, m, how(m.pack), false, TooLongRow::truncate);
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Lm>>;
