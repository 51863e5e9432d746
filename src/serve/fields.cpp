#include "serve/fields.h"
#include <cmath>
#include "json/api/events.h"
#include "serve/api/refused.h"

namespace bora::serve {
std::string named(const json::Value& v) {
  if (v.is_number()) return v.dump();
  if (v.is_text()) return v.text().size() <= 40 ? json::quoted(v.text()) : "a string";
  return v.is_list() ? "an array" : v.is_object() ? "an object" : v.dump();
}
const json::Value* Fields::find(std::string_view name) {
  known_.emplace(name);
  auto v = object_.find(name);
  return v && !v->is_null() ? v : nullptr;
}
std::optional<bool> Fields::flag(std::string_view name) {
  auto v = find(name);
  if (!v) return {};
  if (!v->is_boolean()) refuse(place(name), "must be true or false, got ", named(*v));
  return v->boolean();
}
std::optional<std::int64_t> Fields::whole(std::string_view name, std::int64_t least, std::int64_t most) {
  auto v = find(name);
  if (!v) return {};
  bool fits = v->is_integer() && !(v->is_natural() && v->natural() > INT64_MAX) && v->integer() >= least &&
              v->integer() <= most;
  if (!fits) refuse(place(name), "must be a whole number from ", least, " to ", most, ", got ", named(*v));
  return v->integer();
}
std::optional<double> Fields::number(std::string_view name, double least, double most) {
  auto v = find(name);
  if (!v) return {};
  bool fits = v->is_number() && v->number() >= least && v->number() <= most;
  if (!fits && std::isinf(most)) refuse(place(name), "must be a number, ", least, " or more, got ", named(*v));
  if (!fits) refuse(place(name), "must be a number from ", least, " to ", most, ", got ", named(*v));
  return v->number();
}
std::optional<std::string> Fields::text(std::string_view name) {
  auto v = find(name);
  if (!v) return {};
  if (!v->is_text()) refuse(place(name), "must be a string, got ", named(*v));
  return v->text();
}
void Fields::ignore(std::initializer_list<std::string_view> names) {
  for (auto name : names) known_.emplace(name);
}
void Fields::only(std::string_view name, const json::Value& value) {
  auto v = find(name);
  if (!v || *v == value) return;
  bool empty = (v->is_list() && v->list().empty()) || (v->is_object() && v->members().empty()) ||
               (v->is_text() && v->text().empty());
  if (empty) return;
  if (value.is_null()) refuse(place(name), "is not supported; leave it out");
  refuse(place(name), "is not supported, except ", value.dump());
}
void Fields::finish() const {
  for (auto& [name, value] : object_.members())
    if (!value.is_null() && !known_.contains(name))
      refuse(place(name.substr(0, 100)), "there is no such field here; a field that is not honoured is refused");
}
}  // namespace bora::serve
