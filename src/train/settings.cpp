#include "bora/train/settings.h"
#include <yaml-cpp/yaml.h>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include "bora/base/fields.h"
#include "bora/base/file.h"

namespace bora {
namespace {
/// One value as written, and its place.
struct Item {
  std::string key, value, where;
  enum class Form : std::uint8_t { scalar, list, group } form = Form::scalar;
};

/// Calls f(full key, field) for every setting that is not a group.
template <class T, class F> void each_setting(T& x, const std::string& prefix, const F& f) {
  fields::for_each(x, [&](std::string_view name, auto& field) {
    auto key = prefix + std::string(name);
    if constexpr (std::is_aggregate_v<std::remove_cvref_t<decltype(field)>>) each_setting(field, key + ".", f);
    else f(key, field);
  });
}

template <class T> constexpr const char* type_words() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_integral_v<T>) return "an integer";
  else if constexpr (std::is_floating_point_v<T>) return "a number";
  else return "text";
}
template <class T> bool parse_value(const std::string& s, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    out = s;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    out = s == "true" || s == "yes" || s == "on" || s == "1";
    return out || s == "false" || s == "no" || s == "off" || s == "0";
  } else {
    auto [end, error] = std::from_chars(s.data() + (s.size() > 1 && s[0] == '+'), s.data() + s.size(), out);
    return error == std::errc() && end == s.data() + s.size();
  }
}
template <class T> std::string print_value(const T& v) {
  if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>) return v;
  else {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, v).ptr};
  }
}

/// Insertions, deletions, changes and swaps of neighbouring letters.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}
std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }
bool is_group(const std::string& key, Settings& s) {
  bool group = false;
  each_setting(s, "", [&](const std::string& k, auto&) { group = group || k.starts_with(key + "."); });
  return group;
}
std::string members_of(const std::string& group, Settings& s) {
  std::string members;
  each_setting(s, "", [&](const std::string& key, auto&) {
    if (key.starts_with(group + ".")) members += (members.empty() ? "" : ", ") + key.substr(group.size() + 1);
  });
  return members;
}
/// Edit distance to a known word; none if a slip is unlikely: more than a third differs, and neither begins the other.
std::optional<std::size_t> distance(const std::string& written, const std::string& known) {
  auto shorter = std::min(written.size(), known.size());
  if (written.size() > 64) return none;
  auto d = edit_distance(written, known);
  if (d <= std::max<std::size_t>(1, shorter / 3)) return d;
  auto begins = [](const std::string& a, const std::string& b) { return a.starts_with(b) && a[b.size()] != '.'; };
  if (shorter >= 4 && (begins(written, known) || begins(known, written))) return d;
  return none;
}
/// Advice for an unknown key: the nearest key, compared as a whole or by its last word (written outside of its group);
/// else, inside a group, the group's members.
std::string advice(const std::string& key, Settings& all) {
  std::string best;
  auto least = static_cast<std::size_t>(-1);
  auto group_of = [](const std::string& k) { return k.substr(0, k.find('.') + 1); };  // "model.", or nothing
  auto consider = [&](const std::string& k) {
    auto word = distance(last_word(key), last_word(k));
    auto group = group_of(key).empty() || group_of(k).empty() ? std::optional<std::size_t>(group_of(key) != group_of(k))
                                                              : distance(group_of(key), group_of(k));
    if (word && group && 2 * *word + *group < least) best = k, least = 2 * *word + *group;
  };
  each_setting(all, "", [&](const std::string& k, auto&) {
    consider(k);
    if (auto dot = k.find('.'); dot != std::string::npos) consider(k.substr(0, dot));
  });
  if (!best.empty()) return "did you mean '" + best + "'?";
  auto group = key.substr(0, key.find('.'));
  return is_group(group, all) ? group + " has " + members_of(group, all) : "`bora help` lists the settings";
}

void assign(Settings& s, const Item& item) {
  bool known = false, group = is_group(item.key, s);
  each_setting(s, "", [&](const std::string& key, auto& field) {
    using T = std::remove_cvref_t<decltype(field)>;
    if (key != item.key) return;
    known = true;
    if (item.form == Item::Form::scalar && parse_value(item.value, field)) return;
    auto got = item.form == Item::Form::list    ? std::string("a list")
               : item.form == Item::Form::group ? "keys below it"
                                                : "'" + item.value + "'";
    fail<ConfigError>(item.where, ": ", key, ": expected ", type_words<T>(), ", got ", got);
  });
  if (group && item.form == Item::Form::group) return;  // `model:` with nothing below it
  check<ConfigError>(!group, item.where, ": ", item.key, ": expected keys below it (", members_of(item.key, s),
                     "), got ", item.form == Item::Form::list ? "a list" : "'" + item.value + "'");
  check<ConfigError>(known, item.where, ": unknown key '", item.key, "'; ", [&] { return advice(item.key, s); });
}

