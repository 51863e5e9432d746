// Text files: a file is a document, or its entries between lines of '%'.
#include "data/sources/source.h"

namespace bora::data {
namespace {
struct TextFiles {
  static constexpr std::string_view type = "text";
  static constexpr Format format = Format::text;
  std::string path = {};
  double weight = 1;
  std::vector<WeightAt> weights_at = {};
  std::string name = {};
  std::vector<std::string> tags = {};
  bool train = true;
  static constexpr config::Meaning meanings[] = {kPathMeaning, kWeightMeaning, kWeightsAtMeaning, kNameMeaning,
                                                 kTagsMeaning, kTrainMeaning};
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::SourceOf<bora::data::TextFiles>>;
