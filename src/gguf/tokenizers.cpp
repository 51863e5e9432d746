// tokenizers.cpp -- a GGUF file's tokenizer in the files that Hugging Face and SentencePiece have for it.
#include <algorithm>
#include <bit>
#include <unordered_set>
#include "base/api/json.h"
#include "bora/base/text.h"
#include "gguf/api/companions.h"
#include "gguf/api/gguf.h"
#include "gguf/vocabulary.h"

namespace bora::gguf {
namespace {
/// Tokens with which an answer ends, by their texts: llama.cpp takes them for ends in every file.
constexpr std::string_view kEnds[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
                                      "<|eom_id|>", "<EOT>",      "_<EOT>",  "<|end_of_text|>"};
void byte_level(JsonWriter& w) {
  w.object()("type", "ByteLevel")("add_prefix_space", false)("trim_offsets", true)("use_regex", false).end();
}
/// Fields of a protocol buffer.
class Proto {
 public:
  Proto& number(int field, std::uint64_t x) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(x);
    return *this;
  }
  Proto& real(int field, float x) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    auto bits = std::bit_cast<std::uint32_t>(x);
    for (int i = 0; i < 4; ++i) bytes_ += static_cast<char>(bits >> (8 * i));
    return *this;
  }
  Proto& text(int field, std::string_view s) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(s.size());
    bytes_ += s;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  void varint(std::uint64_t x) {
    for (; x >= 0x80; x >>= 7) bytes_ += static_cast<char>(x | 0x80);
    bytes_ += static_cast<char>(x);
  }
  std::string bytes_;
};
}  // namespace

