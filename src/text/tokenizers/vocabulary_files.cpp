// vocabulary_files.cpp -- vocab.json and merges.txt, as GPT-2, OPT, RoBERTa and Qwen 2 came before there was
// tokenizer.json. The classes of `transformers` say the rest.
#include <map>
#include "base/api/paths.h"
#include "bora/text/bpe_train.h"
#include "text/api/files.h"
#include "text/json_node.h"

namespace bora::text {
namespace {
using json::Value;
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
class Folder {
 public:
  explicit Folder(const std::string& vocab, std::string& bytes)
      : folder_(vocab.substr(0, vocab.size() - std::string_view("vocab.json").size())), bytes_(bytes) {
    vocab_ = json::parse(bytes_, vocab);
    check<IoError>(vocab_.is_object(), vocab, ": expected an object of tokens and their ids");
  }
  std::string document() {
    auto config = read("tokenizer_config.json"), map = read("special_tokens_map.json"),
         added = read("added_tokens.json");
    auto& family = family_of(config);
    for (auto& [content, id] : added.members()) given(content, id, folder_ + "added_tokens.json");
    if (auto list = config.find("added_tokens_decoder"); list && list->is_object())
      for (auto& [id, token] : list->members()) {
        given(content_of(token), id_of(id), folder_ + "tokenizer_config.json");
        special(token, flag(token, "special"));
      }
    for (auto source : {&map, &config})
      for (auto name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
                        "additional_special_tokens"}) {
        auto found = source->find(name);
        if (!found || found->is_null()) continue;
        if (!found->is_list()) special(*found, true);
        else
          for (auto& token : found->list()) special(token, true);
      }
    for (auto& usual : family.usual)
      if (vocab_.find(usual)) special(usual, true);
    bool prefix = flag(config, "add_prefix_space");
    auto byte_level = Value::object({{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}});
    auto words = byte_level;
    words.set("use_regex", !family.qwen);
    auto out = Value::object({{"version", "1.0"}});
    out.set("added_tokens", tokens());
    out.set("decoder", byte_level);
    if (family.qwen) {
      out.set("normalizer", Value::object({{"type", "NFC"}}));
      auto pattern = Value::object({{"Regex", word_pattern("qwen2")}});
      auto split = Value::object({{"type", "Split"}, {"behavior", "Isolated"}, {"pattern", pattern}});
      words = Value::object({{"type", "Sequence"}, {"pretokenizers", Value::List{split, words}}});
    }
    out.set("pre_tokenizer", words);
    if (auto post = around(family, config, map); !post.is_null()) out.set("post_processor", post);
    out.set("model", Value::object({{"type", "BPE"}, {"merges", merges()}, {"vocab", std::move(vocab_)}}));
    return out.dump();
  }

