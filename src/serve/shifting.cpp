// A text beyond the model's window.
#include <algorithm>
#include "bora/array/array.h"
#include "bora/generate/answer.h"
#include "bora/job/model.h"
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "serve/texts.h"

namespace bora::serve {
struct Shifting::State {
  const Texts& from;
  std::int64_t positions;
  std::unique_ptr<models::Generator> model;
  std::int64_t drawn = 0;
  bool has_inputs = false;
};
Shifting::Shifting(const Texts& from) {
  auto& c = from.options.choosing;
  job::Sampling how{.temperature = c.temperature, .top_p = c.top_p, .top_k = c.top_k,
                    .tokens = from.model->tokenizer->size()};
  auto folder = job::find_checkpoint(from.words, from.mesh);
  state_.reset(new State{from, from.settings.model->positions(),
                         job::generator_of(from.settings, *from.model->tokenizer, from.mesh.shape(), how)});
  job::read_parameters(*state_->model, folder, from.settings, from.words, from.mesh);
}
Shifting::~Shifting() = default;
void Shifting::read(const std::vector<std::int32_t>& inputs) {
  state_->model->read(inputs);
  state_->has_inputs = true;
}
std::string Shifting::write(std::vector<std::int32_t> ids, const std::string& until) {
  auto& s = *state_;
  if (!s.has_inputs) s.model->restart();
  generate::Answer::Ends ends{.ids = s.from.model->ends, .special = true};
  if (!until.empty()) ends.texts = {until};
  generate::Answer answer(s.from.model->tokenizer, s.has_inputs ? std::vector<std::int32_t>() : ids, ends);
  std::string all;
  auto give = [&](const std::string& text) {
    s.from.write(text);
    all += text;
  };
  std::int64_t seen = 0;  // tokens that the model has seen since it began
  for (std::int64_t i = 0; i < s.from.options.length && !answer.ended(); ++i) {
    auto n = std::min(s.positions, std::ssize(ids));
    if (seen == s.positions && s.has_inputs) break;
    if (seen == s.positions) s.model->restart(), seen = 0;  // the window moves: every token gets another position
    std::vector<std::int32_t> unseen(seen ? ids.end() - 1 : ids.end() - n, ids.end());
    seen += std::ssize(unseen);
    auto key = job::draw_key(static_cast<std::int64_t>(s.from.options.seed), s.drawn++, n - 1);
    ids.push_back(s.model->next(unseen, key).item<std::int32_t>());
    if (ids.back() == job::Sampling::kNotFinite) {
      if (!all.empty()) s.from.write("\n");
      job::fail_not_finite("generate: the scores of the next token are not finite", *s.model, s.from.settings);
    }
    give(answer.next(ids.back()));
  }
  if (!answer.ended()) give(answer.finish());
  s.from.write("\n");
  return all;
}
}  // namespace bora::serve
