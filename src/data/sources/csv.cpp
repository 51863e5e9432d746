// Rows of comma-separated values below a header.
#include "data/source.h"

namespace bora::data {
namespace {
struct Csv {
  static constexpr std::string_view type = "csv";
  static constexpr Format format = Format::csv;
  std::string path = {};
  std::string field = "text";
  double weight = 1;
  std::vector<WeightAt> weights_at = {};
  std::vector<std::string> tags = {};
  bool train = true;
  static constexpr config::Meaning meanings[] = {kPathMeaning,      kFieldMeaning, kWeightMeaning,
                                                 kWeightsAtMeaning, kTagsMeaning,  kTrainMeaning};
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::SourceOf<bora::data::Csv>>;
