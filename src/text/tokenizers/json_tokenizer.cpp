// json_tokenizer.cpp -- a text's way to ids: added tokens, normalizer, added tokens, pre-tokenizer, model, and what the
// post-processor adds. The ids are those of Hugging Face's library `tokenizers`.
#include "text/tokenizers/json_tokenizer.h"
#include <algorithm>
#include <array>
#include "text/unicode.h"

namespace bora::text {
namespace {
/// Makes ids of words in their order, some words late: meanwhile the cache's memory arrives.
class Delayed {
 public:
  Delayed(const Model& model, WordCache& cache, std::vector<std::int32_t>& ids)
      : model_(model), cache_(cache), ids_(ids) {}
  /// A word that stays where it is until finish().
  void add(std::string_view word) {
    cache_.expect(word);
    auto& place = words_[count_++ % kWords];
    if (count_ > kWords) model_.append(place, cache_, ids_);
    place = word;
  }
  void finish() {
    for (auto i = count_ > kWords ? count_ - kWords : 0; i < count_; ++i)
      model_.append(words_[i % kWords], cache_, ids_);
    count_ = 0;
  }

 private:
  static constexpr std::size_t kWords = 4;
  const Model& model_;
  WordCache& cache_;
  std::vector<std::int32_t>& ids_;
  std::array<std::string_view, kWords> words_ = {};
  std::size_t count_ = 0;
};
class JsonTokenizer final : public Tokenizer {
 public:
  JsonTokenizer(TokenizerJson json, std::string identity, std::optional<std::int32_t> end)
      : json_(std::move(json)), identity_(std::move(identity)), end_(end) {
    std::vector<AddedToken> in_text, in_normalized;
    for (auto& t : json_.added) {
      (t.normalized ? in_normalized : in_text).push_back(t);
      if (t.normalized) in_normalized.back().content = json_.normalizer(t.content);
    }
    in_text_ = AddedTokens(std::move(in_text));
    in_normalized_ = AddedTokens(std::move(in_normalized));
    as_written_ = AddedTokens(json_.added);
    if (json_.bpe) unknown_ = json_.bpe->unknown, model_ = std::make_unique<Merges>(std::move(*json_.bpe));
    else if (json_.unigram)
      unknown_ = json_.unigram->unknown, model_ = std::make_unique<Unigram>(std::move(*json_.unigram));
    else unknown_ = json_.word_piece->unknown, model_ = std::make_unique<WordPiece>(std::move(*json_.word_piece));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(json_.tokens.texts.size()); }
  std::string identity() const override { return identity_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }
  std::vector<std::int32_t> between() const override { return json_.between; }
  std::optional<std::int32_t> padding() const override {
    for (auto usual : {"<pad>", "<|pad|>", "[PAD]", "<|padding|>", "<|finetune_right_pad_id|>"})
      for (auto& t : json_.added)
        if (t.content == usual) return t.id;
    return {};
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    for (auto& t : json_.added)
      if (t.content == token) return t.id;
    auto found = json_.ids.find(std::string(token));
    return found == json_.ids.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions options) const override {
    std::string copy;
    auto original_text = text;
    text = valid_utf8(text, copy);
    auto ids = json_.before;
    ids.reserve(text.size() / 3 + 8);
    auto cache = caches_.take();
    Delayed delayed(*model_, *cache, ids);
    std::string_view here;  // the text of which words are parts, unless the pre-tokenizer changed it
    bool plain = !options.special || !options.said.empty();  // no special token comes of what the model makes
    PreTokenizer::Word word = [&](std::string_view w) {
      if (plain && unknown_ && has_unknown(w)) {
        delayed.finish();
        return append_apart(w, *cache, ids);
      }
      if (w.data() >= here.data() && w.data() + w.size() <= here.data() + here.size()) return delayed.add(w);
      delayed.finish();
      model_->append(w, *cache, ids);
    };
    auto said = in_valid(original_text, text, options.said);
    auto marks = said.empty() ? std::unordered_set<std::int32_t>() : as_written_.marks(text, said);
    auto made = ids.size();  // by the model, from there on
    auto token = [&](std::int32_t id) {
      delayed.finish();
      if (plain) spell(ids, made, marks, *cache);
      ids.push_back(id);
      made = ids.size();
    };
    auto part = [&](std::string_view original) {
      std::string changed;
      bool first = original.data() == text.data(), begins = first;
      auto s = original;
      if (!json_.normalizer.empty()) s = changed = json_.normalizer(original, &first);
      here = s;
      auto words = [&](std::string_view p) { json_.pre_tokenizer.split(p, first && p.data() == s.data(), word); };
      auto in_part = in_normal_form(original, begins, said, static_cast<std::size_t>(original.data() - text.data()));
      in_normalized_.split(s, {options.special, in_part, &marks}, words, token);
      delayed.finish();
    };
    in_text_.split(text, {options.special, said, &marks}, part, token);
    if (plain) spell(ids, made, marks, *cache);
    caches_.give(std::move(cache));
    ids.insert(ids.end(), json_.after.begin(), json_.after.end());
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions options) const override {
    return make_decoder(json_.tokens, json_.decoder, options);
  }
  std::string bytes_of(std::int32_t id) const override {
    auto bytes = id >= 0 && id < size() ? part_of_character(json_.tokens, json_.decoder, id) : std::nullopt;
    return bytes ? *bytes : Tokenizer::bytes_of(id);
  }

