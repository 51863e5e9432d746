#include "track/page/document.h"
#include <algorithm>
#include <ctime>
#include <filesystem>
#include <set>
#include "base/api/inline_hash.h"
#include "bora/base/text.h"

namespace bora::track::page {
namespace {
// run_page.html, as text of C++ (CMakeLists.txt).
constexpr char kRunPage[] =
#include "run_page_html.inc"
    ;
constexpr std::string_view kNoData = "null</script>", kNoPolicy = "<!--policy-->";
constexpr std::int64_t kLogBytes = 32 << 10;
constexpr std::size_t kSettings = 16 << 10;

/// Only a header can say who may frame the page.
std::string policy_of(bool served) {
  std::string html = kRunPage;
  return "default-src 'none'; script-src " + inline_hash(html, "<script>", "</script>") + "; style-src " +
         inline_hash(html, "<style>", "</style>") + "; base-uri 'none'; form-action 'none'" +
         (served ? "; connect-src 'self'; frame-ancestors 'none'" : "");
}
void put(std::string& html, std::string_view mark, const std::string& text) {
  html.replace(html.find(mark), mark.size(), text);
}
/// A name as Prometheus takes it: letters, digits and _.
std::string plain(std::string_view name) {
  std::string r = "bora_";
  for (char c : name) r += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return r;
}
}  // namespace

const std::string& live_html() {
  static const std::string html = kRunPage;
  return html;
}
const std::string& live_policy() {
  static const auto policy = policy_of(true);
  return policy;
}
std::string html_with(std::string_view json) {
  std::string html = kRunPage, data;
  data.reserve(json.size() + json.size() / 64);
  for (char c : json) c == '<' ? data += "\\u003c" : data += c;  // in texts only: it would end the script
  put(html, kNoPolicy, "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy_of(false) + "\">");
  put(html, kNoData, data + "</script>");
  return html;
}
std::string data_json(const History& history, const About& about, const History::Cursor& since, std::size_t bytes) {
  JsonWriter w;
  auto size = static_cast<double>(std::max<std::int64_t>(history.size(), 1));
  w.object()("name", one_line(about.name).substr(0, 200))("ended", about.ended)
      ("now", static_cast<std::int64_t>(std::time(nullptr)))
      ("read", static_cast<double>(history.position()) / size);
  if (since.since == 0 && since.series == 0) w("settings", std::string_view(about.settings).substr(0, kSettings));
  history.write(w, since, bytes);
  return w.end().take();
}
std::string log_json(const std::string& path, std::int64_t from) {
  std::string text;
  std::int64_t size = 0;
  try {
    auto file = File::open(path);
    size = file.size();
    if (from < 0) from = std::max<std::int64_t>(0, size - kLogBytes);
    if (from > size) from = 0;  // another file has taken its place
    text.resize(static_cast<std::size_t>(std::min(kLogBytes, size - from)));
    if (!file.read(from, text.data(), static_cast<std::int64_t>(text.size()))) text.clear();
  } catch (const IoError&) {  // no log yet
    from = 0;
  }
  if (auto end = text.rfind('\n'); end != text.npos) text.resize(end + 1);
  else if (static_cast<std::int64_t>(text.size()) < kLogBytes) text.clear();  // the rest of the line will come
  JsonWriter w;
  w.object()("from", from)("next", from + static_cast<std::int64_t>(text.size()))("text", text);
  return w.end().take();
}
std::string prometheus(const History& history) {
  std::string r;
  std::set<std::string> names;
  auto add = [&](const std::string& name, const std::string& value) {
    if (!names.insert(name).second) return;  // a name that differs in signs only
    r.append("# TYPE ").append(name).append(" gauge\n").append(name).append(" ").append(value).append("\n");
  };
  if (history.last_step() >= 0) add("bora_last_step", std::to_string(history.last_step()));
  if (history.last_time() > 0) add("bora_last_step_timestamp_seconds", number_text(history.last_time()));
  history.each_last([&](const std::string& name, double value) { add(plain(name), number_text(value)); });
  return r;
}
std::string name_of(const std::string& folder) {
  std::error_code error;
  auto path = std::filesystem::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}
}  // namespace bora::track::page
