// Ids of tokens, which others have made: files of numbers, or records with lists of them.
#include "data/sources/source.h"

namespace bora::data {
namespace {
struct TokenFiles {
  static constexpr std::string_view type = "tokens";
  static constexpr bool has_ids = true, picks = true;
  std::string path = {};
  std::string field = "input_ids";
  IdWidth width = IdWidth::u16;
  double weight = 1;
  std::vector<WeightAt> weights_at = {};
  std::string name = {};
  std::vector<std::string> tags = {};
  bool train = true;
  static constexpr config::Meaning meanings[] = {
      kPathMeaning,
      {"field", "the field with the ids, of .jsonl, .parquet and .arrow"},
      {"width", "ids of .bin files: u16 or u32; those with a header of llm.c say it themselves"},
      kWeightMeaning, kWeightsAtMeaning, kNameMeaning, kTagsMeaning, kTrainMeaning};
  static std::optional<Format> format_of(std::string_view file) {
    auto format = data::format_of(file);
    return format == Format::csv ? std::nullopt : format;
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::SourceOf<bora::data::TokenFiles>>;
