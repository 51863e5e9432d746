#include "text/json_node.h"
#include <unordered_set>

namespace bora::text {
using nlohmann::json;
constexpr int kMostDepth = 32;

json parse_json(std::string_view text, const std::string& file) {
  // nlohmann's parser keeps the last of equal keys; a token that is given twice must be an error.
  std::vector<std::unordered_set<std::string>> keys;
  auto watch = [&](int depth, json::parse_event_t event, json& item) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start)
      check<IoError>(depth < kMostDepth, file, ": nested deeper than ", kMostDepth, " levels");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      auto& name = item.get_ref<const std::string&>();
      check<IoError>(keys.back().insert(name).second, file, ": the key '", name, "' is given twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    std::string_view words = e.what();  // "[json.exception.parse_error.101] parse error at line .."
    if (auto end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
    fail<IoError>(file, ": broken JSON: ", one_line(words));
  }
}
}  // namespace bora::text
