// sentencepiece.cpp -- SentencePiece's .model, unigram and BPE: its ids by libsentencepiece, its texts here, one id
// after the other.
#include "text/tokenizers/sentencepiece.h"
#include <sentencepiece_processor.h>
#include <algorithm>
#include <cstdio>
#include <unordered_map>
#include "base/api/sha256.h"
#include "gguf/api/companions.h"
#include "text/api/files.h"
#include "text/json_node.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/model_proto.h"
#include "text/unicode.h"

namespace sentencepiece::logging {
void SetMinLogLevel(int);  // the library exports it, and no header declares it
}
namespace bora::text {
namespace {
constexpr std::size_t kMostText = std::size_t{1} << 30;  // the library counts in int
using PieceType = ModelProto::Type;

char byte_of(const ModelProto::Piece& piece) {  // <0xE2>
  return static_cast<char>(std::stoi(piece.text.substr(3, 2), nullptr, 16));
}
class PieceDecoder final : public Decoder {
 public:
  PieceDecoder(const ModelProto& model, DecodeOptions options) : model_(model), options_(options) {}
  void add(std::int32_t id, std::string& text) override {
    check<ValueError>(id >= 0 && static_cast<std::size_t>(id) < model_.pieces.size(), "decode: id ", id, " is none of ",
                      model_.pieces.size());
    auto before = text.size();
    auto& piece = model_.pieces[static_cast<std::size_t>(id)];
    if (piece.type == PieceType::byte) {
      bytes_ += byte_of(piece);
      characters(true, text);
    } else {
      characters(false, text);
      begun_ = begun_ || space_taken_ || text.size() > before;
      space_taken_ = false;
      other(piece, text);
    }
    begun_ = begun_ || text.size() > before;
  }
  void finish(std::string& text) override {
    characters(false, text);
    begun_ = space_taken_ = false;
  }

