// The fields of a record.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "data/api/records.h"
#include "data/records/csv.h"
#include "data/records/json_cursor.h"
#include "data/tables/column.h"
#include "text/api/utf8.h"

namespace bora::data {
namespace {
/// In an error's text.
std::string in_quotes(std::string_view name) {
  constexpr std::size_t most = 60;
  return "'" + std::string(name.substr(0, most)) + (name.size() > most ? "...'" : "'");
}
const char* kind_of(std::string_view value) {
  switch (value.front()) {
    case '"': return "text";
    case '{': return "an object";
    case '[': return "a list";
    case 'n': return "null";
    case 't':
    case 'f': return "true or false";
    default: return "a number";
  }
}
bool is_name(std::string_view raw, std::string_view name) {
  return raw.find('\\') == raw.npos ? raw == name : unescaped(raw) == name;
}
}  // namespace

void Record::failed(const std::string& problem) const {
  fail<ConfigError>(layout_->path, ":", raw_->line, ": ", problem);
}
void Record::broken(std::string_view problem, std::size_t at) const {
  failed("broken JSON at column " + std::to_string(at + 1) + ": " + std::string(problem));
}
Record::Record(const Layout& layout, const Raw& raw, TextRule rule) : layout_(&layout), raw_(&raw), rule_(rule) {
  if (layout.format == Format::text) {
    members_ = {{"text", raw.bytes}};
  } else if (layout.format == Format::ids) {
    members_ = {{"input_ids", raw.bytes, Form::ids}};
  } else if (layout.format == Format::parquet || layout.format == Format::arrow) {
    std::string_view rest = raw.bytes;
    for (auto& name : layout.header) {
      auto [json, bytes] = tables::take_value(rest);
      members_.push_back({name, bytes, json ? Form::json : Form::plain});
    }
  } else if (layout.format == Format::jsonl) {
    try {
      JsonCursor cursor(raw.bytes);
      cursor.object([&](std::string_view name, std::string_view value) {
        members_.push_back({name, value, Form::json});
      });
      cursor.end();
    } catch (const JsonProblem& p) {
      auto first = raw.bytes.find_first_not_of(" \t\r");
      if (p.at == first && raw.bytes[first] == '[')
        failed("expected a JSON object a line, here begins a list; write its items as lines (jq -c '.[]')");
      if (p.at == first) failed("expected a JSON object, which begins with '{'");
      broken(p.what, p.at);
    }
  } else {
    auto fields = csv_fields(raw.bytes);
    if (fields.size() != layout.header.size())
      failed("the row has " + std::to_string(fields.size()) + " fields, and the header has " +
             std::to_string(layout.header.size()));
    for (std::size_t i = 0; i < fields.size(); ++i) members_.push_back({layout.header[i], fields[i], Form::csv});
  }
}
const Record::Member* Record::find(std::string_view field) const {
  bool json = layout_->format == Format::jsonl;
  for (auto i = members_.size(); i-- > 0;)  // of members with one name, the last counts
    if (json ? is_name(members_[i].name, field) : members_[i].name == field) return &members_[i];
  return nullptr;
}
const Record::Member& Record::at(std::string_view field) const {
  auto member = find(field);
  if (member) return *member;
  constexpr std::size_t most = 20;
  std::string names;
  for (std::size_t i = 0; i < members_.size() && i < most; ++i)
    names += (i > 0 ? ", " : "") +
             in_quotes(layout_->format == Format::jsonl ? unescaped(members_[i].name) : std::string(members_[i].name));
  auto all = members_.size();
  for (auto& [name, why] : layout_->others) {  // of a table
    if (name == field) failed("the field " + in_quotes(field) + " " + (why.empty() ? "was not asked for" : why));
    if (all++ < most) names += (names.empty() ? "" : ", ") + in_quotes(name);
  }
  failed("there is no field " + in_quotes(field) +
         (all == 0 ? "; the record is empty" : "; there are " + names + (all > most ? ", .." : "")));
}
template <class What> std::string Record::by_rule(std::string text, bool half, const What& what) const {
  auto bad = first_not_utf8(text);
  if (bad == text.npos && (!half || rule_.replace)) return text;
  if (rule_.replace) {
    std::string copy;
    return std::string(text::valid_utf8(text, copy));
  }
  if (bad == text.npos) failed(what() + " has half of a surrogate pair, which stands for no character" + rule_.advice);
  char digits[8];
  std::snprintf(digits, sizeof digits, "0x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[bad])));
  auto problem = " is not UTF-8: byte " + std::to_string(bad + 1) + " is " + digits + rule_.advice;
  if (layout_->format != Format::text) failed(what() + problem);
  auto before = std::string_view(text).substr(0, bad);
  auto line = raw_->line + std::count(before.begin(), before.end(), '\n');
  fail<ConfigError>(layout_->path, ":", line, ": the text is not UTF-8: byte ", bad - before.rfind('\n'),
                    " of the line is ", digits, rule_.advice);
}
template <class What> std::string Record::inner(std::string_view string, const What& what) const {
  bool half = false;
  auto text = unescaped(string.substr(1, string.size() - 2), &half);
  return by_rule(std::move(text), half, what);
}
std::string Record::text_of(const Member& member) const {
  auto what = [&] {
    if (layout_->format == Format::text) return std::string("the text");
    return "the field " +
           in_quotes(layout_->format == Format::jsonl ? unescaped(member.name) : std::string(member.name));
  };
  if (member.form == Form::json) {
    if (member.value.front() != '"') failed(what() + " is " + kind_of(member.value) + "; text is expected");
    return inner(member.value, what);
  }
  if (member.form == Form::ids) failed(what() + " holds ids of tokens; text is expected");
  auto text = member.form == Form::csv ? csv_text(member.value) : std::string(member.value);
  bool any_bytes = rule_.bytes && (layout_->format == Format::text || layout_->format == Format::csv);
  return any_bytes ? text : by_rule(std::move(text), false, what);
}
bool Record::is_text(const Member& member) const {
  return member.form == Form::plain && layout_->format != Format::text;
}
bool Record::has(std::string_view field) const {
  auto member = find(field);
  return member && !(member->form == Form::json && member->value == "null");
}
std::string Record::text(std::string_view field) const { return text_of(at(field)); }
double Record::number(std::string_view field) const {
  auto& member = at(field);
  if (is_text(member)) failed("the field " + in_quotes(field) + " is text; a number is expected");
  auto words = member.form == Form::json ? std::string(member.value) : text_of(member);
  auto x = parse_as<double>(words);
  if (!x) failed("the field " + in_quotes(field) + " is " + in_quotes(words) + "; a number is expected");
  return *x;
}
template <class What> std::string Record::word_of(std::string_view value, const What& what) const {
  auto first = value.front();
  if (first == '"') return inner(value, what);
  if (first == '{' || first == '[' || first == 'n')
    failed(what() + " is " + kind_of(value) + "; a text or a number is expected");
  return std::string(value);
}
std::string Record::word(std::string_view field) const {
  auto& member = at(field);
  if (member.form != Form::json) return text_of(member);
  return word_of(member.value, [&] { return "the field " + in_quotes(field); });
}
std::vector<std::string> Record::words(std::string_view field) const {
  auto& member = at(field);
  bool json = member.form == Form::json;
  auto text = json ? std::string() : text_of(member);
  std::string_view list = json ? member.value : text;
  std::vector<std::string> words;
  auto one = [&](std::string_view value) {
    words.push_back(word_of(value, [&] {
      return "place " + std::to_string(words.size() + 1) + " of the field " + in_quotes(field);
    }));
  };
  if (is_text(member) || (json && list.front() != '['))
    failed("the field " + in_quotes(field) + " is " + (is_text(member) ? "text" : kind_of(list)) +
           "; a list of words is expected");
  try {
    JsonCursor cursor(list);
    cursor.list(one);
    cursor.end();
  } catch (const JsonProblem& p) {
    failed("the field " + in_quotes(field) + " holds no list of words: at character " + std::to_string(p.at + 1) +
           ": " + p.what);
  }
  return words;
}
std::vector<double> Record::numbers(std::string_view field) const {
  auto& member = at(field);
  std::vector<double> numbers;
  if (member.form == Form::ids) {
    numbers.resize(member.value.size() / 4);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      std::int32_t id = 0;
      std::memcpy(&id, member.value.data() + 4 * i, 4);
      numbers[i] = id;
    }
    return numbers;
  }
  auto words = member.form == Form::json ? std::string() : text_of(member);
  std::string_view list = member.form == Form::json ? member.value : words;
  auto one = [&](std::string_view value) {
    double x = value == "true";
    auto number = std::from_chars(value.data(), value.data() + value.size(), x);
    bool truth = value == "true" || value == "false";
    if (!truth && (number.ec != std::errc{} || number.ptr != value.data() + value.size()))
      failed("place " + std::to_string(numbers.size() + 1) + " of the field " + in_quotes(field) + " is " +
             kind_of(value) + "; a number is expected");
    numbers.push_back(x);
  };
  if (is_text(member) || (member.form == Form::json && list.front() != '['))
    failed("the field " + in_quotes(field) + " is " + (is_text(member) ? "text" : kind_of(list)) +
           "; a list of numbers is expected");
  try {
    JsonCursor cursor(list);
    cursor.list(one);
    cursor.end();
  } catch (const JsonProblem& p) {
    failed("the field " + in_quotes(field) + " holds no list of numbers: at character " + std::to_string(p.at + 1) +
           ": " + p.what);
  }
  return numbers;
}
std::vector<Turn> Record::turns(std::string_view field) const {
  auto& member = at(field);
  bool json = member.form == Form::json;
  auto words = json ? std::string() : text_of(member);
  std::string_view list = json ? member.value : words;
  std::vector<Turn> turns;
  auto where = [&] { return "turn " + std::to_string(turns.size() + 1) + " of the field " + in_quotes(field); };
  auto turn = [&](std::string_view value) {
    std::string_view role, content, from, said;
    if (value.front() != '{') failed(where() + " is " + kind_of(value) + "; an object is expected");
    JsonCursor(value).object([&](std::string_view name, std::string_view text) {
      for (auto [key, place] : {std::pair{"role", &role}, {"content", &content}, {"from", &from}, {"value", &said}})
        if (is_name(name, key)) *place = text;
    });
    bool sharegpt = role.empty() && content.empty() && !(from.empty() && said.empty());
    auto part = [&](std::string_view text, const char* name) {
      if (text.empty()) failed(where() + " has no " + in_quotes(name));
      if (text.front() != '"')
        failed(in_quotes(name) + " of " + where() + " is " + kind_of(text) + "; text is expected");
      return inner(text, [&] { return in_quotes(name) + " of " + where(); });
    };
    auto speaker = sharegpt ? part(from, "from") : part(role, "role");
    if (sharegpt && speaker == "human") speaker = "user";
    if (sharegpt && speaker == "gpt") speaker = "assistant";
    turns.emplace_back(speaker, sharegpt ? part(said, "value") : part(content, "content"));
  };
  if (is_text(member) || (json && list.front() != '['))
    failed("the field " + in_quotes(field) + " is " + (is_text(member) ? "text" : kind_of(list)) +
           "; a list of turns is expected");
  try {
    JsonCursor cursor(list);
    cursor.list(turn);
    cursor.end();
  } catch (const JsonProblem& p) {
    failed("the field " + in_quotes(field) + " holds no JSON list of turns: at character " + std::to_string(p.at + 1) +
           ": " + p.what);
  }
  return turns;
}
std::vector<Answer> Record::answers(std::string_view field) const {
  auto& member = at(field);
  bool json = member.form == Form::json;
  auto words = json ? std::string() : text_of(member);
  std::string_view all = json ? member.value : words;
  auto what = [&](const char* part) { return "'" + std::string(part) + "' of the field " + in_quotes(field); };
  std::vector<std::string> texts;
  std::vector<std::int64_t> starts;
  auto text = [&](std::string_view value) {
    if (value.front() != '"') failed(what("text") + " is " + kind_of(value) + "; text is expected");
    texts.push_back(inner(value, [&] { return what("text"); }));
  };
  auto start = [&](std::string_view value) {
    auto n = parse_as<std::int64_t>(value);
    if (!n || *n < 0) failed(what("answer_start") + " is " + in_quotes(value) + "; a number of characters is expected");
    starts.push_back(*n);
  };
  auto each = [](std::string_view value, const auto& one) {
    if (value.front() == '[') JsonCursor(value).list(one);
    else one(value);
  };
  auto object = [&](std::string_view value) {
    if (value.front() != '{')
      failed("the field " + in_quotes(field) + " is " + kind_of(value) + "; answers are expected: an object with "
             "'text' and 'answer_start'");
    JsonCursor(value).object([&](std::string_view name, std::string_view part) {
      if (is_name(name, "text")) each(part, text);
      else if (is_name(name, "answer_start")) each(part, start);
    });
  };
  if (all == "null") return {};
  if (is_text(member)) failed("the field " + in_quotes(field) + " is text; answers are expected");
  try {
    JsonCursor whole(all);
    auto value = whole.value();
    whole.end();
    each(value, object);
  } catch (const JsonProblem& p) {
    failed("the field " + in_quotes(field) + " holds no answers in JSON: at character " + std::to_string(p.at + 1) +
           ": " + p.what);
  }
  if (texts.size() != starts.size())
    failed("the field " + in_quotes(field) + " has " + std::to_string(texts.size()) + " texts of answers, and " +
           std::to_string(starts.size()) + " places");
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < texts.size(); ++i) answers.push_back({std::move(texts[i]), starts[i]});
  return answers;
}
}  // namespace bora::data