 private:
  /// Ranges of a part at `offset` of a text, in the part's normal form.
  std::vector<TextRange> in_normal_form(std::string_view part, bool begins, const std::vector<TextRange>& said,
                                        std::size_t offset) const {
    std::vector<TextRange> r;
    if (in_normalized_.empty()) return r;
    auto place = [&](std::size_t at) {
      auto before = part.substr(0, std::clamp(at, offset, offset + part.size()) - offset);
      bool first = begins;
      return json_.normalizer.empty() ? before.size() : json_.normalizer(before, &first).size();
    };
    for (auto& range : said)
      if (range.second > offset && range.first < offset + part.size())
        r.emplace_back(place(range.first), place(range.second));
    return r;
  }
  std::string_view unknown_text() const { return json_.tokens.texts[static_cast<std::size_t>(*unknown_)]; }
  bool has_unknown(std::string_view word) const { return word.find(unknown_text()) != word.npos; }
  /// A word in which the token of unknown characters is written out: as its characters.
  void append_apart(std::string_view word, WordCache& cache, std::vector<std::int32_t>& ids) const {
    auto token = unknown_text();
    while (!word.empty()) {
      auto at = std::min(word.find(token), word.size());
      if (at > 0) model_->append(word.substr(0, at), cache, ids);
      if (at == word.size()) return;
      for (std::size_t i = 0; i < token.size(); i += character_size(token[i]))
        model_->append(token.substr(i, character_size(token[i])), cache, ids);
      word.remove_prefix(at + token.size());
    }
  }
  /// Some models have special tokens among their pieces: of ids that the model made, from `begin` on, these become the
  /// ids of their characters.
  void spell(std::vector<std::int32_t>& ids, std::size_t begin, const std::unordered_set<std::int32_t>& marks,
             WordCache& cache) const {
    auto none = [&](std::int32_t id) {
      return id != unknown_ && (json_.tokens.special[static_cast<std::size_t>(id)] || marks.contains(id));
    };
    auto at = ids.begin() + static_cast<std::ptrdiff_t>(begin);
    if (std::none_of(at, ids.end(), none)) return;
    std::vector<std::int32_t> made(at, ids.end()), character;
    ids.resize(begin);
    for (auto id : made) {
      if (!none(id)) {
        ids.push_back(id);
        continue;
      }
      std::string_view text = json_.tokens.texts[static_cast<std::size_t>(id)];
      for (std::size_t i = 0; i < text.size(); i += character_size(text[i])) {
        character.clear();
        model_->append(text.substr(i, character_size(text[i])), cache, character);
        for (auto c : character)
          if (!none(c)) ids.push_back(c);
          else if (unknown_) ids.push_back(*unknown_);
      }
    }
  }
  TokenizerJson json_;
  std::string identity_;
  std::optional<std::int32_t> end_;
  std::unique_ptr<const Model> model_;
  AddedTokens in_text_, in_normalized_, as_written_;
  std::optional<std::int32_t> unknown_;
  mutable WordCaches caches_;
};
}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(TokenizerJson json, std::string identity,
                                                const std::string& end_of_text) {
  auto id_of = [&](std::string_view content) -> std::optional<std::int32_t> {
    for (auto& t : json.added)
      if (t.content == content) return t.id;
    return {};
  };
  auto end = id_of(end_of_text);
  check<ConfigError>(end || end_of_text.empty(), "end_of_text: the tokenizer has no added token '", end_of_text, "'");
  for (auto usual : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"})
    if (!end) end = id_of(usual);
  return std::make_shared<JsonTokenizer>(std::move(json), std::move(identity), end);
}
}  // namespace bora::text