 private:
  /// A file of the folder; an empty object if there is none.
  Value read(const std::string& name) {
    auto path = folder_ + name;
    if (!is_there(path)) return Value::object();
    auto text = read_file(path);
    bytes_ += name + "\n" + text;
    auto j = json::parse(text, path);
    check<IoError>(j.is_object(), path, ": expected an object, got ", j.type_name());
    return j;
  }
  const Family& family_of(const Value& config) const {
    auto found = config.find("tokenizer_class");
    auto name = found && found->is_text() ? found->text() : std::string();
    if (name.ends_with("Fast")) name.resize(name.size() - 4);
    for (auto& f : families())
      if (f.name == name) return f;
    std::string known;
    for (auto& f : families())
      if (!f.name.empty()) known += (known.empty() ? "" : ", ") + std::string(f.name);
    fail<IoError>(folder_, "tokenizer_config.json: tokenizer_class: '", name,
                  "' is not supported without a tokenizer.json; supported: ", known);
  }
  bool flag(const Value& config, const char* key) const {
    auto found = config.find(key);
    if (!found || found->is_null()) return false;
    check<IoError>(found->is_boolean(), folder_, "tokenizer_config.json: ", key, ": expected true or false");
    return found->boolean();
  }
  std::string content_of(const Value& token) const {
    auto content = token.find("content");
    auto& text = content ? *content : token;
    check<IoError>(text.is_text(), folder_, ": a special token is ", one_line(token.dump()),
                   "; expected a text, or an object with its content");
    return text.text();
  }
  Value id_of(const std::string& text) const {
    auto id = parse_as<std::uint32_t>(text);
    check<IoError>(id.has_value(), folder_, "tokenizer_config.json: added_tokens_decoder: '", text, "' is no id");
    return *id;
  }
  /// A token with its id.
  void given(const std::string& content, const Value& id, const std::string& file) {
    check<IoError>(id.is_natural() && id.natural() < kMostTokens, file, ": '", content,
                   "' has the id ", one_line(id.dump()));
    auto number = static_cast<std::int32_t>(id.natural());
    auto [at, is_new] = ids_.try_emplace(content, number);
    check<IoError>(is_new || at->second == number, file, ": '", content, "' has id ", number, ", and ", at->second,
                   " elsewhere");
    special(content, false);
  }
  void special(const Value& token, bool is_special) {
    auto content = content_of(token);
    if (content.empty()) return;
    auto found = std::find_if(added_.begin(), added_.end(), [&](auto& t) { return *t.find("content") == content; });
    if (found == added_.end()) {
      added_.push_back(Value::object({{"content", content}, {"normalized", false}, {"special", false}}));
      found = added_.end() - 1;
    }
    if (is_special) found->set("special", true);
    for (auto key : {"lstrip", "rstrip", "single_word"})
      if (auto given = token.find(key)) found->set(key, *given);
  }
  /// All added tokens: those of the vocabulary, those with ids, and the others after them.
  Value tokens() {
    std::map<std::int64_t, Value> placed;
    std::vector<Value> rest;
    for (auto& t : added_) {
      auto content = t.find("content")->text();
      auto in = vocab_.find(content);
      auto id = ids_.find(content);
      if (in) t.set("id", *in);
      else if (id != ids_.end()) t.set("id", id->second);
      else {
        rest.push_back(t);
        continue;
      }
      auto& number = *t.find("id");
      check<IoError>(number.is_integer() && placed.emplace(number.integer(), t).second, folder_, ": the id of '",
                     content, "' is that of another token, or none");
    }
    auto next = static_cast<std::int64_t>(vocab_.members().size());
    Value::List list;
    for (auto& [id, t] : placed) {
      list.push_back(t);
      next = std::max(next, id + 1);
    }
    for (auto& t : rest) {
      t.set("id", next++);
      list.push_back(t);
    }
    list_ = list;
    return list;
  }
  /// The post-processor, or null.
  Value around(const Family& family, const Value& config, const Value& map) const {
    auto token = [&](const char* name, const char* usual) -> std::string {
      for (auto source : {&config, &map})
        if (auto found = source->find(name); found && !found->is_null()) return content_of(*found);
      return usual;
    };
    auto id = [&](const std::string& content) {
      for (auto& t : list_)
        if (*t.find("content") == content) return *t.find("id");
      fail<IoError>(folder_, ": the token '", content, "', which stands around a text, has no id");
    };
    if (family.around) {
      auto cls = token("cls_token", "<s>"), sep = token("sep_token", "</s>");
      return Value::object({{"type", "RobertaProcessing"},
                            {"cls", Value::List{cls, id(cls)}},
                            {"sep", Value::List{sep, id(sep)}}});
    }
    if (!flag(config, "add_bos_token")) return {};
    auto bos = token("bos_token", "<|endoftext|>");
    auto first = Value::object({{"SpecialToken", Value::object({{"id", bos}})}});
    auto text = Value::object({{"Sequence", Value::object({{"id", "A"}})}});
    auto ids = Value::object({{"ids", Value::List{id(bos)}}});
    return Value::object({{"type", "TemplateProcessing"},
                          {"single", Value::List{first, text}},
                          {"special_tokens", Value::object({{bos, ids}})}});
  }
  Value merges() {
    auto path = folder_ + "merges.txt", text = read_file(path);
    bytes_ += "merges.txt\n" + text;
    Value::List list;
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
  Value vocab_;
  Value::List list_, added_;
  std::map<std::string, std::int32_t> ids_;
};
}  // namespace

std::string tokenizer_json_of(const std::string& vocab, std::string& bytes) { return Folder(vocab, bytes).document(); }
}  // namespace bora::text
