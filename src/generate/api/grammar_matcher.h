// grammar_matcher.h -- one answer on its way through a grammar.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bora::generate {
class Grammar;
namespace grammar {
class Matcher {
 public:
  explicit Matcher(std::shared_ptr<const Grammar>);
  ~Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  /// A bit for each token that may come next.
  const std::vector<std::uint64_t>& mask();
  /// Goes on with a token that fits.
  void take(std::int32_t id);
  /// The bytes of a token; none: it fits nowhere.
  const std::string& bytes(std::int32_t id) const;
  bool whole() const;  // what was taken is a value
  bool over() const;   // and no token may follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace grammar
}  // namespace bora::generate
