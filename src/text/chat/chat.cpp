#include "bora/text/chat.h"
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include "base/api/bytes.h"
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "base/api/file.h"
#include "gguf/api/companions.h"
#include "json/api/value.h"
#include "text/api/chat_layout.h"
#include "text/chat/chat_form.h"
#include "text/unicode.h"

namespace fs = std::filesystem;
namespace bora::text {
namespace {
/// Without the characters at both ends that Python's str.strip drops: white space and four separators.
std::string_view stripped(std::string_view s) {
  auto separator = [](char c) { return c >= 0x1c && c <= 0x1f; };
  for (std::size_t before = s.npos; before != s.size();) {
    before = s.size();
    s.remove_prefix(space_at_begin(s));
    s.remove_suffix(space_at_end(s));
    if (!s.empty() && separator(s.front())) s.remove_prefix(1);
    if (!s.empty() && separator(s.back())) s.remove_suffix(1);
  }
  return s;
}
const ChatRole* find_role(const ChatLayout& l, std::string_view name) {
  for (auto& role : l.roles)
    if (role.name == name || role.name == "*") return &role;
  return nullptr;
}
/// A text, and the parts of it that somebody says.
struct Words {
  std::string text = {};
  std::vector<TextRange> said = {};
  Words& add(std::string_view more) {
    text += more;
    return *this;
  }
  Words& say(std::string_view more) {
    if (!more.empty()) said.emplace_back(text.size(), text.size() + more.size());
    return add(more);
  }
};
Words before_of(const ChatRole& role, std::string_view name) {
  std::string_view text = role.before, mark = "{role}";
  auto at = role.name == "*" ? text.find(mark) : text.npos;
  if (at == text.npos) return Words().add(text);
  return Words().add(text.substr(0, at)).say(name).add(text.substr(at + mark.size()));
}
/// The speaker of turn k of a conversation whose turns alternate.
const char* side(std::size_t k) { return k % 2 == 0 ? "user" : "assistant"; }

class Rendering {
 public:
  Rendering(const ChatLayout& l, std::span<const Turn> turns) : l_(l), turns_(turns) {
    check<ConfigError>(!turns.empty(), "chat template ", l.name, ": a conversation without turns");
    add(Words().add(l.begin));
    bool has_system = turns[0].role == "system";
    if (!has_system && l.system) say(*find_role(l, "system"), "system", Words().add(*l.system));
    for (std::size_t i = 0; i < turns.size(); ++i) turn(i, has_system);
  }
  /// Ends with the text before an answer.
  void ask() {
    auto k = turns_.size() - (turns_[0].role == "system");
    auto next = side(k);
    check<ConfigError>(!l_.alternate || next == std::string_view("assistant"), "chat template ", l_.name,
                       ": there is nothing to answer after turn ", turns_.size(), ": the next one is the ", next, "'s");
    add(before_of(*find_role(l_, "assistant"), "assistant"));
  }
  std::vector<Piece> take() { return std::move(pieces_); }

 private:
  void turn(std::size_t i, bool has_system) {
    auto& [name, content] = turns_[i];
    auto role = find_role(l_, name);
    if (!role) {
      std::string names;
      for (auto& r : l_.roles) names += (names.empty() ? "" : ", ") + r.name;
      fail<ConfigError>("chat template ", l_.name, ": turn ", i + 1, " has the role '", name, "'; there are ", names);
    }
    if (l_.alternate && (i > 0 || !has_system))
      check<ConfigError>(name == side(i - has_system), "chat template ", l_.name, ": turn ", i + 1, " has the role '",
                         name, "', expected ", side(i - has_system), ": user and assistant must take turns",
                         find_role(l_, "system") ? ", after at most one system turn" : "");
    if (l_.system_in_user && i == 0 && has_system) return;
    bool takes_system = l_.system_in_user && i == 1 && has_system;
    if (!takes_system) return say(*role, name, Words().say(content));
    auto& system = *find_role(l_, "system");
    say(*role, name, Words().add(system.before).say(turns_[0].content).add(system.after).say(content));
  }
  void say(const ChatRole& role, std::string_view name, const Words& content) {
    bool learnt = name == "assistant";
    add(before_of(role, name));
    add(Words().add(role.lead), learnt);
    add(l_.strip ? without_ends(content) : content, learnt);
    add(Words().add(role.end), learnt);
    add(Words().add(role.after));
  }
  static Words without_ends(const Words& words) {
    auto inner = stripped(words.text);
    auto first = static_cast<std::size_t>(inner.data() - words.text.data()), last = first + inner.size();
    Words r{std::string(inner)};
    for (auto& range : words.said)
      if (auto begin = std::max(range.first, first), end = std::min(range.second, last); begin < end)
        r.said.emplace_back(begin - first, end - first);
    return r;
  }
  void add(const Words& words, bool learnt = false) {
    if (words.text.empty()) return;
    if (pieces_.empty() || pieces_.back().learnt != learnt) pieces_.push_back({{}, learnt});
    auto& piece = pieces_.back();
    for (auto& range : words.said)
      piece.said.emplace_back(piece.text.size() + range.first, piece.text.size() + range.second);
    piece.text += words.text;
  }
  const ChatLayout& l_;
  std::span<const Turn> turns_;
  std::vector<Piece> pieces_;
};

constexpr std::string_view kConfig = "tokenizer_config.json";
/// The configuration of a folder's tokenizer; null if there is none.
json::Value config_of(const std::string& folder) {
  auto path = (fs::path(folder) / kConfig).string();
  if (folder.empty() || !gguf::is_there(path)) return nullptr;
  auto j = json::parse_or_null(gguf::read_file(path));
  check<ConfigError>(j.is_object(), path, ": expected a JSON object");
  return j;
}
std::optional<ChatTokens> tokens_of(const json::Value& config, const std::string& folder) {
  if (!config.is_object()) return {};
  auto token = [&](const char* key) -> std::string {  // a text, or an object with its text and how it is found
    auto found = config.find(key);
    if (!found || found->is_null()) return {};
    if (auto content = found->find("content")) found = content;
    check<ConfigError>(found->is_text(), (fs::path(folder) / kConfig).string(), ": ", key, ": expected a text");
    return found->text();
  };
  return ChatTokens{token("bos_token"), token("eos_token")};
}
std::string joined_names() {
  std::string all;
  for (auto& name : chat_template_names()) all += (all.empty() ? "" : ", ") + name;
  return all;
}
class LayoutChat final : public ChatForm {
 public:
  explicit LayoutChat(ChatLayout l) : l_(std::move(l)) {}
  std::vector<Piece> pieces(std::span<const Turn> turns, bool ask, std::optional<std::int64_t>) const override {
    Rendering r(l_, turns);
    if (ask) r.ask();
    return r.take();
  }
  const std::string& name() const override { return l_.name; }
  std::string identity() const override {
    ByteWriter w;
    for (auto& r : l_.roles) w.texts({r.name, r.before, r.lead, r.end, r.after});
    w.text(l_.begin).num(l_.system.has_value()).text(l_.system.value_or("")).num(l_.strip).num(l_.alternate);
    return w.num(l_.system_in_user).take();
  }

