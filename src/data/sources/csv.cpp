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
[[maybe_unused]] const bool added = config::add<SourceOf<Csv>>();
}  // namespace
}  // namespace bora::data
