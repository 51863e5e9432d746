#include "bora/text/bpe_train.h"
#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <queue>
#include <span>
#include "base/api/json.h"
#include "bora/base/parallel.h"
#include "text/api/byte_level.h"
#include "text/tokenizers/merges.h"
#include "bora/base/text.h"
#include "text/tokenizers/pattern.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s+(?!\S)|\s+)";

constexpr std::size_t kPart = 1 << 18;  // bytes of a text that one thread counts at a time

using Pair = std::uint64_t;  // two ids as one number (pair_of)
struct PairHash {
  std::size_t operator()(Pair p) const {
    p *= 0x9e3779b97f4a7c15;
    return p ^ p >> 32;
  }
};
/// Words as runs of ids in one array; a merge shortens them in place.
class Words {
 public:
  Words(const WordCounts::Map& counted, const std::array<std::int32_t, 256>& byte_ids) {
    std::size_t bytes = 0;
    for (auto& [word, count] : counted) bytes += word.size();
    ids_.reserve(bytes);
    words_.reserve(counted.size());
    for (auto& [word, count] : counted) {
      words_.push_back({ids_.size(), static_cast<std::uint32_t>(word.size()), count});
      for (unsigned char c : word) ids_.push_back(byte_ids[c]);
    }
  }
  std::size_t size() const { return words_.size(); }
  std::int64_t count(std::uint32_t word) const { return words_[word].count; }
  std::span<const std::int32_t> ids(std::uint32_t word) const {
    return {ids_.data() + words_[word].begin, words_[word].size};
  }
  /// Merges left and right in a word, from the left. Calls change(left, right, +1 or -1) for the pairs that come and go
  /// beside a merge. The merged pair itself is not reported, but for one that overlaps it (aaa).
  template <class F>
  void merge(std::uint32_t word, std::int32_t left, std::int32_t right, std::int32_t into, F&& change) {
    auto& w = words_[word];
    auto ids = ids_.data() + w.begin;
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < w.size; ++i) {
      if (ids[i] != left || i + 1 == w.size || ids[i + 1] != right) {
        ids[kept++] = ids[i];
        continue;
      }
      if (kept > 0) {
        change(ids[kept - 1], left, -1);
        change(ids[kept - 1], into, +1);
      }
      if (++i + 1 < w.size) {
        change(right, ids[i + 1], -1);
        change(into, ids[i + 1], +1);
      }
      ids[kept++] = into;
    }
    w.size = kept;
  }

 private:
  struct Word {
    std::size_t begin;
    std::uint32_t size;
    std::int64_t count;
  };
  std::vector<std::int32_t> ids_;
  std::vector<Word> words_;
};

