#include "text/tokenizers/tokenizer_json.h"
#include <charconv>
#include <cmath>
#include <unordered_set>
#include "text/api/byte_level.h"
#include "text/json_node.h"

namespace bora::text {
namespace {
constexpr std::size_t kMostAdded = 4096;   // bytes of an added token
constexpr std::size_t kMostAround = 4096;  // tokens around a text

/// A score as `tokenizers` reads it: its JSON library divides the digits by a power of ten, and may miss the last bit.
/// That bit decides between the same pieces in another order.
double quotient(double score) {
  char text[40];
  auto end = std::to_chars(text, std::end(text), std::abs(score), std::chars_format::scientific).ptr;
  std::uint64_t digits = 0;
  int exponent = 0;
  auto at = text;
  for (bool behind_point = false; *at != 'e'; ++at)
    if (*at == '.') behind_point = true;
    else digits = digits * 10 + static_cast<std::uint64_t>(*at - '0'), exponent -= behind_point;
  int shift = 0;
  std::from_chars(at + (at[1] == '+' ? 2 : 1), end, shift);
  exponent += shift;
  auto value = static_cast<double>(digits);
  while (exponent != 0) {
    auto k = std::min(std::abs(exponent), 308);
    auto power = "1e" + std::to_string(k);
    double ten = 0;
    std::from_chars(power.data(), power.data() + power.size(), ten);
    value = exponent > 0 ? value * ten : value / ten;
    exponent += exponent > 0 ? -k : k;
  }
  return std::copysign(value, score);
}

class TokenizerReader {
 public:
  TokenizerReader(const Node& root, bool post_processor) : root_(root) {
    root_.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"});
    if (auto version = root_.find("version"))
      version->need(version->j == "1.0", "expected \"1.0\", got ", one_line(version->j.dump()));
    // Both say how rows were made when the file was saved; who reads it asks anew, as `transformers` does.
    for (auto key : {"truncation", "padding"})
      if (auto found = root_.find(key)) found->need(found->j.is_object(), "expected an object or null");
    auto model = root_.at("model");
    std::string type = "BPE";
    if (auto given = model.find("type")) type = given->text();
    if (type != "BPE" && type != "Unigram" && type != "WordPiece") model.unknown_type("BPE, Unigram, WordPiece");
    if (auto normalizer = root_.find("normalizer")) out_.normalizer.read(*normalizer);
    auto pre = root_.find("pre_tokenizer");
    if (pre) out_.pre_tokenizer.read(*pre);
    out_.decoder = read_decoder(root_.find("decoder"));
    byte_texts_ = !out_.decoder.empty() && out_.decoder[0].kind == DecodeStep::Kind::byte_level;
    if (type == "BPE") {
      bpe_vocabulary(model);
    } else {
      if (pre) pre->need(!out_.pre_tokenizer.byte_level(), "ByteLevel is not supported for ", type);
      if (type == "Unigram") unigram_vocabulary(model);
      else word_pieces(model);
    }
    if (auto list = root_.find("added_tokens")) added(*list);
    places(model.at("vocab"));
    if (out_.bpe) {
      bpe_words();
      merges(model.at("merges"));
    }
    if (auto post = root_.find("post_processor"); post && post_processor) post_process(*post);
  }
  TokenizerJson take() {
    out_.ids.reserve(ids_.size());
    for (auto& [token, id] : ids_) out_.ids.emplace(token, id);
    return std::move(out_);
  }

