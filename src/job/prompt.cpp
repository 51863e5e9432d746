#include "bora/job/prompt.h"
#include <filesystem>
#include "bora/data/around.h"
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/text/tokenizer.h"
#include "gguf/api/companions.h"
#include "json/api/value.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
using json::Value;
constexpr const char* kSpecial = "add_special_tokens";

Value read_object(const std::string& path) {
  if (!gguf::is_there(path)) return Value::object();
  auto j = json::parse_or_null(gguf::read_file(path));
  check<ConfigError>(j.is_object(), path, ": expected a JSON object");
  return j;
}
}  // namespace

std::shared_ptr<const text::Tokenizer> prompt_tokenizer(const TrainedRun& words, const Settings& s,
                                                        std::shared_ptr<const text::Tokenizer> own) {
  auto d = s.tokenizer.write();
  if (!is_pretrained(words) || !d.find(kSpecial)) return own;
  d.at(kSpecial) = config::scalar("true");
  auto kind = s.tokenizer;
  kind.read(d, "tokenizer", config::schema(kind));
  return kind->open();
}
std::vector<std::int32_t> prompt_ids(const TrainedRun& words, const Settings& s, const text::Tokenizer& tokenizer,
                                     const std::string& prompt, bool special_too) {
  auto special = special_too ? prompt_tokenizer(words, s, nullptr) : nullptr;
  auto ids = special ? special->encode(prompt) : tokenizer.encode(prompt);
  return ids.empty() && prompt.empty() ? tokenizer.encode("\n") : ids;
}
std::optional<std::int32_t> prefix_id(const TrainedRun& words, const text::Tokenizer& tokenizer) {
  auto file = (is_pretrained(words) ? words.run : companions_of(words.run)) + "/tokenizer_config.json";
  auto j = read_object(file);
  for (auto name : {"bos_token", "eos_token"}) {
    auto token = j.find(name);
    if (token && token->is_object()) token = token->find("content");
    if (!token || token->is_null()) continue;
    check<ConfigError>(token->is_text(), file, ": ", name, ": expected a text");
    if (auto id = tokenizer.id_of(token->text())) return *id;
  }
  if (auto end = tokenizer.end_of_text()) return *end;
  auto newline = tokenizer.encode("\n");
  return newline.empty() ? none : std::optional(newline[0]);
}
std::set<std::int32_t> end_ids(const TrainedRun& words, const text::Tokenizer& tokenizer) {
  std::set<std::int32_t> ids;
  if (auto end = tokenizer.end_of_text()) ids.insert(*end);
  if (!is_pretrained(words)) return ids;
  for (auto name : {"/generation_config.json", "/config.json"}) {
    auto j = read_object(words.run + name);
    auto found = j.find("eos_token_id");
    if (!found || found->is_null()) continue;
    for (auto& id : found->is_list() ? found->list() : Value::List{*found}) {
      bool fits = id.is_integer() && id.integer() >= 0 && id.integer() <= INT32_MAX;
      check<ConfigError>(fits, words.run, name, ": eos_token_id: expected an id or a list of ids");
      ids.insert(static_cast<std::int32_t>(id.integer()));
    }
    break;
  }
  return ids;
}
text::ChatTemplate chat_template_for(const TrainedRun& words, const Settings& s, const std::string& named) {
  auto data = s.data.write();
  auto task = data.find("task");
  auto of_data = task ? task->find("chat_template") : nullptr;
  auto name = named.empty() && of_data ? of_data->text : named;
  auto folder = is_pretrained(words) ? words.run : tokenizer_path(s);
  std::error_code error;
  if (fs::is_directory(name, error)) std::swap(folder, name), name.clear();
  return text::chat_template_of(name, folder, "--chat-template ");
}
Asked asked(const text::ChatTemplate& t, std::vector<text::Turn> turns) {
  Asked a{t.ask(turns), {}};
  const std::string answer = "\a";  // a character that no template has
  turns.push_back({"assistant", answer});
  auto pieces = [&]() -> std::vector<text::Piece> {
    try {
      return t.render(turns);
    } catch (const ConfigError&) {}  // a template may not take turns that end with an answer
    turns.push_back({"user", "-"});
    try {
      return t.render(turns);
    } catch (const ConfigError&) { return {}; }
  }();
  std::string all;
  for (auto& piece : pieces) all += piece.learnt ? piece.text : "";
  if (auto at = all.rfind(answer); at != all.npos) {
    a.end = all.substr(at + answer.size());
    a.end.resize(a.end.find_last_not_of(" \n") + 1);
  }
  return a;
}
std::vector<std::int32_t> prompt_ids(const text::Piece& prompt, const text::Tokenizer& tokenizer) {
  data::Around around(tokenizer);
  return around.without_begin(around.without_end(tokenizer.encode(prompt.text, {.said = prompt.said})));
}
}  // namespace bora::job
