// config.h -- aggregates of settings: read from documents, written, checked and explained by reflection of their
// fields. A field may be a bool, a number, a text, a value with one (Parsed), an enum (by its words: Worded), an
// optional, a vector, another such aggregate (a group) or a Choice (choice.h).
// An aggregate describes its fields in `static constexpr config::Meaning meanings[]`, in their order. It may have
//   static constexpr std::string_view named = "path";   the field that a text sets where the group stands
//   void check() const;                                 ConfigError beginning with a field's name: "lr: must be .."
#pragma once
#include <charconv>
#include <cmath>
#include <concepts>
#include <optional>
#include <span>
#include "bora/base/error.h"
#include "bora/base/fields.h"
#include "bora/base/text.h"
#include "bora/config/document.h"

namespace bora::config {
/// A field's description in `bora help`.
struct Meaning {
  std::string_view field, words;
};
/// How a group's documents become the one that is read. An aggregate, or the interface of a choice, may have
/// `static const config::Forms forms;` its functions get groups, and may be null.
struct Forms {
  /// Puts other ways to write the group into its own. Called for each document, before its short forms are moved.
  void (*settle)(Document&) = nullptr;
  /// Prepares the group of two documents (null where one lacks it) before the upper one is laid over the lower one.
  void (*lay_over)(Document* below, Document* above) = nullptr;
  /// The same as settle, of the one document that is read: where a form depends on keys that another one may give.
  void (*finish)(Document&) = nullptr;
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
  const Forms* forms = nullptr;                                         // of a group
};

/// Throws ConfigError "KEY: must be WORDS, got VALUE" unless ok.
template <class T> void domain(bool ok, std::string_view key, const T& value, std::string_view words) {
  check<ConfigError>(ok, key, ": must be ", words, ", got ", value);
}
/// Whether x is a finite number as f32 too.
inline bool finite(double x) { return std::isfinite(static_cast<float>(x)); }

/// An enum with a table of words, `words_of(E)`, found by argument-dependent lookup: rows with a `word` and a `value`.
/// The first word of a value is written, all are read.
template <class E> concept Worded = std::is_enum_v<E> && requires { words_of(E{}); };
/// A value with a text of its own: T::parse reads it and throws ConfigError, to_string writes it.
template <class T> concept Parsed = requires(const T& x, const std::string& text) {
  { T::parse(text) } -> std::same_as<T>;
  { to_string(x) } -> std::same_as<std::string>;
};
/// The words of an enum: of its table, or the names of its values from 0 to 31, which have no gaps.
template <class E> std::vector<std::string> enum_words();
/// Throws ConfigError: KEY of the document is not of the type that `expected` says.
[[noreturn]] void wrong_type(const Document& d, const std::string& key, std::string_view expected);
/// Throws ConfigError for a member that the group does not have.
[[noreturn]] void unknown_key(const Document& member, const std::string& key, const Schema& root);
/// "model" and "layers" -> "model.layers".
std::string below(const std::string& key, std::string_view field);

template <class T> struct IsVector : std::false_type {};  // is T one?
template <class T> struct IsVector<std::vector<T>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};  // is T one?
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
/// A setting that chooses a type: config::Choice.
template <class T> concept IsChoice = requires { typename T::Interface; };
/// An aggregate of settings.
template <class T> concept Group = std::is_aggregate_v<T> && std::is_class_v<T> && !IsVector<T>::value;

// ---- one value ------------------------------------------------------------------------------------------------------
std::string expected_words(const std::vector<std::string>& words);  // "one of a, b"
/// The kind of value that errors ask for: "an integer".
template <class T> std::string expected_text() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  else if constexpr (std::is_integral_v<T>) return "an integer";
  else if constexpr (std::is_floating_point_v<T>) return "a number";
  else if constexpr (std::is_enum_v<T>) return expected_words(enum_words<T>());
  else return "text";
}
/// Whether s is the text of a T, which `out` gets. A Parsed type throws ConfigError instead.
template <class T> bool parse_value(const std::string& s, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    out = s;
    return true;
  } else if constexpr (Parsed<T>) {
    out = T::parse(s);
    return true;
  } else if constexpr (Worded<T>) {
    for (auto& row : words_of(T{}))
      if (row.word == s) return out = row.value, true;
    return false;
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
/// The text that parse_value reads back.
template <class T> std::string print_value(const T& v) {
  if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>) return v;
  else if constexpr (Parsed<T>) return to_string(v);
  else if constexpr (Worded<T>) {
    for (auto& row : words_of(v))
      if (row.value == v) return std::string(row.word);
    fail<ValueError>("config: no word for the value ", static_cast<int>(v), " of an enum");
  } else if constexpr (std::is_enum_v<T>) return enum_words<T>().at(static_cast<std::size_t>(v));
  else {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, v).ptr};
  }
}

