// The keywords of schemas, and the types that they belong to.
#include <algorithm>
#include "bora/base/error.h"
#include "generate/grammar/schema.h"

namespace bora::generate::grammar {
namespace {
using json::Value;
struct Keyword {
  std::string_view name, type;  // no type: it says nothing about values, or it is of all
};
constexpr Keyword kKeywords[] = {
    {"title", ""},       {"description", ""}, {"default", ""},   {"examples", ""},
    {"$schema", ""},     {"$id", ""},         {"$comment", ""},  {"$defs", ""},
    {"definitions", ""}, {"deprecated", ""},  {"readOnly", ""},  {"writeOnly", ""},
    {"type", ""},        {"enum", ""},        {"const", ""},     {"anyOf", ""},
    {"oneOf", ""},       {"allOf", ""},       {"$ref", ""},      {"properties", "object"},
    {"required", "object"}, {"additionalProperties", "object"},  {"items", "array"},
    {"prefixItems", "array"}, {"minItems", "array"}, {"maxItems", "array"}, {"minLength", "string"},
    {"maxLength", "string"}, {"pattern", "string"}, {"format", "string"}, {"minimum", "number"},
    {"maximum", "number"}, {"exclusiveMinimum", "number"}, {"exclusiveMaximum", "number"},
};
constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};
constexpr std::string_view kSilent[] = {"title",       "description", "default",    "examples",  "$schema", "$id",
                                        "$comment",    "$defs",       "definitions", "deprecated", "readOnly",
                                        "writeOnly"};
/// These decide by themselves: what stands beside one of them would have to hold as well.
constexpr std::string_view kAlone[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", "const"};
}  // namespace

void check_keywords(const Value& schema, const std::string& place) {
  bora::check<ValueError>(schema.is_object(), place, ": must be an object, true or false, got ", schema.type_name());
  for (auto& member : schema.members()) {
    auto& name = member.first;
    auto& value = member.second;
    bool harmless = (name == "uniqueItems" && value == Value(false)) ||
                    ((name == "minProperties" || name == "minContains") && value == Value(0));
    bool known = std::ranges::any_of(kKeywords, [&](auto& k) { return k.name == name; });
    bora::check<ValueError>(known || harmless, place, ": the keyword ", json::quoted(name.substr(0, 60)),
                            " is not supported");
  }
  for (auto alone : kAlone) {
    if (!schema.find(alone)) continue;
    for (auto& [name, value] : schema.members()) {
      bool typed = name == "type" && (alone == "enum" || alone == "const");
      bora::check<ValueError>(name == alone || typed || std::ranges::find(kSilent, name) != std::end(kSilent), place,
                              ": the keyword ", json::quoted(name), " beside ", json::quoted(std::string(alone)),
                              " is not supported");
    }
  }
}
std::vector<std::string> types_of(const Value& schema, const std::string& place) {
  std::vector<std::string> types;
  auto take = [&](const Value& v) {
    bool known = v.is_text() && std::ranges::find(kTypes, v.text()) != std::end(kTypes);
    bora::check<ValueError>(known, place,
                            ".type: must be object, array, string, number, integer, boolean or null, got ",
                            v.dump().substr(0, 60));
    if (std::ranges::find(types, v.text()) == types.end()) types.push_back(v.text());
  };
  auto given = schema.find("type");
  if (given && given->is_list()) {
    bora::check<ValueError>(!given->list().empty(), place, ".type: there must be a type");
    for (auto& v : given->list()) take(v);
  } else if (given) {
    take(*given);
  } else {
    for (auto& k : kKeywords)
      if (!k.type.empty() && schema.find(k.name)) take(Value(k.type));
  }
  if (std::ranges::find(types, "number") != types.end()) std::erase(types, "integer");
  return types;
}
bool is_of(const Value& v, std::string_view type) {
  if (type == "object") return v.is_object();
  if (type == "array") return v.is_list();
  if (type == "string") return v.is_text();
  if (type == "boolean") return v.is_boolean();
  if (type == "null") return v.is_null();
  return type == "integer" ? v.is_integer() : v.is_number();
}
}  // namespace bora::generate::grammar
