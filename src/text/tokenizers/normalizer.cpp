#include "text/tokenizers/normalizer.h"
#include <memory>
#include "text/growth.h"
#include "text/json_node.h"
#include "text/tokenizers/charsmap.h"
#include "text/tokenizers/pattern.h"

namespace bora::text {
namespace {
constexpr std::string_view kRules = "normalizer";
using Step = std::function<void(std::string&, NormalBegin&)>;
constexpr std::size_t kMostContent = 4096;

Step form(const Node& node, bool composed, bool compatible) {
  node.only({"type"});
  return [=](std::string& s, NormalBegin&) { s = normal_form(s, composed, compatible); };
}
Step strip(const Node& node) {
  node.only({"type", "strip_left", "strip_right"});
  bool left = node.flag("strip_left", true), right = node.flag("strip_right", true);
  return [=](std::string& s, NormalBegin& begin) {
    if (right) s.resize(s.size() - space_at_end(s));
    auto spaces = left ? space_at_begin(s) : 0;
    s.erase(0, spaces);
    begin.take(spaces);
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
  return [pattern, with = content(node, "content")](std::string& s, NormalBegin& begin) {
    std::string out;
    pattern.split(s, [&](std::string_view piece, bool match) {
      if (match && with.empty() && out.empty()) begin.take(piece.size());
      out += match ? std::string_view(with) : piece;
      check_growth(kRules, begin.bytes, out.size());
    });
    s = std::move(out);
  };
}
/// A step that maps each character by itself, perhaps to nothing.
Step filter(std::string (*of)(std::string_view)) {
  return [of](std::string& s, NormalBegin& begin) {
    std::size_t n = 0;
    while (n < s.size() && of(std::string_view(s).substr(n, character_size(s[n]))).empty()) n += character_size(s[n]);
    begin.take(n);
    s = of(s);
  };
}
Step precompiled(const Node& node) {
  node.only({"type", "precompiled_charsmap"});
  auto table = node.at("precompiled_charsmap");
  auto bytes = from_base64(table.text());
  table.need(bytes.has_value(), "is not base 64");
  auto map = std::make_shared<const Charsmap>(*bytes, table.place);
  return [map](std::string& s, NormalBegin& begin) { s = map->normalize(s, most_of(begin.bytes)); };
}
/// The steps of BERT's own.
void add_bert(const Node& node, std::vector<Step>& steps) {
  node.only({"type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  auto lower = node.flag("lowercase", true);
  if (node.flag("clean_text", true)) steps.push_back(filter(printed_text));
  if (node.flag("handle_chinese_chars", true))
    steps.push_back([](std::string& s, NormalBegin& begin) {
      auto apart = with_ideographs_apart(s);
      if (apart.starts_with(' ') && !s.starts_with(' ')) begin.made += 1;
      s = std::move(apart);
    });
  if (node.flag("strip_accents", lower)) {
    steps.push_back([](std::string& s, NormalBegin&) { s = normal_form(s, false, false); });
    steps.push_back(filter([](std::string_view text) { return without(text, is_nonspacing_mark); }));
  }
  if (lower) steps.push_back([](std::string& s, NormalBegin&) { s = lower_case(s); });
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
    steps_.push_back([](std::string& s, NormalBegin&) { s = lower_case(s); });
  } else if (type == "StripAccents") {
    node.only({"type"});
    steps_.push_back(filter([](std::string_view text) { return without(text, is_mark); }));
  } else if (type == "Nmt") {
    node.only({"type"});
    steps_.push_back(filter(clean_text));
  } else if (type == "Prepend") {
    node.only({"type", "prepend"});
    steps_.push_back([prefix = content(node, "prepend")](std::string& s, NormalBegin& begin) {
      if (s.empty()) return;
      s.insert(0, prefix);
      begin.made += prefix.size();
    });
  } else if (type == "Strip") steps_.push_back(strip(node));
  else if (type == "Replace") steps_.push_back(replace(node));
  else if (type == "BertNormalizer") add_bert(node, steps_);
  else if (type == "Precompiled") steps_.push_back(precompiled(node));
  else node.unknown_type(
        "null, NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, StripAccents, Nmt, Precompiled, "
        "BertNormalizer, Sequence");
  node.need(steps_.size() <= kMostSteps, "more than ", kMostSteps, " normalizers");
}
std::string Normalizer::operator()(std::string_view text, bool* first) const {
  std::string s(text);
  NormalBegin begin{.first = !first || *first, .bytes = text.size()};
  for (auto& step : steps_) {
    step(s, begin);
    check_growth(kRules, text.size(), s.size());
  }
  if (first) *first = begin.first;
  return s;
}
}  // namespace bora::text
