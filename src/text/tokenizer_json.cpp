#include "text/tokenizer_json.h"
#include <nlohmann/json.hpp>
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "text/byte_level.h"
#include "text/unicode.h"

namespace bora::text {
namespace {
using nlohmann::json;
constexpr int kMostDepth = 32;                                                // of JSON
constexpr std::size_t kMostStages = 32;                                       // of pre-tokenizers
constexpr std::size_t kMostAdded = 4096, kMostTokens = std::size_t{1} << 26;  // bytes of an added token; tokens
// GPT-2's words, which ByteLevel has built in.
constexpr std::string_view kWords = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

json parse(std::string_view text, const std::string& file) {
  // nlohmann's parser keeps the last of equal keys; a token that is given twice must be an error.
  std::vector<std::unordered_set<std::string>> keys;
  auto watch = [&](int depth, json::parse_event_t event, json& item) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start)
      check<IoError>(depth < kMostDepth, file, ": nested deeper than ", kMostDepth, " levels");
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) {
      auto& name = item.get_ref<const std::string&>();
      check<IoError>(keys.back().insert(name).second, file, ": the key '", name, "' is given twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    std::string_view words = e.what();  // "[json.exception.parse_error.101] parse error at line .."
    if (auto end = words.find("] "); end != words.npos) words.remove_prefix(end + 2);
    fail<IoError>(file, ": broken JSON: ", one_line(words));
  }
}
/// A value and its place.
struct Node {
  const json& j;
  std::string place;
  const char* join = ".";  // between its place and that of its members

  template <class... Parts> [[noreturn]] void wrong(const Parts&... parts) const {
    fail<IoError>(place, ": ", parts...);
  }
  template <class... Parts> void need(bool ok, const Parts&... parts) const {
    if (!ok) wrong(parts...);
  }
  /// The member; nothing if it is absent or null.
  std::optional<Node> find(const char* key) const {
    need(j.is_object(), "expected an object, got ", j.type_name());
    auto found = j.find(key);
    if (found == j.end() || found->is_null()) return {};
    return Node{*found, place + join + key};
  }
  Node at(const char* key) const {
    auto found = find(key);
    need(found.has_value(), "'", key, "' is missing");
    return *found;
  }
  Node item(std::size_t i) const { return {j[i], place + "[" + std::to_string(i) + "]"}; }
  const std::string& text() const {
    need(j.is_string(), "expected text, got ", j.type_name());
    return j.get_ref<const std::string&>();
  }
  std::size_t items() const {
    need(j.is_array(), "expected a list, got ", j.type_name());
    return j.size();
  }
  bool flag(const char* key, bool absent = false) const {
    auto found = find(key);
    if (!found) return absent;
    found->need(found->j.is_boolean(), "expected true or false, got ", found->j.type_name());
    return found->j.get<bool>();
  }
  std::int32_t id() const {
    need(j.is_number_unsigned() && j.get<std::uint64_t>() < kMostTokens, "expected an id, got ", one_line(j.dump()));
    return j.get<std::int32_t>();
  }
  /// Refuses members that this reader does not know: they could change the result.
  void only(std::initializer_list<std::string_view> known) const {
    need(j.is_object(), "expected an object, got ", j.type_name());
    for (auto& [key, value] : j.items())
      need(std::find(known.begin(), known.end(), key) != known.end(), "'", key, "' is not supported");
  }
  [[noreturn]] void unknown_type(std::string_view supported) const {
    wrong("type '", at("type").text(), "' is not supported; supported: ", supported);
  }
};

class Reader {
 public:
  Reader(const json& j, const std::string& file, bool post_processor) : root_{j, file, ": "} {
    root_.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
                "decoder", "model"});
    if (auto version = root_.find("version"))
      version->need(version->j == "1.0", "expected \"1.0\", got ", one_line(version->j.dump()));
    for (auto key : {"truncation", "padding"})
      if (auto found = root_.find(key)) found->wrong("is not supported; set it to null");
    auto model = root_.at("model");
    if (auto type = model.find("type"); type && type->j != "BPE") model.unknown_type("BPE");
    model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    for (auto key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (auto found = model.find(key)) found->need(found->text().empty(), "is not supported; set it to null");
    if (auto dropout = model.find("dropout")) dropout->need(dropout->j == 0.0, "is not supported; set it to null");
    // Unknown characters do not occur: every byte has a token. So unk_token, fuse_unk and byte_fallback say nothing.
    out_.ignore_merges = model.flag("ignore_merges");
    vocabulary(model.at("vocab"));
    if (auto list = root_.find("added_tokens")) added(*list);
    places(model.at("vocab"));
    merges(model.at("merges"));
    if (auto normalizer = root_.find("normalizer")) normalize(*normalizer);
    pre_tokenize(root_.at("pre_tokenizer"));
    root_.at("pre_tokenizer").need(byte_level_, "has no ByteLevel: this is no byte-level tokenizer");
    auto decoder = root_.at("decoder");
    if (decoder.at("type").text() != "ByteLevel") decoder.unknown_type("ByteLevel");
    decoder.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (auto post = root_.find("post_processor"); post && post_processor) post_process(*post);
  }
  TokenizerJson take() {
    for (auto& [token, id] : ids_) out_.ids.emplace(token, id);
    return std::move(out_);
  }

