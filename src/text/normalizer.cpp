#include "text/normalizer.h"
#include <memory>
#include "text/charsmap.h"
#include "text/json_node.h"
#include "text/pattern.h"

namespace bora::text {
namespace {
using Step = std::function<void(std::string&, bool& first)>;
constexpr std::size_t kMostSteps = 32;
constexpr std::size_t kMostContent = 4096;

Step form(const Node& node, bool composed, bool compatible) {
  node.only({"type"});
  return [=](std::string& s, bool&) { s = normal_form(s, composed, compatible); };
}
Step strip(const Node& node) {
  node.only({"type", "strip_left", "strip_right"});
  bool left = node.flag("strip_left", true), right = node.flag("strip_right", true);
  return [=](std::string& s, bool& first) {
    if (right) s.resize(s.size() - space_at_end(s));
    auto spaces = left ? space_at_begin(s) : 0;
    s.erase(0, spaces);
    first = first && spaces == 0;
  };
}
const std::string& content(const Node& node, const char* key) {
  auto found = node.at(key);
  found.need(found.text().size() <= kMostContent, "has ", found.text().size(), " bytes");
  return found.text();
}
Step replace(const Node& node) {
  node.only({"type", "pattern", "content"});
  Pattern pattern = Pattern::read(node.at("pattern"), "a match of nothing");
  return [pattern, with = content(node, "content")](std::string& s, bool&) {
    std::string out;
    pattern.split(s, [&](std::string_view piece, bool match) { out += match ? std::string_view(with) : piece; });
    s = std::move(out);
  };
}
Step precompiled(const Node& node) {
  node.only({"type", "precompiled_charsmap"});
  auto table = node.at("precompiled_charsmap");
  auto bytes = from_base64(table.text());
  table.need(bytes.has_value(), "is not base 64");
  auto map = std::make_shared<const Charsmap>(*bytes, table.place);
  return [map](std::string& s, bool&) { s = map->normalize(s); };
}
}  // namespace

void Normalizer::read(const Node& node) {
  auto& type = node.type();
  if (type == "Sequence") {
    node.only({"type", "normalizers"});
    auto list = node.at("normalizers");
    for (std::size_t i = 0, n = list.items(); i < n; ++i) read(list.item(i));
    return;
  }
  if (type == "NFC") steps_.push_back(form(node, true, false));
  else if (type == "NFD") steps_.push_back(form(node, false, false));
  else if (type == "NFKC") steps_.push_back(form(node, true, true));
  else if (type == "NFKD") steps_.push_back(form(node, false, true));
  else if (type == "Lowercase") {
    node.only({"type"});
    steps_.push_back([](std::string& s, bool&) { s = lower_case(s); });
  } else if (type == "Prepend") {
    node.only({"type", "prepend"});
    steps_.push_back([prefix = content(node, "prepend")](std::string& s, bool&) {
      if (!s.empty()) s.insert(0, prefix);
    });
  } else if (type == "Strip") steps_.push_back(strip(node));
  else if (type == "Replace") steps_.push_back(replace(node));
  else if (type == "Precompiled") steps_.push_back(precompiled(node));
  else node.unknown_type("null, NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, Precompiled, Sequence");
  node.need(steps_.size() <= kMostSteps, "more than ", kMostSteps, " normalizers");
}
std::string Normalizer::operator()(std::string_view text, bool* first) const {
  std::string s(text);
  bool begins = true;
  for (auto& step : steps_) step(s, first ? *first : begins);
  return s;
}
}  // namespace bora::text
