// Inputs for an encoder and targets for a decoder, each cut and padded by itself.
#include "bora/data/around.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
/// ids without those beyond n: of their end, or of their beginning.
std::span<const std::int32_t> cut(const std::vector<std::int32_t>& ids, std::int64_t n, bool end) {
  std::span all(ids);
  auto most = std::min(all.size(), static_cast<std::size_t>(n));
  return end ? all.first(most) : all.last(most);
}
struct PairLengths {
  std::int64_t decoder;  // tokens of a row
  bool trunc_end, decoder_trunc_end, pad_right;
};
struct PairRows final : Dataset {
  PairRows(StoredDocuments d, const PairLengths& l, std::vector<std::int32_t> p, std::int32_t start_token)
      : documents(std::move(d)), lengths(l), prefix(std::move(p)), start(start_token) {}
  std::int64_t size() const override { return documents.size(); }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size(); ++i)
      n += std::min(documents.length(i, 1) + static_cast<std::int64_t>(prefix.size()), lengths.decoder);
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    put_encoder(row, cut(documents.read(place.index, 0), row.shape.inputs, lengths.trunc_end), !lengths.pad_right);
    auto given = static_cast<std::int64_t>(prefix.size());
    auto target = documents.read(place.index, 1);
    auto learnt = cut(target, row.shape.positions - given, lengths.decoder_trunc_end);
    auto ids = prefix;
    ids.insert(ids.end(), learnt.begin(), learnt.end());
    put_decoder(row, ids, start, given, !lengths.pad_right);
  }
  StoredDocuments documents;
  PairLengths lengths;
  std::vector<std::int32_t> prefix;
  std::int32_t start;
};

struct Seq2Seq {
  static constexpr std::string_view type = "seq2seq";
  static constexpr std::size_t fields_stored = 2, token_fields = 2;
  std::string input = "input", target = "target";
  std::int64_t max_len = 0, decoder_max_len = 0;
  bool trunc_end = true, decoder_trunc_end = true;
  std::string decoder_prefix_str = {};
  bool pad_right = true;
  static constexpr config::Meaning meanings[] = {
      {"input", "the field with the encoder's text"},
      {"target", "the field with the text that the decoder learns"},
      {"max_len", "tokens of the encoder's rows; 0: model.positions"},
      {"decoder_max_len", "tokens of the decoder's rows; 0: model.positions"},
      {"trunc_end", "inputs that are too long lose their end; false: their beginning"},
      {"decoder_trunc_end", "the same of targets"},
      {"decoder_prefix_str", "text in front of each target, which is given and not learnt"},
      {"pad_right", "rows are padded behind their tokens; false: in front of them"}};

  void check() const {
    config::domain(max_len >= 0, "max_len", max_len, "0 or more tokens");
    config::domain(decoder_max_len >= 0, "decoder_max_len", decoder_max_len, "0 or more tokens");
  }
  std::string encoding() const { return "seq2seq\t" + input + "\t" + target; }
  void need(const Record& r, const std::string&) const { (void)r.text(input), (void)r.text(target); }
  std::vector<std::string> reads(const std::string&) const { return {input, target}; }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r, Document& d) {
      d[0] = tokenizer->encode(r.text(input));
      d[1] = tokenizer->encode(r.text(target));
      for (auto& ids : d) around.append_end(ids);
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    auto n = decoder_max_len > 0 ? decoder_max_len : positions;
    bora::check<ConfigError>(n <= positions, "data.task.decoder_max_len: ", n, " is more than the model's positions, ",
                             positions, " (model.positions)");
    // Padding in front of the tokens is another segment, so that they do not attend to it.
    return {.positions = n,
            .segments = !pad_right,
            .restart_positions = !pad_right,
            .inputs = max_len > 0 ? max_len : positions};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    std::vector<std::int32_t> prefix;
    if (!decoder_prefix_str.empty())
      prefix = Around(*m.tokenizer).without_end(m.tokenizer->encode(decoder_prefix_str));
    auto positions = shape(m.positions, m.pack).positions;
    bora::check<ConfigError>(static_cast<std::int64_t>(prefix.size()) < positions, "data.task.decoder_prefix_str: its ",
                             prefix.size(), " tokens leave none of a row of ", positions, " to the target");
    return std::make_shared<PairRows>(d, PairLengths{positions, trunc_end, decoder_trunc_end, pad_right},
                                      std::move(prefix), start_of(*m.tokenizer));
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Seq2Seq>>;
