// vocabulary.cpp -- tokens, their types, and the ones with a meaning. Names of tokenizer.ggml.pre and their patterns:
// llama.cpp's vocabulary (llama-vocab), which quotes those of the tokenizer.json that each came from.
#include "gguf/vocabulary.h"
#include <algorithm>
#include <cstdio>
#include "bora/base/text.h"

namespace bora::gguf {
namespace {
constexpr std::string_view kTokens = "tokenizer.ggml.tokens", kTypes = "tokenizer.ggml.token_type",
                           kModel = "tokenizer.ggml.model", kPre = "tokenizer.ggml.pre";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::vector<Words>& all_words() {
  static const std::vector<Words> all = {
      {.names = {"gpt-2", "gpt2", "phi-2", "mpt", "olmo", "mellum", "exaone4", "trillion", "granite-docling"},
       .patterns = {kGpt2}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "midm-2.0"},
       .patterns = {kLlama3},
       .ignore_merges = true,
       .bos = true},
      {.names = {"dbrx", "smaug-bpe"}, .patterns = {kLlama3}},
      {.names = {"qwen2", "deepseek-r1-qwen", "megrez", "kormo"}, .patterns = {kQwen2}, .nfc = true},
      {.names = {"stablelm2", "hunyuan"}, .patterns = {kQwen2}},
      {.names = {"tekken"}, .patterns = {kTekken}, .ignore_merges = true, .bos = true},
      {.names = {"gpt-4o", "llama4", "kanana2"}, .patterns = {kGpt4o}},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       .patterns = {R"(\p{N})", kGpt2}}};
  return all;
}
std::optional<std::int64_t> id_of(const File& f, std::string_view name, const Vocabulary& v) {
  auto key = "tokenizer.ggml." + std::string(name) + "_token_id";
  auto id = f.maybe_integer(key);
  if (!id || *id == -1 || *id == UINT32_MAX) return {};  // both mean none
  if (*id < 0 || *id >= static_cast<std::int64_t>(v.tokens.size()))
    f.wrong(key, *id, " is none of ", v.tokens.size(), " tokens");
  return id;
}
}  // namespace

Vocabulary::Form form_of(const File& f) {
  auto model = f.maybe_text(kModel);
  if (!model || *model == "none" || *model == "no_vocab") return Vocabulary::Form::none;
  if (*model == "gpt2") return Vocabulary::Form::json;
  if (*model == "llama") return Vocabulary::Form::model;
  f.wrong(kModel, "'", one_line(*model), "' is not supported; supported: gpt2 (byte-level BPE), llama (SentencePiece)");
}
Vocabulary vocabulary_of(const File& f) {
  Vocabulary v{.form = form_of(f)};
  if (v.form == Vocabulary::Form::none) f.wrong(kModel, "the file has no tokenizer");
  v.tokens = f.texts(kTokens);
  auto types = f.integers(kTypes);
  if (!types.empty() && types.size() != v.tokens.size())
    f.wrong(kTypes, types.size(), " of them for ", v.tokens.size(), " tokens");
  v.types.assign(v.tokens.size(), TokenType::normal);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 1 || types[i] > 6) f.wrong(kTypes, types[i], " of token ", i, " is none; 1 to 6 are");
    v.types[i] = static_cast<TokenType>(types[i]);
  }
  if (v.form == Vocabulary::Form::json)
    while (!v.types.empty() && v.types.back() == TokenType::unused) v.types.pop_back(), v.tokens.pop_back();
  if (v.tokens.empty()) f.wrong(kTokens, "there are none");
  bool model = v.form == Vocabulary::Form::model;
  v.bos = id_of(f, "bos", v), v.eos = id_of(f, "eos", v), v.unknown = id_of(f, "unknown", v);
  v.pad = id_of(f, "padding", v);
  // As llama.cpp takes them where the file lacks them.
  v.add_bos = f.maybe_flag("tokenizer.ggml.add_bos_token").value_or(model || words_of(f).bos) && v.bos;
  v.add_eos = f.maybe_flag("tokenizer.ggml.add_eos_token").value_or(false) && v.eos;
  return v;
}
const Words& words_of(const File& f) {
  auto name = f.maybe_text(kPre).value_or("");
  std::string known;
  for (auto& words : all_words())
    for (auto& one : words.names) {
      if (one == name) return words;
      known += (known.empty() ? "" : ", ") + std::string(one);
    }
  f.wrong(kPre, name.empty() ? "is missing" : "'" + one_line(name) + "' is not supported",
          ", so that it is not known how texts are cut into words; known: ", known,
          name.empty() ? "; write it with gguf_new_metadata --pre-tokenizer of the package gguf" : "");
}
}  // namespace bora::gguf
