#include "bora/data/masks.h"
#include <array>
#include <cctype>
#include "bora/base/error.h"

namespace bora::data {
MaskTokens MaskTokens::of(const text::Tokenizer& t, const std::string& mask) {
  MaskTokens r;
  auto found = t.id_of(mask.empty() ? "[MASK]" : mask);
  if (!found && mask.empty()) found = t.id_of("<mask>");
  check<ConfigError>(found.has_value(), "data.task: mlm hides tokens behind the token ",
                     mask.empty() ? "[MASK] or <mask>" : mask, ", which the tokenizer lacks; give data.task.mask");
  r.mask = *found;
  auto n = static_cast<std::size_t>(t.size());
  r.special.resize(n), r.begins_word.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::array id{static_cast<std::int32_t>(i)};
    r.special[i] = id[0] == r.mask || (t.decode(id, {.special = false}).empty() && !t.decode(id).empty());
    auto bytes = r.special[i] ? std::string() : t.bytes_of(id[0]);
    auto first = static_cast<unsigned char>(bytes.empty() ? ' ' : bytes[0]);
    r.begins_word[i] = std::isspace(first) || std::ispunct(first);
  }
  return r;
}
std::vector<bool> hide_tokens(std::span<std::int32_t> ids, const MaskOptions& o, const MaskTokens& t, Philox draw) {
  std::vector<bool> learnt(ids.size());
  bool word = false;      // the one at hand is learnt
  bool goes_on = false;   // the token before is of a word
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto id = static_cast<std::size_t>(ids[i]);
    if (t.special.at(id)) {
      goes_on = false;
      continue;
    }
    if (!o.whole_words || !goes_on || t.begins_word[id]) word = draw.uniform() < o.rate;
    goes_on = true;
    if (!word) continue;
    learnt[i] = true;
    auto how = draw.uniform();
    if (how < o.masked) ids[i] = t.mask;
    else if (how < o.masked + o.random)
      ids[i] = static_cast<std::int32_t>(draw.integer(0, static_cast<std::int64_t>(t.special.size())));
  }
  return learnt;
}
}  // namespace bora::data