/// A pair that may be merged, with the words in which it came up. One pair may have several candidates: each was made
/// when some words got it.
struct Candidate {
  std::int64_t count;
  Pair pair;
  std::uint32_t places;  // index of its list of words
  bool operator<(const Candidate& o) const { return count != o.count ? count < o.count : pair > o.pair; }
};
class Merging {
 public:
  Merging(Words words, TrainedBpe& out) : words_(std::move(words)), out_(out) {
    for (std::size_t i = 0; i < out.tokens.size(); ++i) {
      // A special token may be made of words' bytes, too: then merges lead to it.
      bool bytes = i + 256 >= out.tokens.size() || token_bytes(out.tokens[i]) == out.tokens[i];
      if (bytes) ids_.emplace(out.tokens[i], static_cast<std::int32_t>(i));
    }
    for (std::uint32_t w = 0; w < words_.size(); ++w) {
      auto ids = words_.ids(w);
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) change(w, ids[i], ids[i + 1], 1);
    }
    offer();
  }
  void run(std::int64_t vocab, std::int64_t min_count) {
    while (static_cast<std::int64_t>(out_.tokens.size()) < vocab && !queue_.empty()) {
      auto top = queue_.top();
      queue_.pop();
      if (auto now = counts_[top.pair]; now != top.count) {
        top.count = now;
        queue_.push(top);
        continue;
      }
      if (top.count < std::max<std::int64_t>(1, min_count)) break;
      merge(top);
    }
  }

 private:
  void merge(const Candidate& top) {
    auto left = static_cast<std::int32_t>(top.pair >> 32), right = static_cast<std::int32_t>(top.pair);
    auto text = out_.tokens[static_cast<std::size_t>(left)] + out_.tokens[static_cast<std::size_t>(right)];
    auto [found, is_new] = ids_.try_emplace(std::move(text), static_cast<std::int32_t>(out_.tokens.size()));
    if (is_new) out_.tokens.push_back(found->first);
    auto into = found->second;
    out_.merges.emplace_back(left, right);
    auto places = std::move(places_[top.places]);
    free_.push_back(top.places);
    for (auto w : places)
      words_.merge(w, left, right, into, [&](std::int32_t a, std::int32_t b, int sign) { change(w, a, b, sign); });
    offer();
  }
  void change(std::uint32_t word, std::int32_t left, std::int32_t right, int sign) {
    auto pair = pair_of(left, right);
    counts_[pair] += sign * words_.count(word);
    if (sign < 0) return;
    auto& where = fresh_[pair];
    if (where.empty() || where.back() != word) where.push_back(word);  // words come one after the other
  }
  /// Puts the pairs that came up into the queue.
  void offer() {
    for (auto& [pair, where] : fresh_) {
      auto count = counts_[pair];
      if (count <= 0) continue;
      std::uint32_t place;
      if (free_.empty()) {
        place = static_cast<std::uint32_t>(places_.size());
        places_.emplace_back();
      } else {
        place = free_.back();
        free_.pop_back();
      }
      where.shrink_to_fit();
      places_[place] = std::move(where);
      queue_.push({count, pair, place});
    }
    fresh_.clear();
  }
  Words words_;
  TrainedBpe& out_;
  std::unordered_map<std::string, std::int32_t> ids_;  // of the texts of bytes and merges
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> fresh_;
  std::vector<std::vector<std::uint32_t>> places_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Candidate> queue_;
};
/// The bytes in the order of their characters, in which Hugging Face's trainer numbers them.
std::array<std::uint8_t, 256> alphabet() {
  std::array<std::uint8_t, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  std::sort(bytes.begin(), bytes.end(), [](auto a, auto b) { return kByteCharacters[a] < kByteCharacters[b]; });
  return bytes;
}
}  // namespace

std::string_view word_pattern(std::string_view name) {
  if (name == "gpt2") return kGpt2Words;
  if (name == "llama3") return kLlama3Words;
  return name == "qwen2" ? kQwen2Words : std::string_view();
}

std::size_t last_cut(std::string_view text) {
  auto letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  for (auto i = text.size(); i-- > 1;)
    if (text[i] == '\n' && letter(text[i - 1])) return i;
  if (auto line = text.rfind('\n'); line != text.npos && line > 0) return line;
  auto blank = [](char c) { return c == ' ' || c == '\t'; };
  for (auto i = text.size(); i-- > 1;)  // before a run of blanks, which belong to the word behind
    if (blank(text[i]) && letter(text[i - 1])) return i;
  for (auto i = text.size(); i-- > 1;)
    if (blank(text[i]) && !blank(text[i - 1])) return i;
  auto i = text.size();  // before the last character: its bytes may go on behind the text
  while (i > 1 && (static_cast<unsigned char>(text[--i]) & 0xc0) == 0x80) {}
  return i;
}

