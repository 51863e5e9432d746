// config.h -- aggregates of settings: read from documents, written, checked and explained by reflection of their
// fields. A field may be a bool, a number, a text, an enum (by the names of its values), an optional, a vector, another
// such aggregate (a group) or a Choice (choice.h).
// An aggregate describes its fields in `static constexpr config::Meaning meanings[]`, in their order. It may have
//   static constexpr std::string_view named = "path";   the field that a text sets where the group stands
//   void check() const;                                 ConfigError beginning with a field's name: "lr: must be .."
#pragma once
#include <charconv>
#include <cmath>
#include <optional>
#include "bora/base/error.h"
#include "bora/base/fields.h"
#include "bora/base/text.h"
#include "bora/config/document.h"

namespace bora::config {
/// A field's description in `bora help`.
struct Meaning {
  std::string_view field, words;
};
/// A setting, or a group of them, without its type.
struct Schema {
  std::string name = {};
  std::string words = {};    // its meaning
  std::string initial = {};  // its default, as text
  std::string named = {};    // of a group: the field that a text sets
  bool group = false;
  std::vector<Schema> fields = {};                                      // of a group
  std::vector<std::pair<std::string, std::vector<Schema>>> types = {};  // of a Choice: a type's word and its fields
};

/// Throws ConfigError "KEY: must be WORDS, got VALUE" unless ok.
template <class T> void domain(bool ok, std::string_view key, const T& value, std::string_view words) {
  check<ConfigError>(ok, key, ": must be ", words, ", got ", value);
}
/// Whether x is a finite number as f32 too.
inline bool finite(double x) { return std::isfinite(static_cast<float>(x)); }

/// The name of an enum's value; values from 0 to 31 without gaps have names.
template <class E> std::vector<std::string> enum_words();
/// Throws ConfigError: KEY of the document is not of the type that `expected` says.
[[noreturn]] void wrong_type(const Document& d, const std::string& key, std::string_view expected);
/// Throws ConfigError for a member that the group does not have.
[[noreturn]] void unknown_key(const Document& member, const std::string& key, const Schema& root);
/// "model" and "layers" -> "model.layers".
std::string below(const std::string& key, std::string_view field);

template <class T> struct IsVector : std::false_type {};
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> concept IsChoice = requires { typename T::Interface; };
template <class T> concept Group = std::is_aggregate_v<T> && std::is_class_v<T> && !IsVector<T>::value;

// ---- one value ------------------------------------------------------------------------------------------------------
template <class T> std::string expected_text() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_integral_v<T>) return "an integer";
  else if constexpr (std::is_floating_point_v<T>) return "a number";
  else if constexpr (std::is_enum_v<T>) {
    std::string list;
    for (auto& word : enum_words<T>()) list += (list.empty() ? "" : ", ") + word;
    return "one of " + list;
  } else return "text";
}
template <class T> bool parse_value(const std::string& s, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    out = s;
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    auto words = enum_words<T>();
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == s) return out = static_cast<T>(i), true;
    return false;
  } else {
    auto value = parse_as<T>(s);
    if (value) out = *value;
    return value.has_value();
  }
}
template <class T> std::string print_value(const T& v) {
  if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>) return v;
  else if constexpr (std::is_enum_v<T>) return enum_words<T>().at(static_cast<std::size_t>(v));
  else {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, v).ptr};
  }
}

