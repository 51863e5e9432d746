#include "serve/metrics.h"
#include <algorithm>
#include <charconv>
#include <cstdint>

namespace bora::serve {
namespace {
// vLLM's bounds, in seconds.
constexpr double kFirst[] = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5,  0.75,
                             1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
constexpr double kNext[] = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                            0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
constexpr double kWhole[] = {0.3, 0.5, 0.8, 1,  1.5, 2,  2.5, 5,   10,  15,  20,
                             30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
std::string number(double x) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof text, x).ptr;
  return {text, end};
}
std::string escaped(const std::string& text) {
  std::string r;
  for (char c : text)
    if (c == '\\' || c == '"') r += '\\', r += c;
    else if (c == '\n') r += "\\n";
    else r += c;
  return r;
}
void head(const std::string& name, const char* type, const char* help, std::string& out) {
  out += "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}
}  // namespace

void Histogram::add(double seconds) {
  ++counts_[static_cast<std::size_t>(std::ranges::lower_bound(bounds_, seconds) - bounds_.begin())];
  sum_ += seconds;
}
void Histogram::write(const std::string& name, const std::string& labels, std::string& out) const {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    n += counts_[i];
    auto bound = i < bounds_.size() ? number(bounds_[i]) : "+Inf";
    out += name + "_bucket{" + labels + ",le=\"" + bound + "\"} " + std::to_string(n) + "\n";
  }
  out += name + "_sum{" + labels + "} " + number(sum_) + "\n" + name + "_count{" + labels + "} " + std::to_string(n) +
         "\n";
}

Metrics::Metrics() : first_(kFirst), next_(kNext), whole_(kWhole) {
  for (auto reason : {"stop", "length", "abort", "error"}) ended_[reason] = 0;
}
void Metrics::first_token(double seconds) {
  std::lock_guard lock(mutex_);
  first_.add(seconds);
}
void Metrics::next_token(double seconds) {
  std::lock_guard lock(mutex_);
  next_.add(seconds);
}
void Metrics::ended(const std::string& reason, double seconds) {
  std::lock_guard lock(mutex_);
  ++ended_[reason];
  whole_.add(seconds);
}
std::string Metrics::text(const generate::EngineReport& r, const std::string& model) const {
  auto labels = "model_name=\"" + escaped(model) + "\"";
  std::string out;
  auto one = [&](const std::string& name, const char* type, const char* help, const std::string& value) {
    head(name, type, help, out);
    out += name + "{" + labels + "} " + value + "\n";
  };
  auto count = [&](const std::string& name, const char* help, std::int64_t n) {
    one(name, "counter", help, std::to_string(n));
  };
  one("bora_num_requests_running", "gauge", "Requests that the engine answers.", std::to_string(r.running));
  one("bora_num_requests_waiting", "gauge", "Requests in the queue.", std::to_string(r.waiting));
  auto usage = r.pages > 0 ? static_cast<double>(r.used_pages) / static_cast<double>(r.pages) : 0.0;
  one("bora_kv_cache_usage_perc", "gauge", "Pages of keys and values in use; 1: all.", number(usage));
  count("bora_prefix_cache_queries_total", "Tokens of prompts that were looked up.", r.prefix_queries);
  count("bora_prefix_cache_hits_total", "Those whose keys and values were there.", r.prefix_hits);
  count("bora_num_preemptions_total", "Requests that went back to the queue.", r.preemptions);
  count("bora_prompt_tokens_total", "Tokens of prompts that were computed or found.", r.prompt_tokens);
  count("bora_generation_tokens_total", "Tokens of answers.", r.generation_tokens);
  count("bora_engine_steps_total", "Steps of the engine.", r.steps);
  count("bora_spec_decode_num_draft_tokens_total", "Tokens that --lookup drafted.", r.drafted_tokens);
  count("bora_spec_decode_num_accepted_tokens_total", "Those that became tokens of answers.", r.accepted_tokens);
  std::lock_guard lock(mutex_);
  head("bora_request_success_total", "counter", "Requests that ended, by the reason.", out);
  for (auto& [reason, n] : ended_)
    out += "bora_request_success_total{" + labels + ",finished_reason=\"" + reason + "\"} " + std::to_string(n) + "\n";
  head("bora_time_to_first_token_seconds", "histogram", "From a request to the first token of its answer.", out);
  first_.write("bora_time_to_first_token_seconds", labels, out);
  head("bora_inter_token_latency_seconds", "histogram", "Between two tokens of a choice.", out);
  next_.write("bora_inter_token_latency_seconds", labels, out);
  head("bora_e2e_request_latency_seconds", "histogram", "From a request to the end of its answer.", out);
  whole_.write("bora_e2e_request_latency_seconds", labels, out);
  return out;
}
}  // namespace bora::serve