 private:
  ChatLayout l_;
};
}  // namespace

ChatTemplate::ChatTemplate(ChatLayout l) : form_(std::make_shared<LayoutChat>(std::move(l))) {}
ChatTemplate::ChatTemplate(std::shared_ptr<const ChatForm> form) : form_(std::move(form)) {}
std::vector<Piece> ChatTemplate::render(std::span<const Turn> turns) const {
  return form_->pieces(turns, false, now_);
}
Piece ChatTemplate::ask(std::span<const Turn> turns) const {
  Piece all;
  for (auto& piece : form_->pieces(turns, true, now_)) {
    for (auto& [begin, end] : piece.said) all.said.emplace_back(all.text.size() + begin, all.text.size() + end);
    all.text += piece.text;
  }
  return all;
}
const std::string& ChatTemplate::name() const { return form_->name(); }
std::string ChatTemplate::identity() const {
  auto form = form_->identity();
  return now_ ? form + "\n" + std::to_string(*now_) : form;
}
ChatTemplate ChatTemplate::on(const std::string& day) const {
  auto t = *this;
  if (day == "now") {
    const auto now = std::time(nullptr);
    std::tm here{};
    t.now_ = ::timegm(::localtime_r(&now, &here));
    return t;
  }
  auto part = [&](std::size_t at, std::size_t n) {
    bool digits = day.find_first_not_of("0123456789", at) >= at + n;
    return day.size() == 10 && digits ? parse_as<unsigned>(std::string_view(day).substr(at, n)).value_or(0) : 0;
  };
  using namespace std::chrono;
  year_month_day date{year(static_cast<int>(part(0, 4))), month(part(5, 2)), std::chrono::day(part(8, 2))};
  bool ok = day.size() == 10 && day[4] == '-' && day[7] == '-' && date.ok() && part(0, 4) >= 1900;
  check<ConfigError>(ok, "a day is written YYYY-MM-DD, or now; got '", day, "'");
  t.now_ = duration_cast<seconds>(sys_days(date).time_since_epoch()).count();
  return t;
}

ChatTemplate chat_template_of(const std::string& setting, const std::string& place, const std::string& key) {
  std::error_code error;
  bool is_folder = place.empty() || gguf::is_folder(place);
  auto folder = is_folder ? place : fs::path(place).parent_path().string();
  if (!is_folder && folder.empty()) folder = ".";
  auto config = config_of(folder);
  auto tokens = tokens_of(config, folder);
  if (auto known = known_layout(setting, tokens)) return ChatTemplate(std::move(*known));
  if (!setting.empty()) {
    check<ConfigError>(fs::exists(setting, error), key, setting,
                       ": there is no such file and no such template; known are ", joined_names());
    auto text = read_file(setting);
    return setting.ends_with(".jinja") ? ChatTemplate(jinja_chat(text, setting, config))
                                       : ChatTemplate(parse_chat_file(text, setting, tokens));
  }
  auto jinja = (fs::path(folder) / "chat_template.jinja").string();
  if (!folder.empty() && fs::exists(jinja, error))
    return ChatTemplate(jinja_chat(read_file(jinja), jinja, config));
  auto at = (fs::path(folder) / kConfig).string() + ": chat_template";
  if (auto found = config.find("chat_template")) {
    if (found->is_list())  // several, by their names
      for (auto& entry : found->list()) {
        auto name = entry.find("name"), source = entry.find("template");
        if (name && source && *name == "default")
          return ChatTemplate(jinja_chat(source->is_text() ? source->text() : "", at, config));
      }
    check<ConfigError>(found->is_text(), at, ": expected a text, or a list with one that is named default");
    return ChatTemplate(jinja_chat(found->text(), at, config));
  }
  fail<ConfigError>(folder.empty() ? "there is no tokenizer's folder that could have a chat template" : folder,
                    folder.empty() ? "" : " has no chat template (no chat_template.jinja, no chat_template in "
                                          "tokenizer_config.json)",
                    "; name one, ", key, "chatml (or ", joined_names(), "), or give a file");
}
}  // namespace bora::text
