// chat.h -- conversations as the text that a model reads, with marks on what the assistant says in it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bora::text {
/// One side's words. The usual roles are system, user and assistant.
struct Turn {
  std::string role, content;
};
/// A part of a conversation's text. `learnt`: it is what the assistant says, with the token that ends its turn. `said`:
/// the words of turns in it, and roles that the template does not name (EncodeOptions::said); all else is the
/// template's.
struct Piece {
  std::string text;
  bool learnt = false;
  std::vector<std::pair<std::size_t, std::size_t>> said = {};
  bool operator==(const Piece&) const = default;
};
struct ChatLayout;
struct ChatForm;

/// The form in which one family of models reads conversations, for several threads at a time. The pieces of render()
/// are the text that the family's template in Jinja gives in Hugging Face's `transformers`, tokens such as <s> written
/// out. Roles that a template would drop in silence are refused.
class ChatTemplate {
 public:
  explicit ChatTemplate(ChatLayout);
  explicit ChatTemplate(std::shared_ptr<const ChatForm>);
  /// The pieces, none of them empty, no two neighbours equally marked. A learnt piece begins where the assistant would
  /// begin to answer: ask() of the turns before it and the piece are one text with what render() gives. In Jinja it
  /// is the text within {% generation %}, else what the assistant's turn adds to the prompt before it, without white
  /// space at its end. Throws ConfigError with the number of the turn (from 1) for a role that the template does not
  /// have, for turns that do not alternate where they must, for an answer that cannot be found, for no turns at all,
  /// and with the words of a template that raises an error.
  std::vector<Piece> render(std::span<const Turn> turns) const;
  /// The text up to the place where the assistant answers next (add_generation_prompt). Throws as render() does, and
  /// where the next turn cannot be the assistant's.
  Piece ask(std::span<const Turn> turns) const;
  /// Its name; of a file its path.
  const std::string& name() const;
  /// Equal for templates that make the same text of every conversation, whatever their names.
  std::string identity() const;
  /// The template on a day, YYYY-MM-DD, whose begin strftime_now gives, or at the time of this call, `now`. Without one
  /// a template that asks for the time is refused. Throws ConfigError for other words.
  ChatTemplate on(const std::string& day) const;

 private:
  std::shared_ptr<const ChatForm> form_;
  std::optional<std::int64_t> now_ = {};
};

/// The names of known templates, such as chatml.
std::vector<std::string> chat_template_names();
/// The Jinja of a known template as its family publishes it; empty for other names. It may ask for bos_token and
/// eos_token.
std::string jinja_of(std::string_view name);
/// The template of a setting: a known name, a file, or, if it is empty, what `folder` has for its tokenizer (the folder
/// or a file in it): chat_template.jinja, or chat_template in tokenizer_config.json. The tokens at the begin and end of
/// texts are those of the folder's tokenizer_config.json, if it has one, else those of the family. A template in Jinja
/// runs as in `transformers` (trim_blocks, lstrip_blocks, {% generation %}, {% break %}, tojson, raise_exception,
/// strftime_now; no inheritance, no imports), in a sandbox: it changes nothing and its steps, depth and text are
/// limited; `tools` and `documents` are none. A file that does not end in .jinja has lines like these:
///
///   # ChatML, for an assistant that knows a tool.
///   system:    <|im_start|>system\n{system}<|im_end|>\n
///   user:      <|im_start|>user\n{user}<|im_end|>\n
///   tool:      <|im_start|>tool\n{tool}<|im_end|>\n
///   assistant: <|im_start|>assistant\n{assistant}<|im_end|>{stop}\n
///
/// Each line is a role and the text of its turns; `user` and `assistant` must be there. {ROLE} stands for what is said,
/// {bos} and {eos} for the tokenizer's tokens. What the assistant learns begins at {assistant} and ends at {stop}, or
/// with the line. \n is a newline, \t a tab, \s a space (white space around a text is dropped); \\ \{ \} are
/// themselves. Lines that begin with # say nothing. Other lines, each with its default:
///
///   begin:            text before the first turn (empty)
///   strip: no         whether white space around what is said is dropped
///   alternate: no     whether user and assistant must take turns, after at most one system turn
///
/// Throws ConfigError, for lines of a file "FILE:LINE: ..", and IoError for files that cannot be read. key: how the
/// setting is given where the error is read, for what it proposes.
ChatTemplate chat_template_of(const std::string& setting, const std::string& folder = {},
                              const std::string& key = "chat_template=");
}  // namespace bora::text
