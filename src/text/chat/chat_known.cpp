// chat_known.cpp -- the chat templates of well-known families, as layouts and as the Jinja they are published in.
#include "bora/base/error.h"
#include "bora/text/chat.h"
#include "text/api/chat_layout.h"

namespace bora::text {
namespace {
struct Known {
  ChatLayout layout;  // {bos} and {eos} stand for the tokens
  ChatTokens tokens;  // of the family
  std::string_view jinja;
};
constexpr std::string_view kChatml =
    R"({% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + )"
    R"('\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";
constexpr std::string_view kQwen2 =
    R"({% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %})"
    R"({{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %})"
    R"({{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}})"
    R"({% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %})";
constexpr std::string_view kLlama2 =
    R"({% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %})"
    R"({% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %})"
    R"({% set system_message = false %}{% endif %}{% for message in loop_messages %})"
    R"({% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %})"
    R"({{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %})"
    R"({% if loop.index0 == 0 and system_message != false %})"
    R"({% set content = '<<SYS>>\n' + system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %})"
    R"({% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %})"
    R"({{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %})"
    R"({{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %})";
constexpr std::string_view kLlama3 =
    R"({% set loop_messages = messages %}{% for message in loop_messages %})"
    R"({% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim)"
    R"( + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %})"
    R"({{ content }}{% endfor %})"
    R"({% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %})";
constexpr std::string_view kMistral =
    R"({{ bos_token }}{% for message in messages %})"
    R"({% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %})"
    R"({{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %})"
    R"({% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }})"
    R"({% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}})"
    R"({% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %})";
constexpr std::string_view kGemma =
    R"({{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }})"
    R"({% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %})"
    R"({{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %})"
    R"({% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %})"
    R"({% set role = message['role'] %}{% endif %})"
    R"({{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %})"
    R"({% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %})";
constexpr std::string_view kZephyr = R"({% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %})";
// Stanford's prompt was published without a template; this is it for several turns.
constexpr std::string_view kAlpaca =
    R"({{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] + '\n\n' }})"
    R"({% set loop_messages = messages[1:] %}{% else %}{{ 'Below is an instruction that describes a task. )"
    R"(Write a response that appropriately completes the request.\n\n' }}{% set loop_messages = messages %}{% endif %})"
    R"({% for message in loop_messages %}{% if message['role'] != ['user', 'assistant'][loop.index0 % 2] %})"
    R"({{ raise_exception('user and assistant must take turns') }}{% endif %}{% if message['role'] == 'user' %})"
    R"({{ '### Instruction:\n' + message['content'] + '\n\n' }}{% else %})"
    R"({{ '### Response:\n' + message['content'] + eos_token + '\n\n' }}{% endif %}{% endfor %})"
    R"({% if add_generation_prompt %}{{ '### Response:\n' }}{% endif %})";

const std::vector<Known>& all() {
  static const std::vector<Known> known = [] {
    const ChatRole im{"*", "<|im_start|>{role}\n", "", "<|im_end|>", "\n"};
    return std::vector<Known>{
        {{.name = "chatml", .roles = {im}}, {}, kChatml},
        {{.name = "qwen-2", .roles = {im}, .system = "You are a helpful assistant."}, {}, kQwen2},
        {{.name = "llama-2",
          .roles = {{"system", "<<SYS>>\n", "", "", "\n<</SYS>>\n\n"},
                    {"user", "{bos}[INST] ", "", "", " [/INST]"},
                    {"assistant", "", " ", " {eos}"}},
          .strip = true,
          .alternate = true,
          .system_in_user = true},
         {"<s>", "</s>"},
         kLlama2},
        {{.name = "llama-3",
          .roles = {{"*", "<|start_header_id|>{role}<|end_header_id|>\n\n", "", "<|eot_id|>"}},
          .begin = "{bos}",
          .strip = true},
         {"<|begin_of_text|>", "<|eot_id|>"},
         kLlama3},
        {{.name = "alpaca",
          .roles = {{"system", "", "", "", "\n\n"},
                    {"user", "### Instruction:\n", "", "", "\n\n"},
                    {"assistant", "### Response:\n", "", "{eos}", "\n\n"}},
          .begin = "{bos}",
          .system = "Below is an instruction that describes a task. Write a response that appropriately completes the "
                    "request.",
          .alternate = true},
         {"<s>", "</s>"},
         kAlpaca},
        {{.name = "mistral",
          .roles = {{"user", "[INST] ", "", "", " [/INST]"}, {"assistant", "", "", "{eos}"}},
          .begin = "{bos}",
          .alternate = true},
         {"<s>", "</s>"},
         kMistral},
        {{.name = "gemma",
          .roles = {{"user", "<start_of_turn>user\n", "", "", "<end_of_turn>\n"},
                    {"assistant", "<start_of_turn>model\n", "", "<end_of_turn>", "\n"}},
          .begin = "{bos}",
          .strip = true,
          .alternate = true},
         {"<bos>", "<eos>"},
         kGemma},
        {{.name = "zephyr",
          .roles = {{"system", "<|system|>\n", "", "", "{eos}\n"},
                    {"user", "<|user|>\n", "", "", "{eos}\n"},
                    {"assistant", "<|assistant|>\n", "", "{eos}", "\n"}}},
         {"<s>", "</s>"},
         kZephyr},
    };
  }();
  return known;
}
void expand(std::string& text, const ChatTokens& tokens) {
  for (auto& [name, token] :
       {std::pair<std::string_view, const std::string&>{"{bos}", tokens.bos}, {"{eos}", tokens.eos}})
    if (auto at = text.find(name); at != text.npos) {
      check<ConfigError>(name != "{eos}" || !token.empty(),
                         "chat_template: tokenizer_config.json has no eos_token, with which this template ends turns");
      text.replace(at, name.size(), token);
    }
}
}  // namespace

std::optional<ChatLayout> known_layout(std::string_view name, const std::optional<ChatTokens>& tokens) {
  for (auto& k : all()) {
    if (k.layout.name != name) continue;
    auto layout = k.layout;
    expand(layout.begin, tokens.value_or(k.tokens));
    for (auto& r : layout.roles)
      for (auto part : {&r.before, &r.end, &r.after}) expand(*part, tokens.value_or(k.tokens));
    return layout;
  }
  return {};
}
std::string jinja_of(std::string_view name) {
  for (auto& k : all())
    if (k.layout.name == name) return std::string(k.jinja);
  return {};
}
std::vector<std::string> chat_template_names() {
  std::vector<std::string> names;
  for (auto& k : all()) names.push_back(k.layout.name);
  return names;
}
}  // namespace bora::text
