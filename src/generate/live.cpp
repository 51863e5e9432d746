#include "generate/live.h"
#include <algorithm>
#include <cmath>
#include <numeric>
#include "bora/base/error.h"
#include "bora/text/tokenizer.h"
#include "generate/scheduler.h"

namespace bora::generate::engine {
namespace {
constexpr std::int64_t kChoices = 128;
constexpr const char* kNotFinite = "the scores of the next token are not finite";
constexpr const char* kNoToken = "the scores are not finite, no token fits the grammar, or it is too large";
/// The tokens that end an answer.
std::set<std::int32_t> ends_of(const Request& r, const Model& m) {
  auto ends = r.ignore_eos ? std::set<std::int32_t>() : m.ends;
  ends.insert(r.stop_ids.begin(), r.stop_ids.end());
  return ends;
}
/// The tokens that have scores and a text.
std::int64_t tokens_of(const Model& m) { return std::min(m.tokenizer->size(), m.vocabulary); }
void check_ids(const char* field, const std::vector<std::int32_t>& ids, const Model& m) {
  for (auto id : ids)
    bora::check<ValueError>(id >= 0 && id < tokens_of(m), field, ": there are tokens 0 to ", tokens_of(m) - 1,
                            ", and no token ", id);
}
}  // namespace
void check_request(const Request& r, const Model& m) {
  auto prompt = size_of(r.prompt);
  bora::check<ValueError>(prompt > 0, "prompt: it has no token; a model begins with one or more");
  check_ids("prompt", r.prompt, m);
  check_ids("inputs", r.inputs, m);
  check_ids("stop_ids", r.stop_ids, m);
  bora::check<ValueError>(m.encoder == !r.inputs.empty(), "inputs: ",
                    m.encoder ? "none, and the model has an encoder, which reads one or more"
                              : "the model has no encoder that reads them");
  bora::check<ValueError>(r.max_tokens >= 0, "max_tokens: must be 0 or more, got ", r.max_tokens);
  bora::check<ValueError>(r.max_tokens <= m.positions - prompt, "max_tokens: a prompt of ", prompt, " tokens and ",
                    r.max_tokens, " more are above the model's ", m.positions, " positions");
  auto pages = Scheduler::least_pages(prompt + std::max<std::int64_t>(r.max_tokens - 1, 0), m.window, m.step_tokens);
  bora::check<ValueError>(pages <= m.pages, "max_tokens: a prompt of ", prompt, " tokens and ", r.max_tokens,
                    " more take ", pages, " pages of ", models::Stepper::kPagePositions,
                    " positions, and the cache has ", m.pages, " in all; more cache_bytes give more");
  auto read = Scheduler::pages_of(size_of(r.inputs));
  bora::check<ValueError>(read <= m.pages, "inputs: ", r.inputs.size(), " tokens take ", read, " pages of ",
                          models::Stepper::kPagePositions, " positions, and the cache has ", m.pages,
                          " in all; more cache_bytes give more");
  bora::check<ValueError>(r.n >= 1 && r.n <= kChoices, "n: must be 1 to ", kChoices, ", got ", r.n);
  bora::check<ValueError>(r.best_of == 0 || (r.best_of >= r.n && r.best_of <= kChoices),
                          "best_of: must be n, which is ", r.n, ", to ", kChoices, ", got ", r.best_of);
  for (auto [field, top] : {std::pair{"logprobs", r.logprobs}, {"prompt_logprobs", r.prompt_logprobs}})
    bora::check<ValueError>(!top || (*top >= 0 && *top <= tokens_of(m)), field, ": must be 0 to ", tokens_of(m),
                            ", all tokens, got ", top.value_or(0));
  for (auto& text : r.stop) bora::check<ValueError>(!text.empty(), "stop: an empty text ends nothing");
  generate::check(r.choosing);
  for (auto& [id, bias] : r.choosing.logit_bias) check_ids("logit_bias", {id}, m);
}
Live::Live(Request r, Listener l, const Model& m)
    : request_(std::move(r)), listener_(std::move(l)), tokens_(static_cast<std::size_t>(tokens_of(m))) {
  auto& q = request_;
  auto ends = ends_of(q, m);
  for (std::int64_t i = 0; i < std::max(q.n, q.best_of); ++i)
    choices_.push_back({Chooser(q.choosing, q.prompt, {ends.begin(), ends.end()}, tokens_of(m), q.seed, i),
                        Answer(m.tokenizer, q.inputs.empty() ? std::span<const std::int32_t>(q.prompt)
                                                             : std::span<const std::int32_t>(),
                               {ends, q.stop, q.special})});
  if (q.prompt_logprobs) prompt_.emplace_back();
}
std::vector<std::int32_t> Live::tokens() const {
  auto all = request_.prompt;
  if (request_.max_tokens > 0) return all;
  all.pop_back();  // nothing is chosen after it
  return request_.prompt_logprobs ? all : std::vector<std::int32_t>();
}
std::int64_t Live::scored() const {
  return request_.prompt_logprobs ? size_of(prompt_) - 1 : size_of(request_.prompt) - 1;
}
bool Live::of_prompt(std::int64_t position) const { return position + 1 < size_of(request_.prompt); }
void Live::tell_prompt() {
  if (!request_.prompt_logprobs || std::exchange(prompt_told_, true)) return;
  if (listener_.prompt) listener_.prompt(prompt_);
}
std::optional<Chosen> Live::of_prompt(std::int64_t position, std::span<const float> scores) const {
  auto& q = request_;
  try {
    return logprobs(scores.first(tokens_), q.prompt[static_cast<std::size_t>(position + 1)], *q.prompt_logprobs);
  } catch (const ValueError&) { return {}; }
}
void Live::read(std::optional<Chosen> said) {
  auto& q = request_;
  if (!said) return end(Finish::failed, kNotFinite);
  prompt_.push_back(std::move(said));
  if (size_of(prompt_) < size_of(q.prompt)) return;
  tell_prompt();
  if (q.max_tokens == 0) end(Finish::length);
}
std::optional<Chosen> Live::choose(std::int64_t choice, std::span<const float> scores) {
  auto id = choices_[static_cast<std::size_t>(choice)].chooser.next(scores);
  if (!id) return {};
  if (!request_.logprobs && !compares()) return Chosen{.id = *id};
  return logprobs(scores.first(tokens_), *id, request_.logprobs.value_or(0));
}
bool Live::tell(std::int64_t choice, std::optional<Chosen> said, bool newest) {
  auto& c = choices_[static_cast<std::size_t>(choice)];
  tell_prompt();  // of one token
  if (!said) {
    auto why = request_.choosing.grammar ? kNoToken : kNotFinite;
    end(choice, {.finish = Finish::failed, .text = c.answer.finish(), .error = why});
    return false;
  }
  c.logprob += said->logprob;
  ++c.tokens;
  auto text = c.answer.next(said->id);
  if (compares()) c.told.emplace_back(std::move(*said), std::move(text));
  else if (listener_.token) listener_.token(choice, *said, text);
  if (c.answer.ended()) end(choice, {.finish = Finish::stop, .stop = c.answer.end()});
  else if (newest && c.chooser.over()) {
    auto rest = c.answer.finish();
    end(choice, {.finish = Finish::stop, .text = std::move(rest), .stop = c.answer.end()});
  } else if (c.tokens < request_.max_tokens) return true;
  else {
    auto rest = c.answer.finish();  // with which a stop string may be complete
    auto finish = c.answer.ended() ? Finish::stop : Finish::length;
    end(choice, {.finish = finish, .text = std::move(rest), .stop = c.answer.end()});
  }
  return false;
}
void Live::end(std::int64_t choice, Listener::End e) {
  auto& c = choices_[static_cast<std::size_t>(choice)];
  e.tokens = c.tokens;
  c.ended = true;
  ++ended_;
  if (compares()) c.end = std::move(e);
  else if (listener_.end) listener_.end(choice, e);
}
void Live::end(Finish finish, const std::string& error) {
  for (std::int64_t i = 0; i < choices(); ++i)
    if (!ended(i)) {
      auto rest = choices_[static_cast<std::size_t>(i)].answer.finish();
      end(i, {.finish = finish, .text = std::move(rest), .error = error});
    }
}
void Live::done() {
  if (compares()) {
    std::vector<std::size_t> order(choices_.size());
    std::iota(order.begin(), order.end(), 0);
    auto mean = [&](std::size_t i) {
      auto& c = choices_[i];
      bool whole = c.end.finish == Finish::stop || c.end.finish == Finish::length;
      return whole ? c.logprob / static_cast<double>(std::max<std::int64_t>(c.tokens, 1)) : -HUGE_VAL;
    };
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return mean(a) > mean(b); });
    for (std::int64_t i = 0; i < request_.n; ++i) {
      auto& c = choices_[order[static_cast<std::size_t>(i)]];
      for (auto& [said, text] : c.told)
        if (listener_.token) listener_.token(i, said, text);
      if (listener_.end) listener_.end(i, c.end);
    }
  }
  if (listener_.done) listener_.done(cached);
}
}  // namespace bora::generate::engine
