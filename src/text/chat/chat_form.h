// chat_form.h -- what a chat template is inside: a layout, or a template in Jinja.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include "bora/text/chat.h"
#include "json/api/value.h"

namespace bora::text {
struct ChatForm {
  virtual ~ChatForm() = default;
  /// The text of turns; `ask`: up to the place where the assistant answers. now: for strftime_now, if it may be asked.
  virtual std::vector<Piece> pieces(std::span<const Turn>, bool ask, std::optional<std::int64_t> now) const = 0;
  virtual const std::string& name() const = 0;
  virtual std::string identity() const = 0;
};
/// A template in Jinja. config: tokenizer_config.json, or null; its special tokens are variables of the template.
std::shared_ptr<const ChatForm> jinja_chat(std::string_view source, const std::string& place,
                                           const json::Value& config);
}  // namespace bora::text