WordCounts::WordCounts(std::string_view pattern) : pattern_(std::make_shared<const Pattern>(pattern, "pattern")) {}
void WordCounts::add(const std::vector<std::string_view>& texts) {
  std::mutex mutex;
  std::vector<std::string_view> parts;  // so that threads share a long text
  for (auto text : texts) {
    for (; text.size() > kPart; text.remove_prefix(parts.back().size()))
      parts.push_back(text.substr(0, last_cut(text.substr(0, kPart))));
    parts.push_back(text);
  }
  parallel_for(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    Map mine;
    std::string copy;
    auto count = [&](std::string_view word, auto...) {
      if (auto found = mine.find(word); found != mine.end()) ++found->second;
      else mine.emplace(word, 1);
    };
    for (auto i = begin; i < end; ++i) pattern_->split(valid_utf8(parts[static_cast<std::size_t>(i)], copy), count);
    std::lock_guard lock(mutex);
    for (auto& [word, n] : mine) words_[word] += n;  // sums do not depend on the order
  });
}

TrainedBpe train_bpe(const WordCounts::Map& words, const BpeTraining& options) {
  TrainedBpe out{options.specials, {}};
  std::array<std::int32_t, 256> byte_ids;
  for (auto b : alphabet()) {
    byte_ids[b] = static_cast<std::int32_t>(out.tokens.size());
    out.tokens.emplace_back(1, static_cast<char>(b));
  }
  Merging(Words(words, byte_ids), out).run(options.vocab, options.min_count);
  return out;
}

std::string problem_of_bpe_special(const std::string& token) {
  if (token.empty()) return "is empty";
  if (first_not_utf8(token) != token.npos) return "is no UTF-8";
  if (token.size() == 1) return "a byte is a token anyhow";
  auto bytes = token_bytes(token);
  return bytes && *bytes != token ? "in a tokenizer.json these characters stand for other bytes" : "";
}
std::string tokenizer_json_of(const TrainedBpe& bpe, std::size_t specials, std::string_view pattern_name) {
  std::vector<std::string> names;
  for (auto& token : bpe.tokens) {
    bool special = names.size() < specials;
    auto& name = names.emplace_back(special ? token : std::string());
    for (unsigned char c : special ? std::string_view() : std::string_view(token)) name += byte_character(c);
  }
  // The last of equal pairs counts, for `tokenizers` as well as here; it writes only that one.
  std::unordered_map<Pair, std::size_t, PairHash> last;
  for (std::size_t i = 0; i < bpe.merges.size(); ++i) last[pair_of(bpe.merges[i].first, bpe.merges[i].second)] = i;
  bool gpt2 = pattern_name == "gpt2";
  auto byte_level = [](JsonWriter& w, bool regex) {
    w.object()("type", "ByteLevel")("add_prefix_space", false)("trim_offsets", true)("use_regex", regex).end();
  };
  JsonWriter w;
  w.object()("version", "1.0")("truncation", nullptr)("padding", nullptr)("added_tokens").list();
  for (std::size_t i = 0; i < specials; ++i)
    w.object()("id", i)("content", names[i])("single_word", false)("lstrip", false)("rstrip", false)(
         "normalized", false)("special", true)
        .end();
  w.end()("normalizer", nullptr)("pre_tokenizer");
  if (!gpt2) {
    w.object()("type", "Sequence")("pretokenizers").list();
    w.object()("type", "Split")("pattern").object()("Regex", word_pattern(pattern_name)).end();
    w("behavior", "Isolated")("invert", false).end();
  }
  byte_level(w, gpt2);
  if (!gpt2) w.end().end();
  w("post_processor", nullptr)("decoder");
  byte_level(w, true);
  w("model").object()("type", "BPE")("dropout", nullptr)("unk_token", nullptr);
  w("continuing_subword_prefix", nullptr)("end_of_word_suffix", nullptr)("fuse_unk", false);
  w("byte_fallback", false)("ignore_merges", false)("vocab").object();
  for (std::size_t i = 0; i < names.size(); ++i) w(names[i], i);
  w.end()("merges").list();
  for (std::size_t i = 0; i < bpe.merges.size(); ++i) {
    auto [left, right] = bpe.merges[i];
    if (last[pair_of(left, right)] != i) continue;
    w.list().add(names[static_cast<std::size_t>(left)]).add(names[static_cast<std::size_t>(right)]).end();
  }
  w.end().end().end();
  return w.take();
}
}  // namespace bora::text
