// document.h -- the file run_page.html, and the texts that it shows.
#pragma once
#include <string>
#include <string_view>
#include "track/page/history.h"

namespace bora::track::page {
/// The page as a server gives it out, and its header Content-Security-Policy.
const std::string& live_html();
const std::string& live_policy();
/// The page with JSON inside: {"runs": [.., ..], "log": ".."}.
std::string html_with(std::string_view json);

struct About {
  std::string name = {}, settings = {};  // settings: YAML
  bool ended = false;
};
/// What a history has that is new since, as JSON.
std::string data_json(const History&, const About&, const History::Cursor& since, std::size_t bytes);
/// A piece of a log from a byte on, whole lines of at most 32 KiB: {"from", "next", "text"}. from < 0: its end.
std::string log_json(const std::string& path, std::int64_t from);
/// Prometheus' text form (version 0.0.4) of the last values.
std::string prometheus(const History&);
/// The name of a run's folder.
std::string name_of(const std::string& folder);
}  // namespace bora::track::page
