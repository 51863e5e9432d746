#include "json/api/events.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "json/parser.h"

namespace bora::json {
std::string_view words_of(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::boolean: return v.boolean() ? "true" : "false";
    case Value::Kind::natural: return "a number";
    case Value::Kind::integer: return "a negative number";
    case Value::Kind::fraction: return "a fraction";
    case Value::Kind::text: return "text";
    case Value::Kind::list: return "a list";
    case Value::Kind::object: return "an object";
    default: return "null";
  }
}
class EventParts final : public Parts {
 public:
  explicit EventParts(Events& events) : e(events) {}
  void begin(bool list) override {
    constexpr std::size_t most = 8;
    check<IoError>(e.lists_.size() < most, e.where(), ": nested deeper than ", most, " levels");
    e.opened(list);
    e.lists_.push_back(list);
    if (list) return;
    e.path_.emplace_back();
    e.names_.emplace_back();
  }
  void end(bool list) override {
    if (!list) e.path_.pop_back(), e.names_.pop_back();
    e.lists_.pop_back();
    e.closed(list);
  }
  void name(std::string& name) override {
    e.path_.pop_back();  // errors name the object
    check<IoError>(e.names_.back().insert(name).second, e.where(), ": '", one_line(name), "' is given twice");
    e.path_.push_back(name);
  }
  void value(Value v) override { e.value(v, !e.lists_.empty() && e.lists_.back()); }

 private:
  Events& e;
};
void Events::parse(std::string_view text) {
  EventParts parts(*this);
  read(text, file_, parts);
}
}  // namespace bora::json
