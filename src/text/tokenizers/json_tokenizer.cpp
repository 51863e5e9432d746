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
    if (json_.bpe) model_ = std::make_unique<Merges>(std::move(*json_.bpe));
    else model_ = std::make_unique<Unigram>(std::move(*json_.unigram));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(json_.tokens.texts.size()); }
  std::string identity() const override { return identity_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }
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
    text = valid_utf8(text, copy);
    auto ids = json_.before;
    ids.reserve(text.size() / 3 + 8);
    auto cache = caches_.take();
    Delayed delayed(*model_, *cache, ids);
    std::string_view here;  // the text of which words are parts, unless the pre-tokenizer changed it
    PreTokenizer::Word word = [&](std::string_view w) {
      if (w.data() >= here.data() && w.data() + w.size() <= here.data() + here.size()) return delayed.add(w);
      delayed.finish();
      model_->append(w, *cache, ids);
    };
    auto token = [&](std::int32_t id) {
      delayed.finish();
      ids.push_back(id);
    };
    auto part = [&](std::string_view original) {
      std::string changed;
      bool first = original.data() == text.data();
      auto s = original;
      if (!json_.normalizer.empty()) s = changed = json_.normalizer(original, &first);
      here = s;
      auto words = [&](std::string_view p) { json_.pre_tokenizer.split(p, first && p.data() == s.data(), word); };
      in_normalized_.split(s, options.special, words, token);
      delayed.finish();
    };
    in_text_.split(text, options.special, part, token);
    caches_.give(std::move(cache));
    ids.insert(ids.end(), json_.after.begin(), json_.after.end());
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions options) const override {
    return make_decoder(json_.tokens, json_.decoder, options);
  }

 private:
  TokenizerJson json_;
  std::string identity_;
  std::optional<std::int32_t> end_;
  std::unique_ptr<const Model> model_;
  AddedTokens in_text_, in_normalized_;
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
