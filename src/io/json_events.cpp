#include "json_events.h"
#include <nlohmann/json.hpp>
#include "bora/base/error.h"
#include "bora/base/text.h"

namespace bora::io {
using nlohmann::json;
struct JsonSink : nlohmann::json_sax<json> {
  static constexpr std::size_t kMostDepth = 8;
  JsonEvents& e;
  explicit JsonSink(JsonEvents& events) : e(events) {}

  bool give(JsonValue v) {
    v.in_list = !e.lists_.empty() && e.lists_.back();
    e.value(v);
    return true;
  }
  bool null() override { return give({.kind = "null"}); }
  bool boolean(bool b) override { return give({.kind = b ? "true" : "false"}); }
  bool number_integer(std::int64_t) override { return give({.kind = "a negative number"}); }
  bool number_unsigned(std::uint64_t n) override { return give({.number = &n, .kind = "a number"}); }
  bool number_float(double, const std::string&) override { return give({.kind = "a fraction"}); }
  bool string(std::string& s) override { return give({.text = &s, .kind = "text"}); }
  bool binary(json::binary_t&) override { return false; }

  bool open(bool list) {
    check<IoError>(e.lists_.size() < kMostDepth, e.where(), ": nested deeper than ", kMostDepth, " levels");
    e.opened(list);
    e.lists_.push_back(list);
    return true;
  }
  bool start_object(std::size_t) override {
    open(false);
    e.path_.emplace_back();
    e.names_.emplace_back();
    return true;
  }
  bool key(std::string& name) override {
    e.path_.pop_back();  // errors name the object
    check<IoError>(e.names_.back().insert(name).second, e.where(), ": '", one_line(name), "' is given twice");
    e.path_.push_back(name);
    return true;
  }
  bool end_object() override {
    e.path_.pop_back();
    e.names_.pop_back();
    e.lists_.pop_back();
    e.closed(false);
    return true;
  }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override {
    e.lists_.pop_back();
    e.closed(true);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    std::string_view words = error.what();  // "[json.exception.parse_error.101] parse error at line .."
    if (auto end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
    fail<IoError>(e.file_, ": broken JSON: ", one_line(words));
  }
};
void JsonEvents::parse(std::string_view text) {
  JsonSink sink(*this);
  json::sax_parse(text, &sink);
}
}  // namespace bora::io
