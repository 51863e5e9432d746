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
/// Bytes of an id in files that do not say it.
enum class IdWidth : std::uint8_t { u16, u32 };
/// A source in the settings.
struct Source : config::Chosen {
  static constexpr std::string_view initial = "text", named = "path";
  virtual std::string& path() = 0;
  virtual const std::string& path() const = 0;
  virtual double weight() const = 0;
  virtual const std::vector<WeightAt>& weights_at() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::vector<std::string>& tags() const = 0;
  virtual bool train() const = 0;
  /// Of a file; nothing if the source has none of its kind.
  virtual std::optional<Format> format(std::string_view file) const = 0;
  /// Whether a folder's files of other kinds are left out: cards and lists lie beside tables.
  virtual bool picks() const = 0;
  /// The field of a record that has its text, or its ids.
  virtual std::string field() const = 0;
  /// Whether records have ids of tokens instead of text.
  virtual bool has_ids() const = 0;
  /// Ids of .bin files have four bytes.
  virtual bool wide_ids() const = 0;
};

template <class T> struct SourceOf final : config::Of<T, Source> {
  using config::Of<T, Source>::Of;
  std::string& path() override { return this->fields.path; }
  const std::string& path() const override { return this->fields.path; }
  double weight() const override { return this->fields.weight; }
  const std::vector<WeightAt>& weights_at() const override { return this->fields.weights_at; }
  const std::string& name() const override { return this->fields.name; }
  const std::vector<std::string>& tags() const override { return this->fields.tags; }
  bool train() const override { return this->fields.train; }
  std::optional<Format> format(std::string_view file) const override {
    if constexpr (requires { T::format; }) return T::format;
    else return this->fields.format_of(file);
  }
  bool picks() const override {
    if constexpr (requires { T::picks; }) return T::picks;
    else return false;
  }
  bool has_ids() const override {
    if constexpr (requires { T::has_ids; }) return T::has_ids;
    else return false;
  }
  bool wide_ids() const override {
    if constexpr (requires { this->fields.width; }) return this->fields.width == IdWidth::u32;
    else return false;
  }
  std::string field() const override {
    if constexpr (requires { this->fields.field; }) return this->fields.field;
    else return "text";
  }
};
/// The type of a source for a file, by its name; the initial one if no source has such names.
std::string_view source_type_of(const std::string& path);
inline constexpr config::Meaning kPathMeaning{"path", "a file, a folder or a pattern such as data/*.gz; must be given"},
    kFieldMeaning{"field", "the field with the text"},
    kWeightMeaning{"weight", "share of the rows, relative to the other sources'"},
    kWeightsAtMeaning{"weights_at", "other weights from given steps on: a list of {step, weight}"},
    kNameMeaning{"name", "of the source's numbers, eval/NAME/loss; sources that have names are evaluated each; empty: "
                         "the last word of its path"},
    kTagsMeaning{"tags", "sources that have tags are evaluated each, and together with others of a tag"},
    kTrainMeaning{"train", "false: all of its documents are held out, for evaluation only"};
}  // namespace bora::data
