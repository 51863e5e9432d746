#include "bora/config/choice.h"
#include <algorithm>
#include <map>
#include <typeindex>

namespace bora::config {
std::vector<Row>& detail::rows(const std::type_info& interface) {
  static std::map<std::type_index, std::vector<Row>> all;
  return all[interface];
}
bool detail::add(const std::type_info& interface, const Row& row) {
  auto& all = rows(interface);
  all.insert(std::upper_bound(all.begin(), all.end(), row, [](auto& a, auto& b) { return a.type < b.type; }), row);
  return true;
}

void Chosen::read_fields(const Document& d, const std::string& key, const Schema& root) {
  auto p = parts();
  auto read_part = [&](const Document& part, const void* x, const Kind& kind) {
    read(part, const_cast<void*>(x), kind, key, root);
  };
  if (!p.common) return read_part(d, p.own, *p.kind);
  auto own = d, shared = d;
  auto is_shared = [names = p.common_kind->members(p.common).fields](auto& member) {
    return std::any_of(names.begin(), names.end(), [&](auto& f) { return f.name == member.first; });
  };
  std::erase_if(own.members, is_shared);
  std::erase_if(shared.members, [&](auto& member) { return !is_shared(member); });
  read_part(shared, p.common, *p.common_kind);
  read_part(own, p.own, *p.kind);
}
Document Chosen::write_fields() const {
  auto p = parts();
  auto d = write(p.own, *p.kind);
  if (p.common)
    for (auto& member : write(p.common, *p.common_kind).members) d.members.push_back(member);
  return d;
}
void Chosen::check_fields(const std::string& key) const {
  auto p = parts();
  check_all(p.own, *p.kind, key);
  if (p.common) check_all(p.common, *p.common_kind, key);
}
Schema Chosen::explain_fields() const {
  auto p = parts();
  auto s = schema(p.own, *p.kind, {}, {});
  if (p.common)
    for (auto& field : schema(p.common, *p.common_kind, {}, {}).fields) s.fields.push_back(field);
  return s;
}

namespace {
const Row* row_of(const std::vector<Row>& rows, std::string_view type) {
  for (auto& r : rows)
    if (r.type == type) return &r;
  return nullptr;
}
}  // namespace
AnyChoice::AnyChoice(const std::vector<Row>& rows, std::string_view type) {
  auto found = row_of(rows, type);
  bora::check<ValueError>(found != nullptr, "there is no type '", type, "'");
  held_ = found->make(nullptr);
}
AnyChoice::AnyChoice(const AnyChoice& other)
    : held_(row_of(*other.held_->family().rows, other.held_->type())->make(other.held_.get())) {}
void AnyChoice::read(const Document& d, const std::string& key, const Schema& root) {
  if (d.form == Document::Form::null) return;
  if (d.form == Document::Form::scalar) return choose(d, key, d.text);
  if (d.form != Document::Form::group) wrong_type(d, key, "a type, or keys below it");
  if (auto type = d.find("type")) {
    if (type->form != Document::Form::scalar) wrong_type(*type, below(key, "type"), "a word");
    choose(*type, below(key, "type"), type->text);
  }
  auto rest = d;
  std::erase_if(rest.members, [](auto& m) { return m.first == "type"; });
  held_->read_fields(rest, key, root);
}
Document AnyChoice::write() const {
  auto d = held_->write_fields();
  d.members.insert(d.members.begin(), {"type", scalar(std::string(held_->type()))});
  return d;
}
void AnyChoice::check(const std::string& key) const { held_->check_fields(key); }
void AnyChoice::explain(Schema& s) const {
  auto family = held_->family();
  s.group = true;
  s.named = family.named;
  s.forms = family.forms;
  std::string words;
  for (auto& r : *family.rows) {
    s.types.emplace_back(r.type, (r.type == held_->type() ? *held_ : *r.make(nullptr)).explain_fields().fields);
    words += (words.empty() ? "" : ", ") + std::string(r.type);
  }
  s.fields = held_->explain_fields().fields;
  s.fields.insert(s.fields.begin(), Schema{"type", words, std::string(held_->type())});
}
void AnyChoice::choose(const Document& d, const std::string& key, const std::string& word) {
  if (word == held_->type()) return;
  auto& rows = *held_->family().rows;
  auto found = row_of(rows, word);
  if (!found) {
    std::vector<std::string> known;
    for (auto& r : rows) known.emplace_back(r.type);
    unknown_type(d, key, word, known);
  }
  held_ = found->make(nullptr);
}

const Kind& kind_of_choices() {
  static constexpr Kind k{
      .read = [](const Document& d, void* x, const std::string& key,
                 const Schema& root) { static_cast<AnyChoice*>(x)->read(d, key, root); },
      .write = [](const void* x) { return static_cast<const AnyChoice*>(x)->write(); },
      .check = [](const void* x, const std::string& key) { static_cast<const AnyChoice*>(x)->check(key); },
      .explain = [](const void* x, Schema& s) { static_cast<const AnyChoice*>(x)->explain(s); }};
  return k;
}
}  // namespace bora::config
