// source.h -- where documents come from: a source of the settings is one file with an aggregate of its keys (`path`,
// `weight`, `weights_at` and what else it needs), and the line that adds it to the registry.
#pragma once
#include "bora/config/choice.h"
#include "data/api/records.h"

namespace bora::data {
/// Another weight from a step on.
struct WeightAt {
  std::int64_t step = 0;
  double weight = 1;
  static constexpr config::Meaning meanings[] = {{"step", "updates made before the weight is this one"},
                                                 {"weight", "share of the rows, relative to the other sources'"}};
};
/// A source in the settings.
struct Source : config::Chosen {
  static constexpr std::string_view initial = "text", named = "path";
  virtual std::string& path() = 0;
  virtual const std::string& path() const = 0;
  virtual double weight() const = 0;
  virtual const std::vector<WeightAt>& weights_at() const = 0;
  virtual const std::vector<std::string>& tags() const = 0;
  virtual bool train() const = 0;
  virtual Format format() const = 0;
  /// The field of a record that has its text.
  virtual std::string field() const = 0;
};
template <class T> struct SourceOf final : config::Of<T, Source> {
  using config::Of<T, Source>::Of;
  std::string& path() override { return this->fields.path; }
  const std::string& path() const override { return this->fields.path; }
  double weight() const override { return this->fields.weight; }
  const std::vector<WeightAt>& weights_at() const override { return this->fields.weights_at; }
  const std::vector<std::string>& tags() const override { return this->fields.tags; }
  bool train() const override { return this->fields.train; }
  Format format() const override { return T::format; }
  std::string field() const override {
    if constexpr (requires { this->fields.field; }) return this->fields.field;
    else return "text";
  }
};
inline constexpr config::Meaning kPathMeaning{"path", "a file, a folder or a pattern such as data/*.gz; must be given"},
    kFieldMeaning{"field", "the field with the text"},
    kWeightMeaning{"weight", "share of the rows, relative to the other sources'"},
    kWeightsAtMeaning{"weights_at", "other weights from given steps on: a list of {step, weight}"},
    kTagsMeaning{"tags", "sources that have tags are evaluated each, and together with others of a tag"},
    kTrainMeaning{"train", "false: all of its documents are held out, for evaluation only"};
}  // namespace bora::data
