// tracker.h -- the numbers of a run, step by step, in files that other programs read. A tracker is an aggregate whose
// fields are its settings, in a source of its own that registers it:
//   struct Jsonl {
//     static constexpr std::string_view type = "jsonl";          its word in settings
//     static constexpr std::string_view file = "metrics.jsonl";  its file or folder inside the run's folder
//     std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const;
//   };
//   template const bool bora::config::added<bora::track::TrackerOf<bora::track::Jsonl>>;   (outside of namespaces)
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include "bora/config/choice.h"

namespace bora::track {
/// Numbers by name, as {"train/loss", 2.31}.
using Values = std::vector<std::pair<std::string, double>>;

/// An open record of one run; one process writes it.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Goes on with the new file if the one that it writes was replaced meanwhile, and begins a removed or renamed one
  /// anew if its folder exists: then it is true. Adds no number.
  virtual bool follow() { return false; }
  /// Adds numbers of a step; they are in the file when it returns. A step may have several records. Numbers that are
  /// not finite are marked as such. IoError; nothing of the record stays in the file then.
  virtual void write(std::int64_t step, const Values& values) = 0;
};
/// A kind of tracker, with its settings.
struct TrackerKind : config::Chosen {
  static constexpr std::string_view initial = "jsonl";
  /// Continues the record in the run's folder after `step`: readers no longer see later steps, nor a part of a record
  /// that a crash left. -1: a new record. IoError.
  virtual std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const = 0;
  /// Its file or folder inside the run's folder.
  virtual std::string_view file() const = 0;
};
template <class T> struct TrackerOf final : config::Of<T, TrackerKind> {
  using config::Of<T, TrackerKind>::Of;
  std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const override {
    return this->fields.open(folder, step);
  }
  std::string_view file() const override { return T::file; }
};
}  // namespace bora::track
