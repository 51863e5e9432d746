// Prefix language modelling (Raffel et al. 2020, section 3.2.1): a text is cut at a random place; what comes before is
// given, the rest is learnt.
#include "bora/data/around.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
/// For a decoder alone: rows of a language model, in which each document's beginning has no weight.
struct MaskedRows final : Dataset {
  explicit MaskedRows(std::shared_ptr<const Dataset> r) : rows(std::move(r)) {}
  std::int64_t size() const override { return rows->size(); }
  std::int64_t filled() const override { return rows->filled(); }
  void at(const Place& place, const Row& row) const override {
    rows->at(place, row);
    auto draw = draws_of(place);
    auto end = static_cast<std::int64_t>(*row.filled);
    for (std::int64_t begin = 0, next = 0; begin < end; begin = next) {
      for (next = begin + 1; next < end && (!row.segments || row.segments[next] == row.segments[begin]);) ++next;
      auto given = draw.integer(0, next - begin);
      std::fill(row.weights + begin, row.weights + begin + given, 0.0F);
    }
  }
  std::shared_ptr<const Dataset> rows;
};
/// For an encoder and a decoder: pieces of the text, cut in two.
struct SplitRows final : Dataset {
  SplitRows(std::shared_ptr<const Tokens> t, std::int64_t n, std::int32_t start_token)
      : tokens(std::move(t)), length(n), start(start_token) {}
  std::int64_t size() const override { return tokens->size() / length; }
  std::int64_t filled() const override { return size() * (length / 2); }  // on average
  void at(const Place& place, const Row& row) const override {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
    tokens->read(place.index * length + pass_shift(place, length), length, ids.data());
    auto cut = static_cast<std::size_t>(draws_of(place).integer(1, length));
    put_encoder(row, std::span(ids).first(cut));
    put_decoder(row, std::span(ids).subspan(cut), start);
  }
  std::shared_ptr<const Tokens> tokens;
  std::int64_t length;
  std::int32_t start;
};
struct Prefix {
  static constexpr std::string_view type = "prefix";
  static constexpr std::size_t fields_stored = 1;
  bool encoder_rows = false;
  static constexpr config::Meaning meanings[] = {
      {"encoder_rows", "what is given goes to an encoder; otherwise a decoder sees it, without a loss"}};

  std::string encoding() const { return "text"; }
  void need(const Record& r, const std::string& field) const { (void)r.text(field); }
  std::vector<std::string> reads(const std::string& field) const { return {field}; }
  Encode encoder(const Materials& m, const std::string& field) const { return text_encoder(m, field); }
  Sharing how(const PackSettings& pack) const {
    using enum Sharing;
    if (encoder_rows) return sharing_of(pack, concat, {concat}, type);
    return sharing_of(pack, concat, {concat, first_fit, best_fit, none}, type);
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    if (!encoder_rows) return learnt_shape(positions, pack, how(pack));
    (void)how(pack);
    return {.positions = positions - 1, .inputs = positions - 1};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    if (encoder_rows) {
      auto end = m.tokenizer->encode("");
      Around(*m.tokenizer).append_end(end);
      bora::check<ConfigError>(!end.empty(), "data.task: prefix with encoder_rows needs a tokenizer that can end a "
                               "document, by a token or a newline; its rows would join documents without a sign of it");
      return std::make_shared<SplitRows>(stream_of(d), m.positions, start_of(*m.tokenizer));
    }
    return std::make_shared<MaskedRows>(learnt_rows(d, m, how(m.pack), false, TooLongRow::truncate));
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Prefix>>;