 private:
  void other(const ModelProto::Piece& piece, std::string& text) {
    if (piece.type == PieceType::control) {
      if (options_.special) text += piece.text;
      return;
    }
    if (piece.type == PieceType::unknown) return void(text += model_.unknown_surface);
    std::string_view rest = piece.text;
    if (!begun_ && model_.strips_first && rest.starts_with(kMetaspace)) {
      rest.remove_prefix(kMetaspace.size());
      space_taken_ = !model_.strips_all;
    }
    while (!rest.empty()) {
      auto space = std::min(rest.find(kMetaspace), rest.size());
      text += rest.substr(0, space);
      rest.remove_prefix(space);
      if (rest.empty()) break;
      text += ' ';
      rest.remove_prefix(kMetaspace.size());
    }
  }
  /// Gives the characters of bytes; each byte that is of none is U+FFFD.
  void characters(bool more, std::string& text) {
    while (!bytes_.empty()) {
      auto n = character_size(bytes_[0]);
      if (more && begins_character(bytes_)) return;
      bool whole = n <= bytes_.size() && first_not_utf8(std::string_view(bytes_).substr(0, n)) == std::string::npos;
      if (whole) text += std::string_view(bytes_).substr(0, n);
      else text += "\ufffd";
      bytes_.erase(0, whole ? n : 1);
    }
  }
  const ModelProto& model_;
  DecodeOptions options_;
  std::string bytes_;         // the last ones
  bool begun_ = false;        // whether a first space belongs to the text
  bool space_taken_ = false;  // whether the last piece began with a space that was taken
};

class SentencePiece final : public Tokenizer {
 public:
  SentencePiece(std::string_view bytes, const std::string& file, std::optional<Around> around)
      // With the library's version, as some break ties otherwise.
      : identity_("sentencepiece " BORA_SENTENCEPIECE " " + sha256(bytes)), model_(parse_model(bytes, file)) {
    sentencepiece::logging::SetMinLogLevel(3);  // of four levels only what ends the program
    std::string problem;
    try {
      auto status = library_.LoadFromSerializedProto(bytes);
      if (!status.ok()) problem = status.ToString();
    } catch (const std::exception& e) { problem = e.what(); }
    check<IoError>(problem.empty(), file, ": libsentencepiece: ", one_line(problem));
    std::vector<AddedToken> control, defined;
    for (std::size_t i = 0; i < model_.pieces.size(); ++i) {
      auto& p = model_.pieces[i];
      auto id = static_cast<std::int32_t>(i);
      ids_.emplace(p.text, id);
      if (p.type == PieceType::control) control.push_back({.content = p.text, .id = id, .special = true});
      if (p.type == PieceType::user_defined) defined.push_back({.content = p.text, .id = id});
    }
    control_ = AddedTokens(std::move(control));
    defined_ = AddedTokens(std::move(defined));
    auto token = [](int id) { return id >= 0 ? std::optional<std::int32_t>(id) : std::nullopt; };
    auto first = token(library_.bos_id());
    end_ = token(library_.eos_id());
    padding_ = token(library_.pad_id());
    if (!around) return;
    bool before = around->first.value_or(first.has_value()), after = around->last.value_or(!first);
    check<IoError>((first || !before) && (end_ || !after), file, ": has no token for the ",
                   before ? "beginning" : "end", " of a text");
    if (before) before_.push_back(*first);
    if (after) after_.push_back(*end_);
    identity_ += std::string(before ? " with its first token" : "") + (after ? " with its last token" : "");
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(model_.pieces.size()); }
  std::string identity() const override { return identity_; }
  std::optional<std::int32_t> end_of_text() const override { return end_; }
  std::optional<std::int32_t> padding() const override { return padding_; }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    auto found = ids_.find(std::string(token));
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::int32_t> encode(std::string_view text, EncodeOptions options) const override {
    std::string copy;
    auto original = text;
    text = valid_utf8(text, copy);
    auto said = in_valid(original, text, options.said);
    auto marks = said.empty() ? std::unordered_set<std::int32_t>() : defined_.marks(text, said);
    auto ids = before_;
    auto words = [&](std::string_view s) {
      check<ValueError>(s.size() < kMostText, "encode: a text has ", s.size(),
                        " bytes; libsentencepiece takes less than ", kMostText);
      std::vector<int> found;
      auto status = library_.Encode(s, &found);
      check<ValueError>(status.ok(), "encode: libsentencepiece: ", one_line(status.ToString()));
      ids.insert(ids.end(), found.begin(), found.end());
    };
    auto part = [&](std::string_view s) {
      auto first = static_cast<std::size_t>(s.data() - text.data());
      for (auto& at : marks.empty() ? std::vector<TextRange>() : said_marks(text, said, marks)) {
        auto [begin, end] = at;
        if (begin < first || end > first + s.size()) continue;
        if (begin > first) words(s.substr(0, begin - first));
        spell(text.substr(begin, end - begin), ids);
        s.remove_prefix(end - first);
        first = end;
      }
      if (!s.empty()) words(s);
    };
    control_.split(text, {options.special, said}, part, [&](std::int32_t id) { ids.push_back(id); });
    ids.insert(ids.end(), after_.begin(), after_.end());
    return ids;
  }
  std::unique_ptr<Decoder> decoder(DecodeOptions options) const override {
    return std::make_unique<PieceDecoder>(model_, options);
  }
  std::string bytes_of(std::int32_t id) const override {
    check<ValueError>(id >= 0 && id < size(), "bytes_of: id ", id, " is none of ", size());
    auto& piece = model_.pieces[static_cast<std::size_t>(id)];
    if (piece.type == PieceType::byte) return std::string(1, byte_of(piece));
    if (piece.type == PieceType::control) return piece.text;
    if (piece.type == PieceType::unknown) return model_.unknown_surface;
    auto text = piece.text;
    for (std::size_t at = 0; (at = text.find(kMetaspace, at)) != text.npos; ++at)
      text.replace(at, kMetaspace.size(), " ");
    return text;
  }

