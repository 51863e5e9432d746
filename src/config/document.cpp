#include "bora/config/document.h"
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>
#include <algorithm>
#include <set>
#include <sstream>
#include "bora/base/error.h"
#include "config/api/braces.h"

namespace bora::config {
namespace {
// Aliases can nest a text in itself, and double it at each level.
constexpr int kMaxDepth = 32, kMaxValues = 100000;
struct Limits {
  int depth = 0, values = 0;
};
Document from_yaml(const YAML::Node& node, const std::string& name, const std::string& where, Limits& limits) {
  check<ConfigError>(++limits.depth <= kMaxDepth, where, ": values are nested more than ", kMaxDepth, " deep");
  check<ConfigError>(++limits.values <= kMaxValues, where, ": there are more than ", kMaxValues, " values");
  Document d{.form = Document::Form::scalar, .where = where};
  if (node.IsNull()) {
    d.form = Document::Form::null;
  } else if (node.IsSequence()) {
    d.form = Document::Form::list;
    for (auto item : node) d.items.push_back(from_yaml(item, name, where, limits));
  } else if (node.IsMap()) {
    d.form = Document::Form::group;
    std::set<std::string> seen;
    for (auto it = node.begin(); it != node.end(); ++it) {
      auto place = name + ":" + std::to_string(it->first.Mark().line + 1);
      check<ConfigError>(it->first.IsScalar(), place, ": a key must be a word");
      auto& key = it->first.Scalar();
      check<ConfigError>(seen.insert(key).second, place, ": key '", key, "' is given twice");
      d.members.emplace_back(key, from_yaml(it->second, name, place, limits));
    }
  } else {
    d.text = node.Scalar();
  }
  --limits.depth;
  return d;
}
void emit(YAML::Emitter& out, const Document& d) {
  switch (d.form) {
    case Document::Form::null: out << YAML::Null; return;
    case Document::Form::scalar:
      if (d.quoted) out << YAML::DoubleQuoted;
      out << d.text;
      return;
    case Document::Form::list:
      out << YAML::BeginSeq;
      for (auto& item : d.items) emit(out, item);
      out << YAML::EndSeq;
      return;
    case Document::Form::group:
      out << YAML::BeginMap;
      for (auto& [key, member] : d.members) {
        out << YAML::Key << key << YAML::Value;
        emit(out, member);
      }
      out << YAML::EndMap;
  }
}
/// The problem; a pattern without quotes is an alias in YAML.
std::string told(const YAML::Exception& e) {
  bool alias = e.msg.find("alias") != e.msg.npos || e.msg.find("anchor") != e.msg.npos;
  return e.msg + (alias ? R"(; text that begins with * or & needs quotes, as in "*.bias")" : "");
}
/// Whether a document says anything, and where.
struct Contents final : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { end = mark; }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { found(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    found(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    found(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    found(mark);
  }
  void OnMapEnd() override {}
  void found(const YAML::Mark& mark) {
    if (!any) any = true, end = mark;
  }
  bool any = false;
  YAML::Mark end = {};
};
/// The only document of a text. YAML::Load leaves out what follows its end, whatever it says; YAML::LoadAll does not
/// return where a comma follows it.
YAML::Node only_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Contents first, second, third;
  bool more = parser.HandleNextDocument(first) && parser.HandleNextDocument(second);
  if (more && (second.any || parser.HandleNextDocument(third)))  // a second one may be empty: a line `---` at the end
    throw YAML::ParserException(second.end, "text follows its end, and would not be read");
  return YAML::Load(text);
}
}  // namespace

const Document* Document::find(std::string_view key) const {
  for (auto& [name, member] : members)
    if (name == key) return &member;
  return nullptr;
}
Document* Document::find(std::string_view key) { return const_cast<Document*>(std::as_const(*this).find(key)); }
Document& Document::at(const std::string& key) {
  if (auto there = find(key)) return *there;
  return members.emplace_back(key, Document{.where = where}).second;
}
std::string Document::described() const {
  switch (form) {
    case Form::list: return "a list";
    case Form::group: return "keys below it";
    default: return "'" + text + "'";
  }
}
Document scalar(std::string text, bool quoted) {
  return {.form = Document::Form::scalar, .text = std::move(text), .quoted = quoted};
}

namespace {
/// Damage leaves zeros in place of text, which the parser would take for blanks or an end.
void check_text(const std::string& yaml, const std::string& name) {
  auto zero = yaml.find('\0');
  bool wide = yaml.starts_with("\xff\xfe") || yaml.starts_with("\xfe\xff");  // UTF-16
  if (zero == yaml.npos || wide) return;
  auto line = 1 + std::count(yaml.begin(), yaml.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
  fail<ConfigError>(name, ":", line, ": a byte that is 0: this is no text, or it was damaged; restore it");
}
}  // namespace
Document parse_yaml(const std::string& yaml, const std::string& name) {
  check_text(yaml, name);
  try {
    auto root = only_document(yaml);
    if (root.IsNull()) return {.where = name};
    check<ConfigError>(root.IsMap(), name,
                       ":1: expected lines of `key: value`; a text to train on is named by data=FILE");
    Limits limits;
    return from_yaml(root, name, name, limits);
  } catch (const YAML::Exception& e) { fail<ConfigError>(name, ":", e.mark.line + 1, ": broken YAML: ", told(e)); }
}
Document parse_flow(const Document& d) {
  if (d.form != Document::Form::scalar || !d.text.starts_with('[')) return d;
  try {
    Limits limits;
    auto list = from_yaml(only_document(d.text), d.where, d.where, limits);
    list.written = d.written;
    return list;
  } catch (const YAML::Exception& e) { fail<ConfigError>(d.where, ": broken list '", d.text, "': ", told(e)); }
}
namespace {
void place_at(Document& d, const std::string& where) {
  d.where = where;
  for (auto& m : d.members) place_at(m.second, where);
  for (auto& item : d.items) place_at(item, where);
}
}  // namespace
Document parse_braces(const Document& d) {
  if (d.form != Document::Form::scalar || !d.text.starts_with('{')) return d;
  // Patterns of files have braces too: {a,b}.txt
  auto pattern = [&](const YAML::Node& node) {
    auto null = [](const auto& m) { return m.second.IsNull(); };
    return !node.IsMap() || (node.size() > 0 && d.text.find(": ") == std::string::npos &&
                             std::all_of(node.begin(), node.end(), null));
  };
  try {
    if (pattern(YAML::Load(d.text))) return d;
    Limits limits;
    auto group = from_yaml(only_document(d.text), d.where, d.where, limits);
    place_at(group, d.where);
    group.written = d.written;
    return group;
  } catch (const YAML::Exception& e) {
    check<ConfigError>(d.text.find(": ") == std::string::npos, d.where, ": broken group '", d.text, "': ", told(e));
    return d;
  }
}
Document parse_items(const std::vector<std::string>& items) {
  Document all{.where = std::string(kCommandLine)};
  for (auto& item : items) {
    auto equals = item.find('=');
    check<ConfigError>(equals != std::string::npos && equals > 0, "command line: expected key=value, got '", item, "'");
    auto* at = &all;
    auto key = item.substr(0, equals);
    check<ConfigError>(std::count(key.begin(), key.end(), '.') < kMaxDepth, "command line: '", key,
                       "' is nested more than ", kMaxDepth, " deep");
    for (std::size_t dot; (dot = key.find('.')) != std::string::npos; key = key.substr(dot + 1)) {
      at = &at->at(key.substr(0, dot));
      if (at->form != Document::Form::group) *at = {.members = {{"", *at}}, .where = all.where};
    }
    at = &at->at(key);
    if (!at->members.empty()) at = &at->at("");  // a group's own value beside its members: model.layers=2 model=llama
    *at = {.form = Document::Form::scalar, .text = item.substr(equals + 1), .where = all.where};
  }
  return all;
}
void lay_over(Document& base, const Document& over) {
  if (base.form != Document::Form::group || over.form != Document::Form::group) {
    base = over;
    return;
  }
  for (auto& [key, member] : over.members) {
    if (auto there = base.find(key)) lay_over(*there, member);
    else base.members.emplace_back(key, member);
  }
}
std::string to_yaml(const Document& d) {
  YAML::Emitter out;
  emit(out, d);
  return std::string(out.c_str()) + "\n";
}
}  // namespace bora::config
