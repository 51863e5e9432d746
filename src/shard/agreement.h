// agreement.h -- what ranks say to each other before they rely on it: the types and Specs of what they compute with.
// Private.
#pragma once
#include "bora/array/rules.h"

namespace bora::fx {
/// One line each: "argument 'x' is\tf32[8, 4]{data, -}".
std::string fact(const std::string& what, const std::string& value);
std::string facts_of(std::string_view kind, const std::vector<std::string>& values,
                     const std::vector<std::string>& labels = {});
/// How far the types of values that are not split are compared.
enum class Whole : std::uint8_t {
  same,    // every rank has it whole
  ranked,  // dtype and number of dimensions: it may be a block of each rank's own, as inside of shard_map
  own,     // not at all: a computation that knows nothing of the mesh is the rank's own
};
/// What is compared of each value.
std::vector<std::string> said_of(const std::vector<Sharded>&, Whole);
/// The ranks' lines, in rank order. Throws ShardError that quotes the first line in which they differ with every rank
/// under what it has: the same words on every rank. `title`: what is compared; `remedy`: what to do.
void check_agreement(const std::vector<std::string>& texts, std::string_view title, std::string_view remedy);
}  // namespace bora::fx

namespace bora {
/// Global types and Specs from which a value was computed by operations whose result no longer shows them (a sum, a
/// slice, a product). They ride in the fingerprint of every collective about it, so that ranks whose arrays differ in
/// size are told so. A set: loops come to an end of it, and a rank may compute other numbers of the same types.
class Origin {
 public:
  static std::shared_ptr<const Origin> of(std::vector<std::string> types);
  static std::shared_ptr<const Origin> joined(const std::vector<std::shared_ptr<const Origin>>&);  // null if all are
  std::uint64_t hash() const { return hash_; }
  std::string text() const;  // "f32[8]{data}, f32[3]"

 private:
  std::vector<std::string> types_;  // sorted, each once
  std::uint64_t hash_ = 0;
};
using OriginPtr = std::shared_ptr<const Origin>;

/// While it lives, collectives on this thread are about what `origin` says, and what the scopes around it say. Asked
/// only when one starts.
class About {
 public:
  explicit About(std::function<OriginPtr()> origin);
  ~About();
  About(const About&) = delete;
  About& operator=(const About&) = delete;
  static OriginPtr now();
 private:
  const OriginPtr& get();
  std::function<OriginPtr()> make_;
  OriginPtr made_;
  About* outer_;
};
}  // namespace bora
