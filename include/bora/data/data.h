// data.h -- data in the settings: a choice that opens two datasets, for training and held out.
#pragma once
#include <functional>
#include "bora/config/choice.h"
#include "bora/data/dataset.h"
#include "bora/text/tokenizer.h"

namespace bora::data {
/// The ranks that open the same data together; a process alone has the defaults.
struct Crew {
  int rank = 0, size = 1;
  /// Gives every rank's text to all of them, in their order; all call it. `what`: in errors.
  std::function<std::vector<std::string>(const std::string& mine, std::string_view what)> exchange =
      [](const std::string& mine, std::string_view) { return std::vector<std::string>{mine}; };
  std::function<void(const std::string& line)> say = [](const std::string&) {};
  /// Bytes of the sources read so far, and all of them.
  std::function<void(std::int64_t done, std::int64_t total)> progress = [](std::int64_t, std::int64_t) {};
};
struct Opening {  // what data is opened for
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::int64_t positions;  // of the model
  std::int64_t batch = 1;  // rows of a step
  Crew crew = {};
  std::vector<std::string> labels = {};  // the classes that the model tells apart
};
/// Data in the settings. A type of its own is one source file: an aggregate with `paths`, `shape`, `check_files` and
/// `open`, perhaps `cache` and `holds_out`.
struct Data : config::Chosen {
  static constexpr std::string_view initial = "text", named = "path";
  static const config::Forms forms;
  virtual std::vector<std::string*> paths() = 0;  // of what is read
  virtual std::string* cache() = 0;               // a folder that is written, or null
  /// Throws ConfigError as open would, without reading all of the data.
  virtual void check_files(std::int64_t positions) const = 0;
  virtual RowShape shape(std::int64_t positions) const = 0;
  virtual bool holds_out() const = 0;  // rows to evaluate: else open gives none
  /// The files that are read, in a line for each source: their number, sizes and samples of their contents, which are
  /// the same on all hosts that have the same data. Empty: unknown. Throws as check_files.
  virtual std::vector<std::string> prints(const Opening&) const { return {}; }
  /// All ranks call it. Throws ConfigError, IoError; also if the ranks have different files.
  virtual Datasets open(const Opening&) const = 0;
};
/// The kind whose settings are T's fields.
template <class T> struct DataOf final : config::Of<T, Data> {
  using config::Of<T, Data>::Of;
  std::vector<std::string*> paths() override { return this->fields.paths(); }
  std::string* cache() override {
    if constexpr (requires { this->fields.cache; }) return &this->fields.cache;
    else return nullptr;
  }
  void check_files(std::int64_t positions) const override { this->fields.check_files(positions); }
  std::vector<std::string> prints(const Opening& o) const override {
    if constexpr (requires { this->fields.prints(o); }) return this->fields.prints(o);
    else return {};
  }
  RowShape shape(std::int64_t positions) const override { return this->fields.shape(positions); }
  bool holds_out() const override {
    if constexpr (requires { this->fields.holds_out(); }) return this->fields.holds_out();
    else return true;
  }
  Datasets open(const Opening& o) const override { return this->fields.open(o); }
};
/// Whether a pattern (a file, a folder or a glob) would match files of these names in a folder, which need not exist.
bool would_read(const std::string& pattern, const std::string& folder, const std::vector<std::string>& names);
/// The path without '..', from the root; empty stays empty.
std::string absolute_path(const std::string&);
}  // namespace bora::data
