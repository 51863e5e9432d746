#include "bora/generate/answer.h"
#include <algorithm>
#include <cstdio>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/text/tokenizer.h"

namespace bora::generate {
namespace {
/// Finds one string in a text that comes byte by byte. Knuth, Morris and Pratt 1977.
class Search {
 public:
  explicit Search(std::string wanted) : wanted_(std::move(wanted)), shorter_(wanted_.size() + 1) {
    for (std::size_t i = 1; i < wanted_.size(); ++i) shorter_[i + 1] = after(shorter_[i], wanted_[i]);
  }
  /// Whether it ends with this byte.
  bool next(char byte) {
    found_ = after(found_, byte);
    return found_ == wanted_.size();
  }
  /// Bytes at the end of the text that may become it.
  std::size_t found() const { return found_; }
  const std::string& wanted() const { return wanted_; }

 private:
  std::size_t after(std::size_t found, char byte) const {
    while (found > 0 && (found == wanted_.size() || wanted_[found] != byte)) found = shorter_[found];
    return found + (wanted_[found] == byte);
  }
  std::string wanted_;
  std::vector<std::size_t> shorter_;  // by length of a beginning: that of the longest one which is its end
  std::size_t found_ = 0;
};
}  // namespace

struct Answer::State {
  text::StreamDecoder decoder;
  Ends ends;
  std::vector<Search> searches = {};
  std::string held = {}, end = {};
  bool ended = false, finished = false;
  /// Takes a text in; returns what may leave.
  std::string pass(const std::string& text) {
    for (auto byte : text) {
      held += byte;
      std::size_t found = 0;
      for (auto& s : searches)
        if (s.next(byte) && s.found() > found) found = s.found(), end = s.wanted();
      if (found == 0) continue;
      ended = true;
      held.resize(held.size() - found);
      return std::exchange(held, {});
    }
    std::size_t keep = 0;
    for (auto& s : searches) keep = std::max(keep, s.found());
    auto out = held.substr(0, held.size() - keep);
    held.erase(0, out.size());
    return out;
  }
  std::string rest() {
    auto out = pass(decoder.finish());
    finished = true;
    return ended ? out : out + std::exchange(held, {});
  }
};
Answer::Answer(std::shared_ptr<const text::Tokenizer> tokenizer, std::span<const std::int32_t> prompt, Ends ends)
    : state_(new State{text::StreamDecoder(std::move(tokenizer), {.special = ends.special}), std::move(ends)}) {
  auto& s = *state_;
  for (auto& text : s.ends.texts) {
    bora::check<ValueError>(!text.empty(), "stop: a stop string is empty; leave it out");
    bora::check<ValueError>(first_not_utf8(text) == text.npos, "stop: a stop string is not UTF-8");
    s.searches.emplace_back(text);
  }
  for (auto id : prompt) (void)s.decoder.next(id);
}
std::string Answer::next(std::int32_t id) {
  auto& s = *state_;
  bora::check<ValueError>(!s.ended && !s.finished, "next: the answer has ended");
  if (!s.ends.ids.contains(id)) return s.pass(s.decoder.next(id));
  auto out = s.rest();
  s.ended = true;
  return out;
}
std::string Answer::finish() { return state_->ended || state_->finished ? std::string() : state_->rest(); }
bool Answer::ended() const { return state_->ended; }
const std::string& Answer::end() const { return state_->end; }

TokenText token_text(const text::Tokenizer& tokenizer, std::int32_t id) {
  TokenText t{{}, tokenizer.bytes_of(id)};
  if (first_not_utf8(t.bytes) == t.bytes.npos) return t.text = t.bytes, t;
  t.text = "bytes:";
  for (unsigned char byte : t.bytes) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    t.text += hex;
  }
  return t;
}
}  // namespace bora::generate
