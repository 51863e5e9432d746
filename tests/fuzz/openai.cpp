// The body of a request of OpenAI's interface: one that is taken asks for what the model has; of the others the error
// names a status.
#include <cstdint>
#include <cstdlib>
#include "serve/api/request.h"

using namespace bora;
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  static const serve::Model model{.name = "m",
                                  .tokenizer = text::open_tokenizer({"type=bytes"}),
                                  .positions = 64,
                                  .chat = text::chat_template_of("chatml")};
  std::string_view body(reinterpret_cast<const char*>(data), n);
  for (auto kind : {serve::Kind::completion, serve::Kind::chat}) try {
      auto call = serve::read_call(kind, body, model, [] { return std::uint64_t{1}; });
      if (call.prompts.empty() || call.n < 1 || call.n > model.most_choices) std::abort();
      for (auto& p : call.prompts) {
        auto& r = p.request;
        if (r.prompt.empty() || std::ssize(r.prompt) + r.max_tokens > model.positions) std::abort();
        for (auto id : r.prompt)
          if (id < 0 || id >= model.tokenizer->size()) std::abort();
      }
    } catch (const serve::Refused& e) {
      if (e.status < 400 || e.status > 499 || serve::error_body(e).empty()) std::abort();
    }
  return 0;
}
