// Masked language modelling: an encoder predicts hidden tokens of a text from all others.
#include "bora/data/masks.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct HiddenRows final : Dataset {
  HiddenRows(std::shared_ptr<const Dataset> r, const MaskOptions& o, MaskTokens t)
      : rows(std::move(r)), options(o), tokens(std::move(t)) {}
  std::int64_t size() const override { return rows->size(); }
  std::int64_t filled() const override { return rows->filled(); }
  void at(const Place& place, const Row& row) const override {
    rows->at(place, row);
    auto n = static_cast<std::size_t>(*row.filled);
    auto learnt = hide_tokens({row.tokens, n}, options, tokens, draws_of(place));
    for (std::size_t i = 0; i < n; ++i) row.weights[i] = learnt[i] ? 1.0F : 0.0F;
  }
  std::shared_ptr<const Dataset> rows;
  MaskOptions options;
  MaskTokens tokens;
};
struct Mlm {
  static constexpr std::string_view type = "mlm";
  static constexpr std::size_t fields_stored = 1;
  double rate = MaskOptions().rate, masked = MaskOptions().masked, random = MaskOptions().random;
  bool whole_words = false;
  std::string mask = {};
  static constexpr config::Meaning meanings[] = {
      {"rate", "share of the tokens that are learnt"},
      {"masked", "share of these that are hidden behind the mask token"},
      {"random", "share of these that are hidden behind any token; the rest stays in sight"},
      {"whole_words", "a word is learnt with all of its tokens, or not at all"},
      {"mask", "the mask token; empty: [MASK] or <mask>"}};

  void check() const {
    config::domain(rate > 0 && rate < 1, "rate", rate, "between 0 and 1");
    config::domain(masked >= 0 && masked <= 1, "masked", masked, "from 0 to 1");
    config::domain(random >= 0 && masked + random <= 1 + 1e-9, "random", random, "from 0 to 1 - masked");
  }
  std::string encoding() const { return "text"; }
  void need(const Record& r, const std::string& field) const { (void)r.text(field); }
  std::vector<std::string> reads(const std::string& field) const { return {field}; }
  Encode encoder(const Materials& m, const std::string& field) const { return text_encoder(m, field); }
  static Sharing how(const PackSettings& pack) {
    using enum Sharing;
    return sharing_of(pack, concat, {concat, first_fit, best_fit, none}, type);
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    auto shape = learnt_shape(positions, pack, how(pack));
    shape.in_place = true;
    return shape;
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    return std::make_shared<HiddenRows>(learnt_rows(d, m, how(m.pack), Learning::in_place),
                                        MaskOptions{rate, masked, random, whole_words},
                                        MaskTokens::of(*m.tokenizer, mask));
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Mlm>>;
