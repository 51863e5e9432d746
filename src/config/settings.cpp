// Settings of any type, and the members of aggregates.
#include "bora/config/config.h"

namespace bora::config {
namespace {
void read_members(const Document& d, void* x, const Members& all, const std::string& key, const Schema& root) {
  if (d.form == Document::Form::null) return;  // `model:` with nothing below it
  if (d.form != Document::Form::group) {
    std::string list;
    for (auto& f : all.fields) list += (list.empty() ? "" : ", ") + std::string(f.name);
    wrong_type(d, name_of(d, key), "keys below it (" + list + ")");
  }
  for (auto& [name, member] : d.members) {
    auto known = false;
    for (auto& f : all.fields)
      if (f.name == name) known = true, read(member, f.in(x), *f.kind, below(key, f.name), root);
    if (!known) unknown_key(member, below(key, name), root);
  }
}
void check_members(const void* x, const Members& all, const std::string& key) {
  for (auto& f : all.fields)
    if (f.kind->check || f.kind->members) check_all(f.in(x), *f.kind, below(key, f.name));
  if (!all.check) return;
  try {
    all.check(x);
  } catch (const ConfigError& e) { fail<ConfigError>(below(key, e.text())); }
}
}  // namespace

void read(const Document& d, void* x, const Kind& k, const std::string& key, const Schema& root) {
  if (k.members) return read_members(d, x, k.members(x), key, root);
  try {
    k.read(d, x, key, root);
  } catch (const ConfigError& e) {  // of a value that reads its own text, and does not know its key
    if (!e.text().starts_with("must be ")) throw;
    fail<ConfigError>(d.where, ": ", name_of(d, key), ": ", e.text());
  }
}
Document write(const void* x, const Kind& k) {
  if (!k.members) return k.write(x);
  Document d;
  for (auto& f : k.members(x).fields) d.members.emplace_back(f.name, write(f.in(x), *f.kind));
  return d;
}
void check_all(const void* x, const Kind& k, const std::string& key) {
  if (k.members) check_members(x, k.members(x), key);
  else if (k.check) k.check(x, key);
}
Schema schema(const void* x, const Kind& k, std::string_view name, std::string_view words) {
  Schema s{std::string(name), std::string(words)};
  if (k.members) {
    auto all = k.members(x);
    check<ValueError>(all.meanings.size() == all.fields.size(), "the settings of '", name, "' have no meanings");
    s.group = true;
    s.named = all.named;
    s.forms = all.forms;
    for (std::size_t i = 0; i < all.fields.size(); ++i) {
      auto& f = all.fields[i];
      s.fields.push_back(schema(f.in(x), *f.kind, f.name, all.meanings[i].words));
    }
  } else if (k.explain) k.explain(x, s);
  else s.initial = k.write(x).text;
  return s;
}

std::vector<Document> items_of(const Document& d, const std::string& key) {
  auto list = parse_flow(d);
  if (list.form == Document::Form::null) return {};
  if (list.form != Document::Form::list) wrong_type(d, name_of(d, key), "a list");
  return std::move(list.items);
}
std::string expected_words(const std::vector<std::string>& words) {
  std::string list;
  for (auto& word : words) list += (list.empty() ? "" : ", ") + word;
  return "one of " + list;
}
std::vector<std::string> detail::words_in(std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t i = 0, begin = 0, depth = 0; i <= list.size(); ++i) {
    auto c = i < list.size() ? list[i] : ',';
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    auto word = list.substr(begin, i - begin);
    word = word.substr(word.find_last_of(":) ") + 1);
    if (word.empty() || (word[0] >= '0' && word[0] <= '9') || word[0] == '-') break;
    words.emplace_back(word);
    begin = i + 1;
  }
  return words;
}

template const Kind& kind<bool>();
template const Kind& kind<int>();
template const Kind& kind<std::int64_t>();
template const Kind& kind<std::uint64_t>();
template const Kind& kind<float>();
template const Kind& kind<double>();
template const Kind& kind<std::string>();
template const Kind& kind<std::optional<std::int64_t>>();
template const Kind& kind<std::optional<double>>();
template const Kind& kind<std::vector<std::int64_t>>();
template const Kind& kind<std::vector<std::string>>();
}  // namespace bora::config
