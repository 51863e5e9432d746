#include "bora/train/settings.h"
#include <yaml-cpp/yaml.h>
#include <charconv>
#include <filesystem>
#include <set>
#include "bora/base/fields.h"
#include "bora/base/file.h"

namespace bora {
namespace {
/// One value as somebody wrote it, and where.
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

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}
std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }
/// The key somebody most likely meant: closest as a whole, or in its last word (a key written outside its group).
std::string nearest_key(const std::string& key, Settings& all) {
  std::string best;
  auto distance = static_cast<std::size_t>(-1);
  auto consider = [&](const std::string& k) {
    auto d = std::min(2 * edit_distance(key, k), 2 * edit_distance(last_word(key), last_word(k)) + 1);
    if (d < distance) best = k, distance = d;
  };
  each_setting(all, "", [&](const std::string& k, auto&) {
    consider(k);
    if (auto dot = k.find('.'); dot != std::string::npos) consider(k.substr(0, dot));
  });
  return best;
}

void assign(Settings& s, const Item& item) {
  bool known = false, group = false;
  std::string members;
  each_setting(s, "", [&](const std::string& key, auto& field) {
    using T = std::remove_cvref_t<decltype(field)>;
    if (key.starts_with(item.key + ".")) {
      group = true;
      members += (members.empty() ? "" : ", ") + key.substr(item.key.size() + 1);
    }
    if (key != item.key) return;
    known = true;
    if (item.form == Item::Form::scalar && parse_value(item.value, field)) return;
    auto got = item.form == Item::Form::list    ? std::string("a list")
               : item.form == Item::Form::group ? "keys below it"
                                                : "'" + item.value + "'";
    fail<ConfigError>(item.where, ": ", key, ": expected ", type_words<T>(), ", got ", got);
  });
  if (group && item.form == Item::Form::group) return;  // `model:` with nothing below it
  check<ConfigError>(!group, item.where, ": ", item.key, ": expected keys below it (", members, "), got ",
                     item.form == Item::Form::list ? "a list" : "'" + item.value + "'");
  if (!known)
    fail<ConfigError>(item.where, ": unknown key '", item.key, "'; did you mean '", nearest_key(item.key, s), "'?");
}

bool is_group(const std::string& key, Settings& s) {
  bool group = false;
  each_setting(s, "", [&](const std::string& k, auto&) { group = group || k.starts_with(key + "."); });
  return group;
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
    check<ConfigError>(root.IsNull() || root.IsMap(), name, ":1: expected lines of `key: value`");
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
}  // namespace bora
