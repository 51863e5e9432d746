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

/// How often numbers lie between limits: counts[k] of them between limits[k - 1] and limits[k].
struct Histogram {
  double least = 0, most = 0, count = 0, sum = 0, squares = 0;
  std::vector<double> limits = {}, counts = {};
};
/// An open record of one run; one process writes it.
class Tracker {
 public:
  virtual ~Tracker() = default;
  /// Goes on with the new file if the one that it writes was replaced meanwhile, and begins a removed or renamed one
  /// anew if its folder exists: then it is true. Adds no number.
  virtual bool follow() { return false; }
  /// Adds numbers of a step; they are in the file when it returns, or, where the disk is full, wait in memory (16 MiB)
  /// until it has room. A step may have several records. Numbers that are not finite are marked as such. IoError;
  /// nothing of the record stays in the file then.
  virtual void write(std::int64_t step, const Values& values) = 0;
  /// Adds an event of a step: what happened, in a word ("slow_rank") and a sentence; time: in seconds (UTC). As write.
  virtual void event(std::int64_t step, double time, const std::string& kind, const std::string& text) = 0;
  /// Bytes that wait for room.
  virtual std::size_t waiting() const { return 0; }
  /// Writes them. IoError: there is no room yet.
  virtual void flush() {}
  // What a kind has no place for is left out.
  /// The settings of the run, before its first record.
  virtual void settings(const std::string& /*yaml*/) {}
  virtual void histogram(std::int64_t /*step*/, const std::string& /*name*/, const Histogram&) {}
  /// The run has made all its steps.
  virtual void finish() {}
};
/// A kind of tracker, with its settings.
struct TrackerKind : config::Chosen {
  static constexpr std::string_view initial = "jsonl";
  /// Continues the record in the run's folder after `step`: readers no longer see later steps, nor a part of a record
  /// that a crash left. -1: a new record. IoError.
  virtual std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const = 0;
  /// Its file or folder inside the run's folder.
  virtual std::string_view file() const = 0;
  /// Whether it has a place for histograms.
  virtual bool histograms() const = 0;
};
/// The kind whose settings are T's fields.
template <class T> struct TrackerOf final : config::Of<T, TrackerKind> {
  using config::Of<T, TrackerKind>::Of;
  std::unique_ptr<Tracker> open(const std::string& folder, std::int64_t step) const override {
    return this->fields.open(folder, step);
  }
  std::string_view file() const override { return T::file; }
  bool histograms() const override {
    if constexpr (requires { T::histograms; }) return T::histograms;
    return false;
  }
};
}  // namespace bora::track
