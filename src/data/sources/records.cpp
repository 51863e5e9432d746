// Records with fields: lines of JSON objects, rows of comma-separated values below a header, rows of tables.
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
struct ParquetTables {
  static constexpr std::string_view type = "parquet";
  static constexpr Format format = Format::parquet;
  static constexpr bool picks = true;
};
struct ArrowTables {
  static constexpr std::string_view type = "arrow";
  static constexpr Format format = Format::arrow;
  static constexpr bool picks = true;
};
template <class Form> struct RecordFiles {
  static constexpr std::string_view type = Form::type;
  static constexpr Format format = Form::format;
  static constexpr bool picks = requires { Form::picks; };
  std::string path = {};
  std::string field = "text";
  double weight = 1;
  std::vector<WeightAt> weights_at = {};
  std::string name = {};
  std::vector<std::string> tags = {};
  bool train = true;
  static constexpr config::Meaning meanings[] = {kPathMeaning, kFieldMeaning, kWeightMeaning, kWeightsAtMeaning,
                                                 kNameMeaning, kTagsMeaning,  kTrainMeaning};
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::JsonLines>>>;
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::Csv>>>;
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::ParquetTables>>>;
template const bool bora::config::added<bora::data::SourceOf<bora::data::RecordFiles<bora::data::ArrowTables>>>;