void flatten(const YAML::Node& node, const std::string& prefix, const std::string& name, Settings& known,
             std::vector<Item>& out) {
  std::set<std::string> seen;
  for (auto it = node.begin(); it != node.end(); ++it) {
    auto where = name + ":" + std::to_string(it->first.Mark().line + 1);
    check<ConfigError>(it->first.IsScalar(), where, ": a key must be a word");
    auto key = prefix + it->first.Scalar();
    check<ConfigError>(seen.insert(key).second, where, ": key '", key, "' is given twice");
    YAML::Node value = it->second;
    if (value.IsMap() && key == "mesh") {  // {data: 2, model: 1} is data=2,model=1
      std::string text;
      for (auto axis = value.begin(); axis != value.end(); ++axis)
        text += (text.empty() ? "" : ",") + axis->first.Scalar() + "=" + axis->second.Scalar();
      out.push_back({key, text, where});
    } else if (value.IsMap() && is_group(key, known)) {
      flatten(value, key + ".", name, known, out);
    } else {
      auto form = value.IsMap() || (value.IsNull() && is_group(key, known)) ? Item::Form::group
                  : value.IsSequence()                                      ? Item::Form::list
                                                                            : Item::Form::scalar;
      out.push_back({key, value.IsScalar() ? value.Scalar() : "", where, form});
    }
  }
}
}  // namespace

Settings parse_settings(const std::string& yaml, const std::string& name, const std::vector<std::string>& overrides) {
  Settings s;
  std::vector<Item> items;
  try {
    auto root = YAML::Load(yaml);
    check<ConfigError>(root.IsNull() || root.IsMap(), name,
                       ":1: expected lines of `key: value`; a text to train on is named by data=FILE");
    if (root.IsMap()) flatten(root, "", name, s, items);
  } catch (const YAML::Exception& e) { fail<ConfigError>(name, ":", e.mark.line + 1, ": broken YAML: ", e.msg); }
  for (auto& text : overrides) {
    auto equals = text.find('=');
    check<ConfigError>(equals != std::string::npos && equals > 0, "command line: expected key=value, got '", text, "'");
    items.push_back({text.substr(0, equals), text.substr(equals + 1), "command line"});
  }
  for (auto& item : items) assign(s, item);
  return s;
}

Settings load_settings(const std::string& path, const std::vector<std::string>& overrides) {
  std::error_code error;
  if (path.empty()) {
    auto s = parse_settings("", "", overrides);
    if (!s.out.empty() || s.data.empty()) return s;
    auto text = std::filesystem::absolute(s.data).lexically_normal();
    if (!text.has_filename()) text = text.parent_path();  // "texts/"
    s.out = "runs/" + text.stem().string();
    return s;
  }
  check<ConfigError>(std::filesystem::exists(path, error), "no configuration file at ", path);
  check<ConfigError>(!std::filesystem::is_directory(path, error), path,
                     ": expected a configuration file, this is a folder");
  auto s = parse_settings(read_file<ConfigError>(path), path, overrides);
  if (s.out.empty()) s.out = "runs/" + std::filesystem::path(path).stem().string();
  return s;
}

std::string to_yaml(const Settings& settings) {
  YAML::Emitter out;
  std::string group;
  out << YAML::BeginMap;
  each_setting(settings, "", [&](const std::string& key, auto& field) {
    auto dot = key.find('.');
    auto mine = dot == std::string::npos ? "" : key.substr(0, dot);
    if (mine != group) {
      if (!group.empty()) out << YAML::EndMap;
      if (!mine.empty()) out << YAML::Key << mine << YAML::Value << YAML::BeginMap;
      group = mine;
    }
    out << YAML::Key << last_word(key) << YAML::Value;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, std::string>) out << YAML::DoubleQuoted << field;
    else out << print_value(field);
  });
  if (!group.empty()) out << YAML::EndMap;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

namespace {
template <class T> void help_lines(T& group, const std::string& prefix, const std::string& which, std::string& out) {
  std::size_t at = 0;
  fields::for_each(group, [&](std::string_view name, auto& field) {
    auto& meaning = T::meanings[at++];
    auto key = prefix + std::string(name);
    if constexpr (std::is_aggregate_v<std::remove_cvref_t<decltype(field)>>) help_lines(field, key + ".", which, out);
    else {
      if (!which.empty() && key != which && !key.starts_with(which + ".")) return;
      auto value = print_value(field);
      auto pad = [](std::string text, std::size_t width) {
        return text + std::string(std::max(width, text.size() + 1) - text.size(), ' ');
      };
      out += "  " + pad(key, 24) + pad(value.empty() ? "-" : value, 9) + std::string(meaning.words) + "\n";
    }
  });
}
}  // namespace
std::string settings_help(const std::string& which) {
  Settings defaults;
  std::string out;
  help_lines(defaults, "", which, out);
  check<ConfigError>(!out.empty(), "no setting or group '", which, "'; ", [&] { return advice(which, defaults); });
  return out;
}
}  // namespace bora
