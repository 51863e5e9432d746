// vocabulary_files.cpp -- vocab.json and merges.txt, as GPT-2, OPT, RoBERTa and Qwen 2 came before there was
// tokenizer.json. The classes of `transformers` say the rest.
#include <map>
#include "bora/base/paths.h"
#include "text/files.h"
#include "text/json_node.h"

namespace bora::text {
namespace {
using nlohmann::json;
struct Family {
  std::string_view name;           // of a tokenizer_class
  std::vector<std::string> usual;  // special tokens, if its files have them in the vocabulary
  bool around = false;             // whether <s> and </s> stand around a text
  bool qwen = false;               // its words and NFC
};
const std::vector<Family>& families() {
  static const std::vector<Family> all = {{"", {"<|endoftext|>"}},
                                          {"GPT2Tokenizer", {"<|endoftext|>"}},
                                          {"CodeGenTokenizer", {"<|endoftext|>"}},
                                          {"RobertaTokenizer", {"<s>", "</s>", "<unk>", "<pad>"}, true},
                                          {"BartTokenizer", {"<s>", "</s>", "<unk>", "<pad>"}, true},
                                          {"Qwen2Tokenizer", {"<|endoftext|>"}, false, true}};
  return all;
}
constexpr std::string_view kQwenWords =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

class Folder {
 public:
  explicit Folder(const std::string& vocab, std::string& bytes)
      : folder_(vocab.substr(0, vocab.size() - std::string_view("vocab.json").size())), bytes_(bytes) {
    vocab_ = parse_json(bytes_, vocab);
    check<IoError>(vocab_.is_object(), vocab, ": expected an object of tokens and their ids");
  }
  std::string document() {
    auto config = read("tokenizer_config.json"), map = read("special_tokens_map.json"),
         added = read("added_tokens.json");
    auto& family = family_of(config);
    for (auto& [content, id] : added.items()) given(content, id, folder_ + "added_tokens.json");
    if (auto list = config.find("added_tokens_decoder"); list != config.end() && list->is_object())
      for (auto& [id, token] : list->items()) {
        given(content_of(token), id_of(id), folder_ + "tokenizer_config.json");
        special(token, token.is_object() && token.value("special", false));
      }
    for (auto source : {&map, &config})
      for (auto name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
                        "additional_special_tokens"}) {
        auto found = source->find(name);
        if (found == source->end() || found->is_null()) continue;
        if (!found->is_array()) special(*found, true);
        else
          for (auto& token : *found) special(token, true);
      }
    for (auto& usual : family.usual)
      if (vocab_.contains(usual)) special(usual, true);
    bool prefix = flag(config, "add_prefix_space");
    json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}};
    json words = byte_level;
    words["use_regex"] = !family.qwen;
    json out = {{"version", "1.0"}};
    out["added_tokens"] = tokens();
    out["decoder"] = byte_level;
    out["pre_tokenizer"] = words;
    if (family.qwen) {
      out["normalizer"] = {{"type", "NFC"}};
      json split = {{"type", "Split"}, {"behavior", "Isolated"}};
      split["pattern"]["Regex"] = kQwenWords;
      out["pre_tokenizer"] = {{"type", "Sequence"}};
      out["pre_tokenizer"]["pretokenizers"] = json::array({split, words});
    }
    if (auto post = around(family, config, map); !post.is_null()) out["post_processor"] = post;
    out["model"] = {{"type", "BPE"}};
    out["model"]["merges"] = merges();
    out["model"]["vocab"] = std::move(vocab_);
    return out.dump();
  }

 private:
  /// A file of the folder; an empty object if there is none.
  json read(const std::string& name) {
    auto path = folder_ + name;
    if (!is_there(path)) return json::object();
    auto text = read_file(path);
    bytes_ += name + "\n" + text;
    auto j = parse_json(text, path);
    check<IoError>(j.is_object(), path, ": expected an object, got ", j.type_name());
    return j;
  }
  const Family& family_of(const json& config) const {
    auto found = config.find("tokenizer_class");
    std::string name = found == config.end() || !found->is_string() ? "" : found->get<std::string>();
    if (name.ends_with("Fast")) name.resize(name.size() - 4);
    for (auto& f : families())
      if (f.name == name) return f;
    std::string known;
    for (auto& f : families())
      if (!f.name.empty()) known += (known.empty() ? "" : ", ") + std::string(f.name);
    fail<IoError>(folder_, "tokenizer_config.json: tokenizer_class: '", name,
                  "' is not supported without a tokenizer.json; supported: ", known);
  }
  bool flag(const json& config, const char* key) const {
    auto found = config.find(key);
    if (found == config.end() || found->is_null()) return false;
    check<IoError>(found->is_boolean(), folder_, "tokenizer_config.json: ", key, ": expected true or false");
    return found->get<bool>();
  }
  std::string content_of(const json& token) const {
    auto& text = token.is_object() && token.contains("content") ? token["content"] : token;
    check<IoError>(text.is_string(), folder_, ": a special token is ", one_line(token.dump()),
                   "; expected a text, or an object with its content");
    return text.get<std::string>();
  }
  json id_of(const std::string& text) const {
    auto id = parse_as<std::uint32_t>(text);
    check<IoError>(id.has_value(), folder_, "tokenizer_config.json: added_tokens_decoder: '", text, "' is no id");
    return *id;
  }
  /// A token with its id.
  void given(const std::string& content, const json& id, const std::string& file) {
    check<IoError>(id.is_number_unsigned() && id.get<std::uint64_t>() < kMostTokens, file, ": '", content,
                   "' has the id ", one_line(id.dump()));
    auto number = id.get<std::int32_t>();
    auto [at, is_new] = ids_.try_emplace(content, number);
    check<IoError>(is_new || at->second == number, file, ": '", content, "' has id ", number, ", and ", at->second,
                   " elsewhere");
    special(content, false);
  }
  void special(const json& token, bool is_special) {
    auto content = content_of(token);
    if (content.empty()) return;
    auto found = std::find_if(added_.begin(), added_.end(), [&](auto& t) { return t["content"] == content; });
    if (found == added_.end()) {
      added_.push_back({{"content", content}, {"normalized", false}, {"special", false}});
      found = added_.end() - 1;
    }
    if (is_special) (*found)["special"] = true;
    for (auto key : {"lstrip", "rstrip", "single_word"})
      if (token.is_object() && token.contains(key)) (*found)[key] = token[key];
  }
  /// All added tokens: those of the vocabulary, those with ids, and the others after them.
  json tokens() {
    std::map<std::int64_t, json> placed;
    std::vector<json> rest;
    for (auto& t : added_) {
      std::string content = t["content"];
      auto in = vocab_.find(content);
      auto id = ids_.find(content);
      if (in != vocab_.end()) t["id"] = *in;
      else if (id != ids_.end()) t["id"] = id->second;
      else {
        rest.push_back(t);
        continue;
      }
      check<IoError>(t["id"].is_number_integer() && placed.emplace(t["id"].get<std::int64_t>(), t).second, folder_,
                     ": the id of '", content, "' is that of another token, or none");
    }
    auto next = static_cast<std::int64_t>(vocab_.size());
    json list = json::array();
    for (auto& [id, t] : placed) {
      list.push_back(t);
      next = std::max(next, id + 1);
    }
    for (auto& t : rest) {
      t["id"] = next++;
      list.push_back(t);
    }
    list_ = list;
    return list;
  }
  /// The post-processor, or null.
  json around(const Family& family, const json& config, const json& map) const {
    auto token = [&](const char* name, const char* usual) -> std::string {
      for (auto source : {&config, &map})
        if (auto found = source->find(name); found != source->end() && !found->is_null()) return content_of(*found);
      return usual;
    };
    auto id = [&](const std::string& content) -> json {
      for (auto& t : list_)
        if (t["content"] == content) return t["id"];
      fail<IoError>(folder_, ": the token '", content, "', which stands around a text, has no id");
    };
    json post;
    if (family.around) {
      auto cls = token("cls_token", "<s>"), sep = token("sep_token", "</s>");
      post["type"] = "RobertaProcessing";
      post["cls"] = json::array({cls, id(cls)});
      post["sep"] = json::array({sep, id(sep)});
    } else if (flag(config, "add_bos_token")) {
      auto bos = token("bos_token", "<|endoftext|>");
      json first, text;
      first["SpecialToken"]["id"] = bos;
      text["Sequence"]["id"] = "A";
      post["type"] = "TemplateProcessing";
      post["single"] = json::array({first, text});
      post["special_tokens"][bos]["ids"] = json::array({id(bos)});
    }
    return post;
  }
  json merges() {
    auto path = folder_ + "merges.txt", text = read_file(path);
    bytes_ += "merges.txt\n" + text;
    json list = json::array();
    std::size_t number = 0;
    for (std::string_view rest = text; !rest.empty();) {
      auto end = std::min(rest.find('\n'), rest.size());
      auto line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      ++number;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.starts_with("#version") || line.empty()) continue;
      auto space = line.find(' ');
      check<IoError>(space != line.npos && line.find(' ', space + 1) == line.npos && first_not_utf8(line) == line.npos,
                     path, ":", number, ": expected two tokens, got '", line, "'");
      list.push_back(std::string(line));
    }
    return list;
  }
  std::string folder_;
  std::string& bytes_;
  json vocab_, list_;
  std::vector<json> added_;
  std::map<std::string, std::int32_t> ids_;
};
}  // namespace

std::string tokenizer_json_of(const std::string& vocab, std::string& bytes) { return Folder(vocab, bytes).document(); }
}  // namespace bora::text
