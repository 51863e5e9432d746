#include "serve/texts.h"
#include <algorithm>
#include <exception>
#include <numeric>
#include "bora/generate/answer.h"
#include "bora/job/settings.h"
#include "bora/models/stepper.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/node.h"

namespace bora::serve {
namespace {
constexpr const char* kNotFinite = "are not finite";  // as errors say of scores
/// Ends the command on every rank, if rank 0 says that an answer has failed.
void agree(const Texts& from, job::ServedModel& model, const std::string& error) {
  auto why = from.mesh.exchange(error, "generate: how it ended")[0];
  if (why.empty()) return;
  if (why.find(kNotFinite) != why.npos)
    job::fail_not_finite("generate: the scores of the next token are not finite", model.copy().parameters(),
                         from.settings);
  fail<ValueError>("generate: ", why);
}
}  // namespace

void Texts::write(const std::string& text) const {
  if (mesh.rank() == 0) streams.write(text);
}
std::string write_answer(const Texts& from, job::ServedModel& model, generate::Engine& engine,
                         const generate::Request& request) {
  std::string all, error;
  std::exception_ptr stopped;
  std::optional<generate::Engine::Id> id;
  auto write = [&](const std::string& text) {
    all += text;
    if (stopped) return;
    try {
      from.write(text);
    } catch (...) {
      stopped = std::current_exception();
      if (id) engine.cancel(*id);
    }
  };
  if (from.mesh.rank() == 0)
    id = engine.submit(request, {.token = [&](auto, auto&, auto& text) { write(text); },
                                 .end =
                                     [&](auto, auto& end) {
                                       write(end.text);
                                       error = end.error;
                                     }});
  engine.run(true);
  if (stopped) std::rethrow_exception(stopped);
  if (error.empty() || !all.empty()) from.write("\n");
  agree(from, model, error);
  return all;
}
void write_lines(const Texts& from, job::ServedModel& model, generate::Engine& engine, std::vector<Call> calls) {
  std::string error;
  std::exception_ptr stopped;
  if (from.mesh.rank() == 0) {
    auto write = [&](const std::string& line) {
      try {
        from.write(line + "\n");
      } catch (...) {
        stopped = std::current_exception();
        throw;
      }
    };
    Lines lines(*from.model, answering(engine), std::move(calls), write,
                [&] { engine.stop(std::chrono::milliseconds(0)); });
    engine.run();
    error = lines.error();
  } else {
    engine.run();
  }
  if (stopped) std::rethrow_exception(stopped);
  agree(from, model, error);
}

namespace {
generate::BeamOptions beams_of(const generate::Request& r, const Texts& from) {
  auto& o = from.options;
  check<ConfigError>(!r.logprobs && !r.prompt_logprobs, "--beams: a search gives no log-probabilities of tokens");
  check<ConfigError>(r.n <= o.beams, "--beams: ", o.beams, " beams end in ", o.beams, " texts at most, and n is ", r.n);
  generate::BeamOptions b{.beams = o.beams,
                          .returned = r.n,
                          .max_tokens = r.max_tokens,
                          .choosing = r.choosing,
                          .tokens = from.model->tokenizer->size(),
                          .step_tokens = o.step_tokens};
  if (!r.ignore_eos) b.ends.assign(from.model->ends.begin(), from.model->ends.end());
  b.ends.insert(b.ends.end(), r.stop_ids.begin(), r.stop_ids.end());
  if (b.max_tokens > 0) generate::check(b);
  return b;
}
}  // namespace
void check_beams(const Texts& from, const std::vector<Call>& calls) {
  for (auto& call : calls)
    for (auto& p : call.prompts) (void)beams_of(p.request, from);
}
void write_beams(const Texts& from, job::ServedModel& model, const std::vector<Call>& calls,
                 const std::string& before) {
  auto names = std::make_shared<const Names>(from.model->tokenizer);
  std::int64_t index = 0;
  for (auto& call : calls) {
    std::vector<Choice> choices;
    Usage usage;
    for (auto& p : call.prompts) {
      auto& r = p.request;
      auto o = beams_of(r, from);
      usage.prompt += std::ssize(r.inputs.empty() ? r.prompt : r.inputs);
      std::vector<std::int32_t> pages(static_cast<std::size_t>(
          std::max(generate::beam_pages(std::ssize(r.prompt), o), std::ssize(r.inputs) / 32 + 1)));
      std::iota(pages.begin(), pages.end(), 0);
      model.copy().allot(std::ssize(pages));
      if (!r.inputs.empty()) o.inputs = model.copy().read(r.inputs);
      std::vector<generate::Beam> found(static_cast<std::size_t>(r.n));
      if (o.max_tokens > 0) try {
          found = generate::beams(model.copy(), r.prompt, o, pages);
        } catch (const ValueError& e) {
          if (e.text().find(kNotFinite) == std::string::npos) throw;
          agree(from, model, e.text());  // all ranks have the same scores
        }
      for (auto& beam : found) {
        generate::Answer answer(from.model->tokenizer, r.inputs.empty() ? r.prompt : std::vector<std::int32_t>(),
                                {{o.ends.begin(), o.ends.end()}, r.stop, r.special});
        Choice choice{.index = std::ssize(choices)};
        for (auto id : beam.tokens)
          if (!answer.ended()) choice.text += answer.next(id), ++usage.answer;
        if (!answer.ended()) choice.text += answer.finish();
        choice.finish = answer.ended() ? generate::Finish::stop : generate::Finish::length;
        choice.stop = answer.end();
        choices.push_back(std::move(choice));
      }
    }
    if (from.options.json) from.write(answer_line(index++, call, from.model, names, choices, usage) + "\n");
    else from.write(before + choices.at(0).text + "\n");
  }
}
}  // namespace bora::serve