 private:
  /// Reads the vocabulary into ids_.
  Node tokens_and_ids(const Node& model) {
    auto vocab = model.at("vocab");
    vocab.need(vocab.j.is_object() && !vocab.j.members().empty(), "expected an object of tokens and their ids");
    ids_.reserve(vocab.j.members().size());
    for (auto& [token, id] : vocab.j.members()) {
      if (!id.is_natural() || id.natural() >= kMostTokens)
        vocab.wrong("the id of '", token, "' is ", one_line(id.dump()));
      ids_.emplace(token, static_cast<std::int32_t>(id.natural()));
    }
    return vocab;
  }
  void word_pieces(const Node& model) {
    model.only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    (void)tokens_and_ids(model);
    auto& words = out_.word_piece.emplace();
    for (auto& [token, id] : ids_) words.pieces.emplace(token, id);
    if (auto prefix = model.find("continuing_subword_prefix")) words.prefix = prefix->text();
    words.most_characters = static_cast<std::size_t>(model.count("max_input_chars_per_word", 1'000'000, 100));
    auto unknown = model.at("unk_token");
    auto id = find(unknown.text());
    unknown.need(id.has_value(), "'", unknown.text(), "' is not in model.vocab");
    words.unknown = *id;
  }
  void bpe_vocabulary(const Node& model) {
    model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    for (auto key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (auto found = model.find(key)) found->need(found->text().empty(), "is not supported; set it to null");
    if (auto dropout = model.find("dropout")) dropout->need(dropout->j == 0.0, "is not supported; set it to null");
    auto vocab = tokens_and_ids(model);
    auto& bpe = out_.bpe.emplace();
    bpe.byte_level = out_.pre_tokenizer.byte_level();
    bpe.ignore_merges = model.flag("ignore_merges");
    bpe.byte_fallback = model.flag("byte_fallback");
    bpe.fuse_unknown = model.flag("fuse_unk");
    if (!bpe.byte_level) {
      bpe.byte_ids = byte_tokens();
      auto unknown = model.find("unk_token");
      if (!unknown || unknown->text().empty()) return;
      bpe.unknown = find(unknown->text());
      return unknown->need(bpe.unknown.has_value(), "'", unknown->text(), "' is not in model.vocab");
    }
    // Unknown characters do not occur: every byte has a token. So unk_token, fuse_unk and byte_fallback say nothing.
    for (unsigned b = 0; b < 256; ++b) {
      auto name = byte_character(static_cast<unsigned char>(b));
      auto id = find(name);
      if (!id) vocab.wrong("byte ", b, " has no token ('", name, "')");
      bpe.byte_ids[b] = *id;
    }
  }
  void unigram_vocabulary(const Node& model) {
    model.only({"type", "unk_id", "vocab", "byte_fallback"});
    auto vocab = model.at("vocab");
    auto& unigram = out_.unigram.emplace();
    auto n = vocab.items();
    vocab.need(n > 0 && n < kMostTokens, "has ", n, " tokens");
    ids_.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      auto& j = vocab.j.list()[i];
      if (!j.is_list() || j.list().size() != 2 || !j.list()[0].is_text() || !j.list()[1].is_number())
        vocab.item(i).wrong("expected a token and its score, got ", one_line(j.dump()));
      auto& token = j.list()[0].text();
      if (token.empty()) vocab.item(i).wrong("is an empty token");
      if (!ids_.emplace(token, static_cast<std::int32_t>(i)).second)
        vocab.item(i).wrong("'", token, "' is a token already");
      unigram.pieces.push_back(token);
      unigram.scores.push_back(quotient(j.list()[1].number()));
    }
    auto unknown = model.at("unk_id");
    unigram.unknown = unknown.id();
    unknown.need(static_cast<std::size_t>(unigram.unknown) < n, "id ", unigram.unknown, " is no token");
    unigram.byte_fallback = model.flag("byte_fallback");
    unigram.byte_ids = byte_tokens();
  }
  std::optional<std::int32_t> find(std::string_view token) const {
    auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The tokens <0x00> .. <0xFF>, where there are such.
  std::array<std::int32_t, 256> byte_tokens() const {
    std::array<std::int32_t, 256> ids;
    for (unsigned b = 0; b < 256; ++b) {
      constexpr std::string_view hex = "0123456789ABCDEF";
      ids[b] = find(std::string("<0x") + hex[b >> 4] + hex[b & 15] + ">").value_or(-1);
    }
    return ids;
  }
  void added(const Node& list) {
    std::unordered_set<std::string_view> seen;
    std::unordered_map<std::string, std::string> normalized;  // to the token's content
    for (std::size_t i = 0, n = list.items(); i < n; ++i) {
      auto node = list.item(i);
      node.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      AddedToken t{.content = node.at("content").text(),
                   .id = node.at("id").id(),
                   .lstrip = node.flag("lstrip"),
                   .rstrip = node.flag("rstrip"),
                   .normalized = node.flag("normalized", true),
                   .special = node.flag("special"),
                   .single_word = node.flag("single_word")};
      node.need(!t.content.empty() && t.content.size() <= kMostAdded, "content has ", t.content.size(), " bytes");
      node.need(seen.insert(node.j.find("content")->text()).second, "'", t.content,
                "' is an added token already");
      if (t.normalized) {
        auto text = out_.normalizer(t.content);
        // `tokenizers` finds nothing between all bytes then, and panics where they are no characters.
        node.need(!text.empty(), "normalization leaves nothing of '", t.content, "'; set normalized to false");
        // It finds any one of several tokens with one text.
        auto [other, is_new] = normalized.emplace(text, t.content);
        node.need(is_new, "'", t.content, "' is '", text, "' when it is normalized, as '", other->second,
                  "' is; set normalized to false");
      }
      if (auto own = ids_.find(t.content); own != ids_.end()) {
        node.need(own->second == t.id, "'", t.content, "' has id ", t.id, ", but ", own->second, " in model.vocab");
        auto bytes = byte_texts_ ? token_bytes(t.content) : std::nullopt;
        node.need(!bytes || *bytes == t.content, "'", t.content, "' stands for other bytes in model.vocab");
      }
      out_.added.push_back(std::move(t));
    }
  }
  /// Puts every token at its id. `tokenizers` gives ids after the vocabulary's to the added tokens that are not in it.
  void places(const Node& vocab) {
    std::vector<std::string_view> names(ids_.size());
    for (auto& [name, id] : ids_) {
      auto i = static_cast<std::size_t>(id);
      if (i >= names.size())
        vocab.wrong("ids have gaps: '", name, "' has id ", id, ", but there are only ", names.size(), " tokens");
      if (name.empty()) vocab.wrong("id ", id, " is an empty token");
      if (!names[i].empty())
        vocab.wrong("'", std::min(name, names[i]), "' and '", std::max(name, names[i]), "' both have id ", id);
      names[i] = name;
    }
    auto& texts = out_.tokens.texts;
    for (auto name : names) {
      auto bytes = byte_texts_ ? token_bytes(name) : std::nullopt;
      texts.push_back(bytes ? *bytes : std::string(name));
    }
    for (auto& t : out_.added) {
      // A decoder gets a normalized token in its normalized form, but never as other bytes.
      auto text = t.normalized ? out_.normalizer(t.content) : t.content;
      auto bytes = byte_texts_ ? token_bytes(text) : std::nullopt;
      if (bytes && *bytes != text) text = t.content;
      if (ids_.contains(t.content)) {
        if (t.normalized) texts[static_cast<std::size_t>(t.id)] = text;
        continue;
      }
      root_.need(static_cast<std::size_t>(t.id) == texts.size(), "added_tokens: '", t.content, "' has id ", t.id,
                 "; expected ", texts.size(), ", the next after model.vocab and the added tokens before");
      texts.push_back(std::move(text));
    }
    out_.tokens.special.resize(texts.size());
    for (auto& t : out_.added) out_.tokens.special[static_cast<std::size_t>(t.id)] = t.special;
  }
  void bpe_words() {
    auto& bpe = *out_.bpe;
    bpe.words.resize(ids_.size());
    for (auto& [name, id] : ids_)
      bpe.words[static_cast<std::size_t>(id)] = bpe.byte_level ? token_bytes(name).value_or("") : std::string(name);
  }
  void merges(const Node& list) {
    auto& all = out_.bpe->merges;
    all.reserve(list.items());
    std::string both;
    for (std::size_t i = 0; i < list.j.list().size(); ++i) {
      auto& j = list.j.list()[i];
      std::string_view left, right;
      if (j.is_text()) {
        std::string_view line = j.text();
        auto space = line.find(' ');
        if (space == line.npos || line.find(' ', space + 1) != line.npos)
          list.item(i).wrong("expected two tokens, got '", line, "'");
        left = line.substr(0, space);
        right = line.substr(space + 1);
      } else {
        if (!j.is_list() || j.list().size() != 2 || !j.list()[0].is_text() || !j.list()[1].is_text())
          list.item(i).wrong("expected two tokens, got ", one_line(j.dump()));
        left = j.list()[0].text();
        right = j.list()[1].text();
      }
      both.assign(left).append(right);
      Merge m{};
      for (auto [token, id] : {std::pair{left, &m.left}, {right, &m.right}, {std::string_view(both), &m.into}}) {
        auto found = ids_.find(token);
        if (found == ids_.end()) list.item(i).wrong("'", token, "' is not in model.vocab");
        *id = found->second;
      }
      all.push_back(m);
    }
  }
  void pair_around(const Node& node) {
    node.only({"type", "sep", "cls", "trim_offsets", "add_prefix_space"});
    for (auto [key, list] : {std::pair{"cls", &out_.before}, {"sep", &out_.after}}) {
      auto token = node.at(key);
      token.need(token.items() == 2, "expected a token and its id");
      auto id = token.item(1).id();
      token.need(static_cast<std::size_t>(id) < out_.tokens.texts.size(), "id ", id, " is no token");
      list->insert(key == std::string_view("cls") ? list->begin() : list->end(), id);
      if (key == std::string_view("sep")) out_.between.assign(node.type() == "RobertaProcessing" ? 2 : 1, id);
    }
  }
  /// What a template has between the texts A and B; nothing of one that is not of the usual kind.
  void between_texts(const Node& pieces, const Node& special) {
    std::vector<std::int32_t> ids;
    bool inside = false;
    for (std::size_t i = 0, n = pieces.items(); i < n; ++i) {
      auto piece = pieces.item(i);
      if (auto sequence = piece.find("Sequence")) {
        if (inside) out_.between = ids;
        inside = !inside && sequence->at("id").j == "A";
        continue;
      }
      if (!inside) continue;
      auto tokens = special.at(piece.at("SpecialToken").at("id").text().c_str()).at("ids");
      for (std::size_t k = 0, m = std::min(tokens.items(), kMostAround); k < m; ++k) ids.push_back(tokens.item(k).id());
      piece.need(ids.size() <= kMostAround, "more than ", kMostAround, " tokens between two texts");
    }
    for (auto id : out_.between)
      pieces.need(static_cast<std::size_t>(id) < out_.tokens.texts.size(), "id ", id, " is no token");
  }
  void post_process(const Node& node) {
    auto& type = node.type();
    if (type == "ByteLevel") return;  // changes offsets only
    if (type == "Sequence") {
      node.only({"type", "processors"});
      auto list = node.at("processors");
      for (std::size_t i = 0, n = list.items(); i < n; ++i) post_process(list.item(i));
      return;
    }
    bool pair = type == "RobertaProcessing" || type == "BertProcessing";
    if (!pair && type != "TemplateProcessing")
      node.unknown_type("ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, Sequence");
    // There each part of the template is a text of its own.
    node.need(!in_parts_, "'", type, "' after TemplateProcessing is not supported");
    if (pair) return pair_around(node);
    node.only({"type", "single", "pair", "special_tokens"});
    auto single = node.at("single"), special = node.at("special_tokens");
    std::vector<std::int32_t> parts[2];
    int sequences = 0;
    for (std::size_t i = 0, n = single.items(); i < n; ++i) {
      auto piece = single.item(i);
      piece.only({"SpecialToken", "Sequence"});
      if (auto sequence = piece.find("Sequence")) {
        sequence->need(sequence->at("id").j == "A" && ++sequences == 1, "expected the text, A, once");
        continue;
      }
      auto tokens = special.at(piece.at("SpecialToken").at("id").text().c_str()).at("ids");
      for (std::size_t k = 0, ids = tokens.items(); k < ids; ++k) {
        auto id = tokens.item(k).id();
        tokens.item(k).need(static_cast<std::size_t>(id) < out_.tokens.texts.size(), "id ", id, " is no token");
        parts[sequences].push_back(id);
        auto all = parts[0].size() + parts[1].size();
        piece.need(all <= kMostAround, "more than ", kMostAround, " tokens around a text");
      }
    }
    single.need(sequences == 1, "expected the text, A, once");
    if (auto pair_of = node.find("pair")) between_texts(*pair_of, special);
    in_parts_ = single.items() > 1;
    out_.before.insert(out_.before.begin(), parts[0].begin(), parts[0].end());
    out_.after.insert(out_.after.end(), parts[1].begin(), parts[1].end());
  }
  const Node root_;
  TokenizerJson out_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of the vocabulary; its texts are the JSON's
  bool byte_texts_ = false;                                 // whether the decoder takes tokens as bytes
  bool in_parts_ = false;                                   // whether a template has put tokens around the text
};
}  // namespace

TokenizerJson read_tokenizer_json(const Node& root, bool post_processor) {
  return TokenizerReader(root, post_processor).take();
}
TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& file, bool post_processor) {
  auto j = json::parse(text, file);
  return read_tokenizer_json(Node{j, file, ": "}, post_processor);
}
}  // namespace bora::text
