// schema.h -- a JSON schema as an automaton of the texts of all values that fit it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>
#include "generate/grammar/automaton.h"
#include "json/api/value.h"

namespace bora::generate::grammar {
/// What a schema says nothing about is not written: members beside `properties`, items behind `prefixItems`, types
/// other than those of the keywords that are there. A schema without any of them is that of all values, up to 16 lists
/// and objects deep.
class Schema {
 public:
  /// longest: bytes of a token. The document outlives it.
  Schema(Automaton& a, const json::Value& document, std::int64_t longest)
      : a_(a), document_(document), longest_(longest) {}
  /// The rule of the whole document. Throws ValueError "schema.PLACE: ..".
  std::int32_t rule();
  /// The rule of any object.
  std::int32_t any_object();

 private:
  using Value = json::Value;
  static constexpr int kDepth = 16;  // of references, and of values that a schema says nothing about
  void add(const Value&, const std::string& place, int depth, std::int32_t from, std::int32_t to);
  void add_type(std::string_view type, const Value&, const std::string& place, int depth, std::int32_t from,
                std::int32_t to);
  void add_object(const Value&, const std::string& place, int depth, std::int32_t from, std::int32_t to);
  void add_array(const Value&, const std::string& place, int depth, std::int32_t from, std::int32_t to);
  void add_string(const Value&, const std::string& place, std::int32_t from, std::int32_t to);
  void add_number(bool whole, const Value&, const std::string& place, std::int32_t from, std::int32_t to);
  void add_others(const std::vector<std::string>& names, const Value* schema, const std::string& place, int depth,
                  std::int32_t from, std::int32_t to);
  void other_name(const std::vector<std::string>& names, std::int32_t from, std::int32_t to);
  void gap(std::int32_t from, std::int32_t to);
  std::int32_t rule_of(const Value&, const std::string& place, int depth);
  std::int32_t any(int depth);
  std::int32_t string();
  std::int32_t object_of(std::int32_t member);
  /// The target of a reference, and its place.
  std::pair<const Value*, std::string> target(const Value& reference, const std::string& place) const;
  /// Whether no value fits both, as far as that can be seen.
  bool apart(const Value&, const Value&, int depth) const;
  const Value& followed(const Value&) const;
  Automaton& a_;
  const Value& document_;
  std::int64_t longest_;
  std::map<std::pair<const Value*, int>, std::int32_t> rules_ = {};
  std::map<int, std::int32_t> any_ = {};
  std::int32_t string_ = -1, free_number_ = -1;
  mutable int compared_ = 0;  // pairs of schemas
};
/// Throws ValueError for keywords that are not known, or not of the form that they must have.
void check_keywords(const json::Value& schema, const std::string& place);
/// The types that a schema has, or that its keywords belong to; none: all.
std::vector<std::string> types_of(const json::Value& schema, const std::string& place);
/// Whether a value is of this type.
bool is_of(const json::Value&, std::string_view type);
}  // namespace bora::generate::grammar