std::string tokenizer_json(const File& f) {
  auto v = vocabulary_of(f);
  auto& words = words_of(f);
  std::unordered_set<std::string_view> seen;
  JsonWriter w;
  w.object()("version", "1.0")("added_tokens").list();
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (!seen.insert(v.tokens[i]).second)
      f.wrong("tokenizer.ggml.tokens", "'", one_line(v.tokens[i]), "' is a token twice");
    auto type = v.types[i];
    if (type == TokenType::normal || type == TokenType::unused || type == TokenType::byte) continue;
    w.object()("id", i)("content", v.tokens[i])("single_word", false)("lstrip", false)("rstrip", false)(
         "normalized", false)("special", type != TokenType::user_defined)
        .end();
  }
  w.end();
  if (words.nfc) w("normalizer").object()("type", "NFC").end();
  w("pre_tokenizer").object()("type", "Sequence")("pretokenizers").list();
  for (auto pattern : words.patterns) {
    w.object()("type", "Split")("pattern").object()("Regex", pattern).end();
    w("behavior", "Isolated")("invert", false).end();
  }
  byte_level(w);
  w.end().end()("decoder");
  byte_level(w);
  if (v.add_bos || v.add_eos) {
    auto around = [&](std::int64_t id) {
      w.object()("SpecialToken").object()("id", v.text(id))("type_id", 0).end().end();
    };
    w("post_processor").object()("type", "TemplateProcessing")("single").list();
    if (v.add_bos) around(*v.bos);
    w.object()("Sequence").object()("id", "A")("type_id", 0).end().end();
    if (v.add_eos) around(*v.eos);
    w.end()("special_tokens").object();
    auto token = [&](std::int64_t id) {
      w(v.text(id)).object()("id", v.text(id))("ids").list().add(id).end().end();
    };
    if (v.add_bos) token(*v.bos);
    if (v.add_eos && !(v.add_bos && v.bos == v.eos)) token(*v.eos);
    w.end().end();
  }
  w("model").object()("type", "BPE")("ignore_merges", words.ignore_merges)("vocab").object();
  for (std::size_t i = 0; i < v.tokens.size(); ++i) w(v.tokens[i], i);
  w.end()("merges").list();
  for (auto merge : f.texts("tokenizer.ggml.merges")) w.add(merge);
  w.end().end().end();
  return w.take();
}
std::string tokenizer_model(const File& f) {
  auto v = vocabulary_of(f);
  auto scores = f.numbers("tokenizer.ggml.scores");
  if (scores.size() != v.tokens.size())
    f.wrong("tokenizer.ggml.scores", scores.size(), " of them for ", v.tokens.size(), " tokens");
  Proto model;
  bool bytes = false;
  std::optional<std::int64_t> unknown = v.unknown;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.types[i] == TokenType::unknown && !unknown) unknown = static_cast<std::int64_t>(i);
    bytes = bytes || v.types[i] == TokenType::byte;
  }
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    auto type = v.types[i];
    if (unknown == static_cast<std::int64_t>(i)) type = TokenType::unknown;
    auto piece = Proto().text(1, v.tokens[i]).real(2, scores[i]).number(3, static_cast<std::uint64_t>(type)).take();
    model.text(1, piece);
  }
  constexpr std::uint64_t bpe = 2;
  Proto trainer;
  trainer.number(3, bpe).number(4, v.tokens.size()).number(35, bytes);
  // Ids of a field's type, int32: -1 for none takes ten bytes.
  auto id = [](std::optional<std::int64_t> x) { return static_cast<std::uint64_t>(x.value_or(-1)); };
  trainer.number(40, id(unknown)).number(41, id(v.bos)).number(42, id(v.eos)).number(43, id(v.pad));
  // By these texts the library finds them.
  for (auto [field, token] : {std::pair{45, unknown}, {46, v.bos}, {47, v.eos}, {48, v.pad}})
    if (token) trainer.text(field, v.text(token));
  model.text(2, trainer.take());
  Proto normalizer;
  normalizer.text(1, "identity")
      .number(3, f.maybe_flag("tokenizer.ggml.add_space_prefix").value_or(true))
      .number(4, f.maybe_flag("tokenizer.ggml.remove_extra_whitespaces").value_or(false))
      .number(5, 1);
  if (f.has("tokenizer.ggml.precompiled_charsmap"))
    f.wrong("tokenizer.ggml.precompiled_charsmap", "is not supported for a tokenizer of the model llama");
  model.text(3, normalizer.take());
  return model.take();
}
std::string tokenizer_config_json(const File& f) {
  JsonWriter w;
  w.object();
  if (form_of(f) != Vocabulary::Form::none) {
    auto v = vocabulary_of(f);
    w("add_bos_token", v.add_bos)("add_eos_token", v.add_eos);
    for (auto [name, token] : {std::pair{"bos_token", v.bos}, {"eos_token", v.eos}, {"unk_token", v.unknown},
                               {"pad_token", v.pad}})
      if (token) w(name, v.text(token));
    w("tokenizer_class", v.form == Vocabulary::Form::model ? "LlamaTokenizer" : "PreTrainedTokenizerFast");
  }
  if (auto chat = f.maybe_text("tokenizer.chat_template")) w("chat_template", *chat);
  w.end();
  return w.take();
}
std::string generation_config_json(const File& f) {
  JsonWriter w;
  w.object();
  if (form_of(f) != Vocabulary::Form::none) {
    auto v = vocabulary_of(f);
    std::vector<std::int64_t> ends;
    auto add = [&](std::int64_t id) {
      if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
    };
    if (v.eos) add(*v.eos);
    for (auto key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
      if (auto id = f.maybe_integer(key); id && *id >= 0 && *id < static_cast<std::int64_t>(v.tokens.size())) add(*id);
    for (std::size_t i = 0; i < v.tokens.size(); ++i)
      if (v.types[i] != TokenType::normal && std::count(std::begin(kEnds), std::end(kEnds), v.tokens[i]) > 0)
        add(static_cast<std::int64_t>(i));
    if (v.bos) w("bos_token_id", *v.bos);
    if (v.pad) w("pad_token_id", *v.pad);
    if (!ends.empty()) {
      w("eos_token_id").list();
      for (auto id : ends) w.add(id);
      w.end();
    }
  }
  w.end();
  return w.take();
}
}  // namespace bora::gguf
