// document.h -- settings as they were written: groups, lists and texts, each with its place. YAML files and key=value
// items become documents; one document is laid over another; only then are values read (config.h).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::config {
/// A setting, a list or a group as it was written.
struct Document {
  enum class Form : std::uint8_t { group, list, scalar, null } form = Form::group;
  std::string text = {};                                       // of a scalar
  bool quoted = false;                                         // whether to_yaml quotes the text
  std::vector<Document> items = {};                            // of a list
  std::vector<std::pair<std::string, Document>> members = {};  // of a group, in order
  std::string where = {};                                      // "gpt.yaml:3" or "command line"; empty: nowhere
  std::string written = {};                                    // the key, if it was written as a short form

  /// The member with this key, or null.
  const Document* find(std::string_view key) const;
  Document* find(std::string_view key);
  /// The member with this key, made if there is none.
  Document& at(const std::string& key);
  /// Text for messages: "a list", "keys below it" or the scalar in quotes.
  std::string described() const;
};
/// The place of items.
inline constexpr std::string_view kCommandLine = "command line";
/// A scalar from nowhere.
Document scalar(std::string text, bool quoted = false);

/// From YAML; `name` is the text's name in errors. Throws ConfigError for broken YAML (with its line) and for a key
/// that is given twice. An empty text is an empty group.
Document parse_yaml(const std::string& yaml, const std::string& name);
/// The list that a scalar such as "[a, b]" writes out, as YAML does; the scalar itself if it is no list.
Document parse_flow(const Document& scalar);
/// From items such as "optimizer.lr=3e-4"; later ones replace earlier ones. A group that is given a text too has it as
/// the member "". Throws ConfigError for an item without '='.
Document parse_items(const std::vector<std::string>& items);
/// Lays `over` onto `base`: groups are merged, all other values replaced.
void lay_over(Document& base, const Document& over);
/// YAML that parse_yaml reads back to the same document.
std::string to_yaml(const Document&);
}  // namespace bora::config
