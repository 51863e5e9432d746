// page.h -- the page of a run: its numbers as charts, while it goes on and afterwards.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bora::track {
/// What a server of the page gives out. Any thread may call these functions, also after the run; each returns at once.
struct PageSource {
  std::function<const std::string&()> html = {};    // the page, which asks its server for data and log
  std::function<const std::string&()> policy = {};  // its header Content-Security-Policy
  /// JSON with what is new since a place that an earlier answer named ("": all): less than 256 KB. None: no such place.
  std::function<std::optional<std::string>(std::string_view since)> data = {};
  /// JSON with a piece of run.log from a byte on ("": its end). None: that is no number.
  std::function<std::optional<std::string>(std::string_view from)> log = {};
  /// The newest numbers in Prometheus' text form.
  std::function<std::string()> metrics = {};
};
/// Serves a source from now on, in place of one before; returns lines to print. Without functions: ends that.
using ServePage = std::function<std::vector<std::string>(const PageSource&)>;
/// Writes the page with the numbers of finished runs, given by their folders, into a file. IoError.
void write_report(const std::string& file, const std::vector<std::string>& folders);
}  // namespace bora::track