// ---- types of fields ------------------------------------------------------------------------------------------------
struct Kind;
using Field = fields::Field<Kind>;  // of an aggregate of settings
/// An aggregate of settings. Without meanings it cannot be explained.
struct Members {
  std::span<const Field> fields = {};
  std::span<const Meaning> meanings = {};
  std::string_view named = {};
  void (*check)(const void*) = nullptr;  // null: it has none
  const Forms* forms = nullptr;
};
/// The operations on settings of one type; those on aggregates go through their members (src/config/settings.cpp).
struct Kind {
  void (*read)(const Document&, void*, const std::string& key, const Schema& root) = nullptr;
  Document (*write)(const void*) = nullptr;
  void (*check)(const void*, const std::string& key) = nullptr;  // null: there is nothing to check
  void (*explain)(const void*, Schema&) = nullptr;               // null: the default is the text that it writes
  Members (*members)(const void*) = nullptr;                     // of an aggregate, from any object of it
};
template <class T> const Kind& kind();  // of settings of type T

void read(const Document&, void*, const Kind&, const std::string& key, const Schema& root);
Document write(const void*, const Kind&);  // the document that read() reads back
void check_all(const void*, const Kind&, const std::string& key);
Schema schema(const void*, const Kind&, std::string_view name, std::string_view words);
/// The key of a document, for errors.
inline const std::string& name_of(const Document& d, const std::string& key) {
  return d.written.empty() ? key : d.written;
}
/// The items of a list, or of a text that writes one; none for null. Throws as wrong_type.
std::vector<Document> items_of(const Document&, const std::string& key);

class AnyChoice;
const Kind& kind_of_choices();  // of every Choice
namespace detail {
/// The address of a setting and its Kind; all Choices have one.
struct Kinds {
  template <class T> static std::pair<const void*, const Kind*> of(const T& x) {
    if constexpr (IsChoice<T>) return {static_cast<const AnyChoice*>(&x), &kind_of_choices()};
    else return {&x, &kind<T>()};
  }
};
template <class T> Members members_of(const void* x) {
  static const auto all = fields::table<Kind, Kinds>(*static_cast<const T*>(x));
  Members m{.fields = all};
  if constexpr (requires { T::meanings; }) {
    static_assert(std::size(T::meanings) == fields::count<T>, "config: one meaning for each field");
    m.meanings = T::meanings;
  }
  if constexpr (requires { T::named; }) m.named = T::named;
  if constexpr (requires { T::forms; }) m.forms = &T::forms;
  if constexpr (requires(const T& t) { t.check(); }) m.check = [](const void* p) { static_cast<const T*>(p)->check(); };
  return m;
}
}  // namespace detail

// ---- documents to values and back -----------------------------------------------------------------------------------
/// Sets the fields of x that the document gives. `key`: of the document, for errors; `root`: all settings, for advice.
template <class T> void read(const Document& d, T& x, const std::string& key, const Schema& root) {
  auto [at, kind] = detail::Kinds::of(x);
  config::read(d, const_cast<void*>(at), *kind, key, root);
}
template <class T> Document write(const T& x) {
  auto [at, kind] = detail::Kinds::of(x);
  return config::write(at, *kind);
}
/// Runs the check of every aggregate in x; a ConfigError of one gets the key of its group in front.
template <class T> void check_all(const T& x, const std::string& key = {}) {
  auto [at, kind] = detail::Kinds::of(x);
  config::check_all(at, *kind, key);
}
/// The schema of x, whose values are the defaults. Its fields, and theirs, have meanings.
template <class T> Schema schema(const T& x, std::string_view name = {}, std::string_view words = {}) {
  auto [at, kind] = detail::Kinds::of(x);
  return config::schema(at, *kind, name, words);
}

