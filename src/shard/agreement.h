// agreement.h -- checks that the ranks agree on the types and Specs of the values they compute with. Private.
#pragma once
#include "bora/array/communicator.h"
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
/// The compared text of each value.
std::vector<std::string> said_of(const std::vector<Sharded>&, Whole);
/// Compares the ranks' texts, in rank order. Throws a ShardError, the same on every rank, that quotes each rank's
/// version of the first line in which they differ. `title`: the subject of the comparison; `remedy`: advice.
void check_agreement(const std::vector<std::string>& texts, std::string_view title, std::string_view remedy);
/// The hash of a global Program that ranks compare before its first run: 16 digits.
std::string global_fingerprint(const Program&);
/// For ranks whose global_fingerprints differ; each must call it. Throws a ShardError, the same on every rank, that
/// quotes the first operation in which their Programs differ. Few bytes are sent, however long the Programs are.
[[noreturn]] void quote_global_difference(const Program& mine, Communicator& communicator, std::string_view remedy);
}  // namespace bora::fx

namespace bora {
/// Global types and Specs from which a value was computed by operations whose result no longer shows them (a sum, a
/// slice, a product). They are part of the fingerprint of every collective on it, so that ranks whose arrays differ in
/// size get an error. A set: loops reach a fixed point, and a rank may compute other numbers of the same types.
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

/// While it lives, collectives on this thread carry the types that `origin` returns, joined with those of enclosing
/// scopes. It is called only when one starts.
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
