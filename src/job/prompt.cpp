#include "bora/job/prompt.h"
#include <algorithm>
#include <filesystem>
#include "base/api/file.h"
#include "bora/data/data.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/text/tokenizer.h"
#include "json/api/value.h"

namespace fs = std::filesystem;
namespace bora::job {
namespace {
using json::Value;
constexpr const char* kSpecial = "add_special_tokens";

/// The tokenizer as `transformers` uses it on a prompt; null if it is the run's own.
std::shared_ptr<const text::Tokenizer> with_special(const TrainedRun& words, const Settings& s) {
  auto d = s.tokenizer.write();
  if (!is_pretrained(words) || !d.find(kSpecial)) return nullptr;
  d.at(kSpecial) = config::scalar("true");
  auto kind = s.tokenizer;
  kind.read(d, "tokenizer", config::schema(kind));
  return kind->open();
}
Value read_object(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Value::object();
  auto j = json::parse_or_null(read_file(path));
  check<ConfigError>(j.is_object(), path, ": expected a JSON object");
  return j;
}
}  // namespace

std::vector<std::int32_t> prompt_ids(const TrainedRun& words, const Settings& s, const text::Tokenizer& tokenizer,
                                     const std::string& prompt, bool special_too) {
  auto special = special_too ? with_special(words, s) : nullptr;
  auto ids = special ? special->encode(prompt) : tokenizer.encode(prompt);
  return ids.empty() && prompt.empty() ? tokenizer.encode("\n") : ids;
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
  std::vector<text::Piece> pieces;
  try {
    pieces = t.render(turns);
  } catch (const ConfigError&) {}  // a template may not take turns that end with an answer
  std::string all;
  for (auto& piece : pieces) all += piece.learnt ? piece.text : "";
  if (auto at = all.rfind(answer); at != all.npos) {
    a.end = all.substr(at + answer.size());
    a.end.resize(a.end.find_last_not_of(" \n") + 1);
  }
  return a;
}

std::string Until::next(const std::string& text) {
  if (ended_) return {};
  held_ += text;
  if (end_.empty()) return finish();
  auto at = held_.find(end_);
  ended_ = at != held_.npos;
  if (ended_) {
    auto out = held_.substr(0, at);
    held_.clear();
    return out;
  }
  auto keep = std::min(held_.size(), end_.size() - 1);
  while (keep > 0 && !end_.starts_with(std::string_view(held_).substr(held_.size() - keep))) --keep;
  auto out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  return out;
}
std::string Until::finish() { return std::exchange(held_, {}); }
}  // namespace bora::job