namespace detail {
template <class T> struct Of {  // a scalar
  static void read(const Document& d, void* x, const std::string& key, const Schema&) {
    if (d.form != Document::Form::scalar || !parse_value(d.text, *static_cast<T*>(x)))
      wrong_type(d, name_of(d, key), expected_text<T>());
  }
  static Document write(const void* x) {
    return scalar(print_value(*static_cast<const T*>(x)), std::is_same_v<T, std::string> || Parsed<T>);
  }
};
template <class T> struct Of<std::optional<T>> {
  static void read(const Document& d, void* p, const std::string& key, const Schema& root) {
    auto& x = *static_cast<std::optional<T>*>(p);
    if (d.form == Document::Form::null) return x.reset();
    config::read(d, x.emplace(), key, root);
  }
  static Document write(const void* p) {
    auto& x = *static_cast<const std::optional<T>*>(p);
    return x ? config::write(*x) : Document{.form = Document::Form::null};
  }
};
template <class T> struct Of<std::vector<T>> {
  static void read(const Document& d, void* p, const std::string& key, const Schema& root) {
    auto& x = *static_cast<std::vector<T>*>(p);
    auto items = items_of(d, key);
    x.clear();
    for (auto& item : items) config::read(item, x.emplace_back(), name_of(d, key), root);
  }
  static Document write(const void* p) {
    Document d{.form = Document::Form::list};
    for (auto& item : *static_cast<const std::vector<T>*>(p)) d.items.push_back(config::write(item));
    return d;
  }
  static void check(const void* p, const std::string& key) {
    for (auto& item : *static_cast<const std::vector<T>*>(p)) check_all(item, key);
  }
  static void explain(const void* p, Schema& s) {
    for (auto& item : write(p).items) {
      auto type = item.find("type");
      s.initial += (s.initial.empty() ? "" : ", ") + (type ? type->text : item.text);
    }
    s.initial = "[" + s.initial + "]";
    if constexpr (IsChoice<T>) s.types = schema(T()).types;  // of its items
  }
};
template <class T> constexpr Kind make_kind() {
  if constexpr (Group<T>) return {.members = &members_of<T>};
  else {
    Kind k{.read = &Of<T>::read, .write = &Of<T>::write};
    if constexpr (IsVector<T>::value) {
      k.check = &Of<T>::check;
      k.explain = &Of<T>::explain;
    }
    return k;
  }
}
}  // namespace detail
template <class T> const Kind& kind() {
  static constexpr auto k = detail::make_kind<T>();
  return k;
}
// Kinds that many settings use; src/config/settings.cpp has them.
extern template const Kind& kind<bool>();
extern template const Kind& kind<int>();
extern template const Kind& kind<std::int64_t>();
extern template const Kind& kind<std::uint64_t>();
extern template const Kind& kind<float>();
extern template const Kind& kind<double>();
extern template const Kind& kind<std::string>();
extern template const Kind& kind<std::optional<std::int64_t>>();
extern template const Kind& kind<std::optional<double>>();
extern template const Kind& kind<std::vector<std::int64_t>>();
extern template const Kind& kind<std::vector<std::string>>();

/// A short form of a key: {"lr", "optimizer.lr"}.
struct Short {
  std::string_view from, to;
};
/// Puts short forms in the places they stand for, a text that stands for a group into the group's named field, and
/// other ways to write a group into its own (Forms). Throws ConfigError if both forms of a setting are given.
void settle(Document&, const Schema&, const std::vector<Short>&);
/// The document of a YAML text and items key=value over it, settled: groups in braces too. Where the items choose
/// another type, keys of the text that the new type lacks are left out. `name`: the text's name in errors.
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
/// "A, B, (E)2" as compilers print a list of enum values: the words before the first that is a number.
std::vector<std::string> words_in(std::string_view list);
template <class E, E... V> constexpr std::string_view printed_values() {
  std::string_view s = __PRETTY_FUNCTION__;
  auto begin = s.rfind("V = ") + 5;
#ifdef __clang__
  return s.substr(begin, s.rfind('>') - begin);
#else
  return s.substr(begin, s.find('}', begin) - begin);
#endif
}
template <class E, std::size_t... I> std::string_view printed_values(std::index_sequence<I...>) {
  return printed_values<E, static_cast<E>(I)...>();
}
}  // namespace detail
template <class E> std::vector<std::string> enum_words() {
  if constexpr (Worded<E>) {
    std::vector<std::string> all;
    for (auto& row : words_of(E{})) all.emplace_back(row.word);
    return all;
  } else return detail::words_in(detail::printed_values<E>(std::make_index_sequence<32>{}));
}
}  // namespace bora::config
