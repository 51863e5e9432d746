// metrics.h -- numbers of a server in Prometheus' form, with vLLM's names and meanings. Private.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>
#include "bora/generate/engine.h"

namespace bora::serve {
class Histogram {
 public:
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}
  void add(double seconds);
  /// Lines of a metric of this name; labels: `model_name=".."`.
  void write(const std::string& name, const std::string& labels, std::string& out) const;

 private:
  std::span<const double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};
/// Several threads may use it.
class Metrics {
 public:
  Metrics();
  void first_token(double seconds);   // since the request came
  void next_token(double seconds);    // since the one before
  void ended(const std::string& reason, double seconds);  // stop, length, abort, error
  std::string text(const generate::EngineReport&, const std::string& model) const;

 private:
  mutable std::mutex mutex_;
  Histogram first_, next_, whole_;
  std::map<std::string, std::uint64_t> ended_ = {};
};
}  // namespace bora::serve
