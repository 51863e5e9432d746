// grammar.h -- answers that are JSON, of a schema: which tokens may come next.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bora::text {
class Tokenizer;
}  // namespace bora::text
namespace bora::generate {
/// The texts that an answer may have, and for each beginning of one the tokens that go on with it. Texts are JSON
/// without white space, but for one space behind a colon or a comma, which may be there. Characters of strings are
/// written as they are, or escaped; names of members that a schema does not list, and strings with a pattern, have no
/// \u. Several threads may use a grammar.
class Grammar {
 public:
  struct State;
  explicit Grammar(std::unique_ptr<State>);
  ~Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};
/// Grammars over the tokens of one tokenizer. The last ones are kept, so that the same schema is compiled once.
class Grammars {
 public:
  /// The first grammar looks at all tokens.
  explicit Grammars(std::shared_ptr<const text::Tokenizer>);
  ~Grammars();
  Grammars(const Grammars&) = delete;
  Grammars& operator=(const Grammars&) = delete;
  /// Any JSON object.
  std::shared_ptr<const Grammar> json_object() const;
  /// The values of a JSON schema: type, properties, required, additionalProperties, items, prefixItems, minItems,
  /// maxItems, enum, const, anyOf, oneOf of schemas that are apart, allOf of one, $ref within the document, minLength,
  /// maxLength, pattern (a part of regular expressions), format (date, time, date-time, uuid, ipv4), minimum, maximum
  /// and the exclusive ones; true and false. Members come in the order of `properties`. What a schema says nothing
  /// about is not written. Throws ValueError "schema.PLACE: .." for any other keyword, and for text that is no schema;
  /// ValueError for a tokenizer that has no token for one of JSON's characters alone.
  std::shared_ptr<const Grammar> json_schema(std::string_view schema) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::generate
