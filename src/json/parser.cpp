#include "json/parser.h"
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::json {
namespace {
using Library = nlohmann::ordered_json;
struct Sink final : nlohmann::json_sax<Library> {
  const std::string& file;
  Parts& parts;
  Sink(const std::string& f, Parts& p) : file(f), parts(p) {}

  bool give(Value v) {
    parts.value(std::move(v));
    return true;
  }
  bool null() override { return give({}); }
  bool boolean(bool x) override { return give(x); }
  bool number_integer(std::int64_t x) override { return give(Value::with_minus(x)); }
  bool number_unsigned(std::uint64_t x) override { return give(x); }
  bool number_float(double x, const std::string&) override { return give(x); }
  bool string(std::string& x) override { return give(std::move(x)); }
  bool binary(Library::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return parts.begin(false), true; }
  bool start_array(std::size_t) override { return parts.begin(true), true; }
  bool end_object() override { return parts.end(false), true; }
  bool end_array() override { return parts.end(true), true; }
  bool key(std::string& name) override { return parts.name(name), true; }
  bool parse_error(std::size_t, const std::string&, const Library::exception& error) override {
    std::string_view words = error.what();  // "[json.exception.parse_error.101] parse error at line .."
    if (auto end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
    fail<IoError>(file, ": broken JSON: ", one_line(words));
  }
};
Library tree(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::null: return nullptr;
    case Value::Kind::boolean: return v.boolean();
    case Value::Kind::natural: return v.natural();
    case Value::Kind::integer: return v.integer();
    case Value::Kind::fraction: return v.number();
    case Value::Kind::text: return v.text();
    case Value::Kind::list: {
      Library::array_t items;
      for (auto& item : v.list()) items.push_back(tree(item));
      return items;
    }
    case Value::Kind::object: break;
  }
  Library::object_t members;
  members.reserve(v.members().size());
  for (auto& [name, value] : v.members()) members.emplace_back(name, tree(value));  // emplace would search for the name
  return members;
}
}  // namespace

void read(std::string_view text, const std::string& file, Parts& parts) {
  Sink sink(file, parts);
  Library::sax_parse(text, &sink);
}
std::string write(const Value& v, int indent, bool replace) {
  try {
    auto handler = replace ? Library::error_handler_t::replace : Library::error_handler_t::strict;
    return tree(v).dump(indent, ' ', false, handler);
  } catch (const Library::exception& e) { fail<ValueError>(e.what()); }
}
}  // namespace bora::json