 private:
  void vocabulary(const Node& vocab) {
    vocab.need(vocab.j.is_object() && !vocab.j.empty(), "expected an object of tokens and their ids");
    ids_.reserve(vocab.j.size());
    for (auto& [token, id] : vocab.j.items()) {
      if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMostTokens)
        vocab.wrong("the id of '", token, "' is ", one_line(id.dump()));
      ids_.emplace(token, id.get<std::int32_t>());
    }
    for (unsigned b = 0; b < 256; ++b) {
      auto found = ids_.find(byte_character(static_cast<unsigned char>(b)));
      if (found == ids_.end())
        vocab.wrong("byte ", b, " has no token ('", byte_character(static_cast<unsigned char>(b)), "')");
      out_.byte_ids[b] = found->second;
    }
  }
  void added(const Node& list) {
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0, n = list.items(); i < n; ++i) {
      auto node = list.item(i);
      node.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
      AddedToken t{.content = node.at("content").text(),
                   .id = node.at("id").id(),
                   .lstrip = node.flag("lstrip"),
                   .rstrip = node.flag("rstrip"),
                   .normalized = node.flag("normalized", true),
                   .special = node.flag("special")};
      node.need(!t.content.empty() && t.content.size() <= kMostAdded, "content has ", t.content.size(), " bytes");
      node.need(!node.flag("single_word"), "single_word is not supported ('", t.content, "')");
      node.need(seen.insert(list.j[i]["content"].get_ref<const std::string&>()).second, "'", t.content,
                "' is an added token already");
      if (auto own = ids_.find(t.content); own != ids_.end()) {
        node.need(own->second == t.id, "'", t.content, "' has id ", t.id, ", but ", own->second, " in model.vocab");
        auto bytes = token_bytes(t.content);
        node.need(!bytes || *bytes == t.content, "'", t.content, "' stands for other bytes in model.vocab");
      }
      out_.added.push_back(std::move(t));
    }
  }
  /// Puts every token at its id. `tokenizers` gives ids after the vocabulary's to the added tokens that are not in it.
  void places(const Node& vocab) {
    out_.tokens.resize(ids_.size());
    std::vector<std::string_view> names(ids_.size());
    for (auto& [name, id] : ids_) {
      auto i = static_cast<std::size_t>(id);
      if (i >= names.size())
        vocab.wrong("ids have gaps: '", name, "' has id ", id, ", but there are only ", names.size(), " tokens");
      if (name.empty()) vocab.wrong("id ", id, " is an empty token");
      if (!names[i].empty())
        vocab.wrong("'", std::min(name, names[i]), "' and '", std::max(name, names[i]), "' both have id ", id);
      names[i] = name;
      out_.tokens[i] = token_bytes(name).value_or(std::string(name));
    }
    out_.words = static_cast<std::int32_t>(ids_.size());
    for (auto& t : out_.added) {
      if (ids_.contains(t.content)) continue;
      root_.need(static_cast<std::size_t>(t.id) == out_.tokens.size(), "added_tokens: '", t.content, "' has id ", t.id,
                 "; expected ", out_.tokens.size(), ", the next after model.vocab and the added tokens before");
      out_.tokens.push_back(t.content);
    }
  }
  void merges(const Node& list) {
    out_.merges.reserve(list.items());
    std::string both;
    for (std::size_t i = 0; i < list.j.size(); ++i) {
      auto& j = list.j[i];
      std::string_view left, right;
      if (j.is_string()) {
        std::string_view line = j.get_ref<const std::string&>();
        auto space = line.find(' ');
        if (space == line.npos || line.find(' ', space + 1) != line.npos)
          list.item(i).wrong("expected two tokens, got '", line, "'");
        left = line.substr(0, space);
        right = line.substr(space + 1);
      } else {
        if (!j.is_array() || j.size() != 2 || !j[0].is_string() || !j[1].is_string())
          list.item(i).wrong("expected two tokens, got ", one_line(j.dump()));
        left = j[0].get_ref<const std::string&>();
        right = j[1].get_ref<const std::string&>();
      }
      both.assign(left).append(right);
      Merge m{};
      for (auto [token, id] : {std::pair{left, &m.left}, {right, &m.right}, {std::string_view(both), &m.into}}) {
        auto found = ids_.find(token);
        if (found == ids_.end()) list.item(i).wrong("'", token, "' is not in model.vocab");
        *id = found->second;
      }
      out_.merges.push_back(m);
    }
  }
  void normalize(const Node& node) {
    auto& type = node.at("type").text();
    if (type == "NFC") {
      node.only({"type"});
      out_.nfc = true;
    } else if (type == "Sequence") {
      node.only({"type", "normalizers"});
      auto list = node.at("normalizers");
      for (std::size_t i = 0, n = list.items(); i < n; ++i) normalize(list.item(i));
    } else node.unknown_type("null, NFC");
  }
  void pre_tokenize(const Node& node) {
    auto& type = node.at("type").text();
    node.need(!byte_level_, "'", type, "' after ByteLevel is not supported");
    if (type == "Sequence") {
      node.only({"type", "pretokenizers"});
      auto list = node.at("pretokenizers");
      for (std::size_t i = 0, n = list.items(); i < n; ++i) pre_tokenize(list.item(i));
      return;
    }
    Stage stage;
    if (type == "ByteLevel") {
      node.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
      stage.prefix_space = node.flag("add_prefix_space", true);
      if (node.flag("use_regex", true)) stage.pattern.emplace_back(kWords, node.place);
      byte_level_ = true;
    } else if (type == "Split") {
      node.only({"type", "pattern", "behavior", "invert"});
      auto behavior = node.at("behavior");
      // Matches and what lies between them are kept alike, so `invert` says nothing.
      behavior.need(behavior.j == "Isolated", one_line(behavior.j.dump()), " is not supported; there is Isolated");
      auto pattern = node.at("pattern");
      pattern.only({"Regex", "String"});
      auto regex = pattern.find("Regex"), literal = pattern.find("String");
      pattern.need(regex.has_value() != literal.has_value(), "expected Regex or String");
      if (literal) literal->need(!literal->text().empty(), "is empty");
      stage.pattern.emplace_back(regex ? regex->text() : literal_pattern(literal->text()), pattern.place);
    } else if (type == "Digits") {
      node.only({"type", "individual_digits"});
      stage.pattern.emplace_back(node.flag("individual_digits") ? "\\p{N}" : "\\p{N}+", node.place);
    } else node.unknown_type("ByteLevel, Split, Digits, Sequence");
    out_.stages.push_back(std::move(stage));
    node.need(out_.stages.size() <= kMostStages, "more than ", kMostStages, " pre-tokenizers");
  }
  void post_process(const Node& node) {
    auto& type = node.at("type").text();
    if (type == "ByteLevel") return;  // changes offsets only
    if (type == "Sequence") {
      node.only({"type", "processors"});
      auto list = node.at("processors");
      for (std::size_t i = 0, n = list.items(); i < n; ++i) post_process(list.item(i));
      return;
    }
    if (type != "TemplateProcessing") node.unknown_type("ByteLevel, TemplateProcessing, Sequence");
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
        tokens.item(k).need(static_cast<std::size_t>(id) < out_.tokens.size(), "id ", id, " is no token");
        parts[sequences].push_back(id);
      }
    }
    single.need(sequences == 1, "expected the text, A, once");
    out_.before.insert(out_.before.begin(), parts[0].begin(), parts[0].end());
    out_.after.insert(out_.after.end(), parts[1].begin(), parts[1].end());
  }
  Node root_;
  TokenizerJson out_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // of the vocabulary; its texts are the JSON's
  bool byte_level_ = false;
};
}  // namespace

TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& file, bool post_processor) {
  auto j = parse(text, file);
  return Reader(j, file, post_processor).take();
}
}  // namespace bora::text