// ---- documents to values and back -----------------------------------------------------------------------------------
/// Sets the fields of x that the document gives. `key`: of the document, for errors; `root`: all settings, for advice.
template <class T> void read(const Document& d, T& x, const std::string& key, const Schema& root) {
  auto name = d.written.empty() ? key : d.written;
  if constexpr (IsChoice<T>) x.read(d, key, root);
  else if constexpr (Group<T>) {
    if (d.form == Document::Form::null) return;  // `model:` with nothing below it
    if (d.form != Document::Form::group) {
      std::string list;
      fields::for_each(x, [&](std::string_view f, auto&) { list += (list.empty() ? "" : ", ") + std::string(f); });
      wrong_type(d, name, "keys below it (" + list + ")");
    }
    for (auto& [field, member] : d.members) {
      bool known = false;
      fields::for_each(x, [&, &field = field, &member = member](std::string_view f, auto& value) {  // clang 14
        if (f == field) known = true, read(member, value, below(key, f), root);
      });
      if (!known) unknown_key(member, below(key, field), root);
    }
  } else if constexpr (IsVector<T>::value) {
    auto list = parse_flow(d);
    if (list.form == Document::Form::null) return x.clear();
    if (list.form != Document::Form::list) wrong_type(d, name, "a list");
    x.clear();
    for (auto& item : list.items) read(item, x.emplace_back(), name, root);
  } else if constexpr (IsOptional<T>::value) {
    if (d.form == Document::Form::null) return x.reset();
    read(d, x.emplace(), key, root);
  } else {
    if (d.form != Document::Form::scalar || !parse_value(d.text, x)) wrong_type(d, name, expected_text<T>());
  }
}
template <class T> Document write(const T& x) {
  if constexpr (IsChoice<T>) return x.write();
  else if constexpr (Group<T>) {
    Document d;
    fields::for_each(x, [&](std::string_view f, const auto& value) { d.members.emplace_back(f, write(value)); });
    return d;
  } else if constexpr (IsVector<T>::value) {
    Document d{.form = Document::Form::list};
    for (auto& item : x) d.items.push_back(write(item));
    return d;
  } else if constexpr (IsOptional<T>::value) {
    return x ? write(*x) : Document{.form = Document::Form::null};
  } else return scalar(print_value(x), std::is_same_v<T, std::string>);
}
/// Runs the check of every aggregate in x; a ConfigError of one gets the key of its group in front.
template <class T> void check_all(const T& x, const std::string& key = {}) {
  if constexpr (IsChoice<T>) x.check(key);
  else if constexpr (IsVector<T>::value) {
    for (auto& item : x) check_all(item, key);
  } else if constexpr (Group<T>) {
    fields::for_each(x, [&](std::string_view f, const auto& value) { check_all(value, below(key, f)); });
    if constexpr (requires { x.check(); }) {
      try {
        x.check();
      } catch (const ConfigError& e) { fail<ConfigError>(below(key, e.text())); }
    }
  }
}
/// The schema of x, whose values are the defaults.
template <class T> Schema schema(const T& x, std::string_view name = {}, std::string_view words = {}) {
  Schema s{std::string(name), std::string(words)};
  if constexpr (IsChoice<T>) x.explain(s);
  else if constexpr (Group<T>) {
    s.group = true;
    if constexpr (requires { T::named; }) s.named = T::named;
    if constexpr (fields::count<T> > 0) {
      static_assert(std::size(T::meanings) == fields::count<T>, "config: one meaning for each field");
      std::size_t i = 0;
      fields::for_each(x, [&](std::string_view f, const auto& value) {
        s.fields.push_back(schema(value, f, T::meanings[i++].words));
      });
    }
  } else if constexpr (IsVector<T>::value) {
    for (auto& item : x) {
      auto d = write(item);
      auto type = d.find("type");
      s.initial += (s.initial.empty() ? "" : ", ") + (type ? type->text : d.text);
    }
    s.initial = "[" + s.initial + "]";
    if constexpr (IsChoice<typename T::value_type>) s.types = schema(typename T::value_type()).types;  // of its items
  } else if constexpr (IsOptional<T>::value) {
    s.initial = x ? print_value(*x) : "";
  } else s.initial = print_value(x);
  return s;
}

/// A short form of a key: {"lr", "optimizer.lr"}.
struct Short {
  std::string_view from, to;
};
/// Puts short forms in the places they stand for, and a text that stands for a group into the group's named field.
/// Throws ConfigError if both forms of a setting are given.
void settle(Document&, const Schema&, const std::vector<Short>&);
/// The document of a YAML text and items key=value over it, settled. `name`: the text's name in errors.
Document settled(const std::string& yaml, const std::string& name, const std::vector<std::string>& items, const Schema&,
                 const std::vector<Short>&);
/// The text of a configuration file; empty without a path. ConfigError.
std::string text_of(const std::string& path);
/// Settings from a YAML file, if a path is given, then items key=value; checked. ConfigError.
template <class T>
T load(const std::string& path, const std::vector<std::string>& items = {}, const std::vector<Short>& shorts = {}) {
  T x;
  auto all = schema(x);
  read(settled(text_of(path), path, items, all, shorts), x, "", all);
  check_all(x);
  return x;
}
/// Lines "  key  default  meaning". `which`: empty for all settings, a group ("model"), a type ("model.llama") or a
/// key; throws ConfigError for others.
std::string help(const Schema&, const std::vector<Short>&, const std::string& which = {});

// ---- names of an enum's values --------------------------------------------------------------------------------------
namespace detail {
template <class E, E V> constexpr std::string_view enum_word() {
  std::string_view s = __PRETTY_FUNCTION__;
#ifdef __clang__
  auto end = s.rfind(']');
#else
  auto end = s.find(';', s.rfind("V = ")) == s.npos ? s.rfind(']') : s.find(';', s.rfind("V = "));
#endif
  auto text = s.substr(0, end);
  auto begin = text.find_last_of(":) ") + 1;
  return text.substr(begin);
}
}  // namespace detail
template <class E> std::vector<std::string> enum_words() {
  std::vector<std::string> words;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    bool named = true;
    auto add = [&](std::string_view word) {
      named = named && !word.empty() && (word[0] < '0' || word[0] > '9') && word[0] != '-';
      if (named) words.emplace_back(word);
    };
    (add(detail::enum_word<E, static_cast<E>(I)>()), ...);
  }(std::make_index_sequence<32>{});
  return words;
}
}  // namespace bora::config
