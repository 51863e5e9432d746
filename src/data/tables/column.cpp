#include "data/tables/column.h"
#include <bit>
#include <charconv>
#include <cstring>

namespace bora::data::tables {
namespace {
template <class T> void put_number(std::string& out, T x) {
  char text[40];
  out.append(text, std::to_chars(text, text + sizeof text, x).ptr);
}
void put_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  out += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out += text.substr(done, i - done);
    done = i + 1;
    if (c == '\n') out += "\\n";
    else if (c < 0x20) out += "\\u00", out += digits[c >> 4], out += digits[c & 15];
    else out += '\\', out += text[i];
  }
  out += text.substr(done);
  out += '"';
}
/// `most`: a row that has become longer is refused anyway, so that what follows may be left out.
void put_json(std::string& out, const Type& t, const Column& c, std::size_t i, std::size_t most) {
  if (out.size() > most) return;
  if (c.null(i)) {
    out += "null";
    return;
  }
  switch (t.kind) {
    case Kind::text: return put_quoted(out, c.texts[i]);
    case Kind::integer: return put_number(out, static_cast<std::int64_t>(c.numbers[i]));
    case Kind::natural: return put_number(out, c.numbers[i]);
    case Kind::real: return put_number(out, std::bit_cast<double>(c.numbers[i]));
    case Kind::boolean: out += c.numbers[i] != 0 ? "true" : "false"; return;
    case Kind::list:
      out += '[';
      for (auto begin = i == 0 ? 0 : c.ends[i - 1], at = begin; at < c.ends[i] && out.size() <= most; ++at) {
        if (at > begin) out += ',';
        put_json(out, t.children[0], c.children[0], at, most);
      }
      out += ']';
      return;
    case Kind::record: {
      char before = '{';
      for (std::size_t f = 0; f < t.children.size(); ++f) {
        if (!t.children[f].refused.empty()) continue;
        out += before;
        before = ',';
        put_quoted(out, t.children[f].name);
        out += ':';
        put_json(out, t.children[f], c.children[f], i, most);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
  }
}
}  // namespace

void check_sizes(const Type& t, const Column& c, std::size_t size) {
  bool fits = c.size == size && (c.valid.empty() || c.valid.size() == size) && c.children.size() == t.children.size();
  if (t.kind == Kind::text) fits = fits && c.texts.size() == size;
  else if (t.kind == Kind::list) fits = fits && c.ends.size() == size;
  else if (t.kind != Kind::record) fits = fits && c.numbers.size() == size;
  expect(fits, "its parts have different numbers of values");
  for (std::size_t f = 0; f < t.children.size(); ++f)
    if (t.children[f].refused.empty())
      check_sizes(t.children[f], c.children[f],
                  t.kind == Kind::record ? size : c.ends.empty() ? 0 : static_cast<std::size_t>(c.ends.back()));
}
void put_value(std::string& row, const Value& v) {
  auto n = static_cast<std::uint32_t>(v.bytes.size());
  char head[5] = {v.json ? 'j' : 't'};
  std::memcpy(head + 1, &n, 4);
  row.append(head, sizeof head);
  row += v.bytes;
}
Value take_value(std::string_view& rest) {
  std::uint32_t n = 0;
  std::memcpy(&n, rest.data() + 1, 4);
  Value v{rest[0] == 'j', rest.substr(5, n)};
  rest.remove_prefix(5 + n);
  return v;
}
void put_value(std::string& row, const Type& t, const Column& c, std::size_t i, std::size_t most) {
  if (t.kind == Kind::text && !c.null(i)) return put_value(row, {false, c.texts[i].substr(0, most + 1)});
  auto at = row.size();
  put_value(row, {true, ""});
  put_json(row, t, c, i, at + most);
  auto n = static_cast<std::uint32_t>(row.size() - at - 5);
  std::memcpy(row.data() + at + 1, &n, 4);
}
}  // namespace bora::data::tables
