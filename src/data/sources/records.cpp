// Records with fields: lines of JSON objects, and rows of comma-separated values below a header.
#include "data/sources/source.h"

namespace bora::data {
namespace {
struct JsonLines {
  static constexpr std::string_view type = "jsonl";
  static constexpr Format format = Format::jsonl;
};
struct Csv {
  static constexpr std::string_view type = "csv";
  static constexpr Format format = Format::csv;
};
template <class Form> struct RecordFiles {
  static constexpr std::string_view type = Form::type;
  static constexpr Format format = Form::format;
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
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::JsonLines>>>;
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::Csv>>>;