 private:
  /// The places of such pieces in what is said, or across its ends. The library always takes them.
  std::vector<TextRange> said_marks(std::string_view text, const std::vector<TextRange>& said,
                                    const std::unordered_set<std::int32_t>& marks) const {
    std::vector<TextRange> all, apart;
    for (auto id : marks) {
      auto& piece = model_.pieces[static_cast<std::size_t>(id)].text;
      for (auto at = text.find(piece); at != text.npos; at = text.find(piece, at + 1))
        if (std::any_of(said.begin(), said.end(),
                        [&](auto& range) { return range.first < at + piece.size() && at < range.second; }))
          all.emplace_back(at, at + piece.size());
    }
    std::sort(all.begin(), all.end());
    for (auto& at : all)
      if (apart.empty() || apart.back().second <= at.first) apart.push_back(at);
    return apart;
  }
  /// The ids of characters, each by itself.
  void spell(std::string_view text, std::vector<std::int32_t>& ids) const {
    auto normal = [&](const std::string& piece, PieceType type) -> std::optional<std::int32_t> {
      auto id = id_of(piece);
      return id && model_.pieces[static_cast<std::size_t>(*id)].type == type ? id : std::nullopt;
    };
    for (std::size_t i = 0, n; i < text.size(); i += n) {
      n = character_size(text[i]);
      auto character = text.substr(i, n);
      if (auto id = normal(std::string(character), PieceType::normal)) {
        ids.push_back(*id);
        continue;
      }
      for (unsigned char c : character) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", c);
        auto id = normal(name, PieceType::byte);
        ids.push_back(id ? *id : library_.unk_id());
        if (!id) break;
      }
    }
  }
  std::string identity_;
  ModelProto model_;
  sentencepiece::SentencePieceProcessor library_;
  std::unordered_map<std::string, std::int32_t> ids_;
  AddedTokens control_, defined_;
  std::optional<std::int32_t> end_, padding_;
  std::vector<std::int32_t> before_, after_;
};

struct SentencePieceFile {
  static constexpr std::string_view type = "sentencepiece";
  std::string path = {};
  bool add_special_tokens = false;
  static constexpr config::Meaning meanings[] = {
      {"path", "a SentencePiece .model, or a folder with one"},
      {"add_special_tokens",
       "puts the model's first token before each text, or, if it has none, its last after it; "
       "tokenizer_config.json beside it may say otherwise (add_bos_token, add_eos_token)"}};
  static bool reads(std::string_view file) { return file.ends_with(".model"); }
  void check() const { config::domain(!path.empty(), "path", "''", "the path of a .model"); }
  std::shared_ptr<const Tokenizer> open() const {
    auto file = file_at(path, FileForm::model);
    bora::check<ConfigError>(!file.ends_with(".json"), "tokenizer: ", file, " is no SentencePiece model by its name; ",
                             "set tokenizer.type to huggingface");
    auto bytes = read_file(file);
    if (!add_special_tokens) return make_sentencepiece(bytes, file);
    Around around;
    auto folder = file.rfind('/');
    auto config = (folder == file.npos ? "" : file.substr(0, folder + 1)) + "tokenizer_config.json";
    if (gguf::is_there(config)) {
      auto j = json::parse(read_file(config), config);
      Node root{j, config, ": "};
      if (root.find("add_bos_token")) around.first = root.flag("add_bos_token");
      if (root.find("add_eos_token")) around.last = root.flag("add_eos_token");
    }
    return make_sentencepiece(bytes, file, around);
  }
};
}  // namespace

std::shared_ptr<const Tokenizer> make_sentencepiece(std::string_view bytes, const std::string& file,
                                                    std::optional<Around> around) {
  return std::make_shared<SentencePiece>(bytes, file, around);
}
}  // namespace bora::text
template const bool bora::config::added<bora::text::TokenizerOf<bora::text::SentencePieceFile>>;
