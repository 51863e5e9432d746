#include <algorithm>
#include <limits>
#include "base/api/file.h"
#include "bora/job/job.h"
#include "bora/job/prompt.h"
#include "bora/job/settings.h"
#include "bora/models/stepper.h"
#include "bora/shard/mesh.h"
#include "serve/api/folder.h"
#include "serve/texts.h"

namespace bora::serve {
namespace {
using text::Turn;
constexpr std::int64_t kChoices = 128;

/// Requests for the prompt of the options.
struct Prompts {
  const job::TrainedRun& words;
  const job::Settings& settings;
  const TextOptions& options;
  const Model& model;

  generate::Request request(std::vector<std::int32_t> ids) const {
    auto& o = options;
    check<ConfigError>(!ids.empty(), "--prompt: it has no token; a model begins with one or more");
    generate::Request r{.choosing = o.choosing, .n = o.n, .stop = o.stop, .special = !o.json, .seed = o.seed,
                        .logprobs = o.logprobs};
    if (model.start) {
      r.inputs = std::move(ids);
      auto end = model.tokenizer->end_of_text();
      if (end && r.inputs.back() != *end) r.inputs.push_back(*end);
      r.prompt = {*model.start};
    } else {
      r.prompt = std::move(ids);
    }
    auto used = std::ssize(r.prompt);
    check<ConfigError>(used < model.positions, "--prompt: it has ", used, " tokens, and the model's window ",
                       model.positions, " positions; a prompt is never cut: shorten it, or give --shift");
    r.max_tokens = std::min(o.length, model.positions - used);
    return r;
  }
  std::vector<std::int32_t> ids() const {
    return job::prompt_ids(words, settings, *model.tokenizer, options.prompt, options.special);
  }
  /// What a user says, and what was said before.
  generate::Request said(const text::ChatTemplate& form, const std::vector<Turn>& turns) const {
    auto asked = job::asked(form, turns);
    auto r = request(job::prompt_ids(asked.prompt, *model.tokenizer));
    if (!asked.end.empty()) r.stop.push_back(asked.end);
    return r;
  }
  std::vector<Call> lines() const {
    auto& o = options;
    LineDefaults d{.request = {.choosing = o.choosing, .max_tokens = o.length, .n = o.n, .stop = o.stop,
                               .seed = o.seed, .logprobs = o.logprobs},
                   .around = o.special};
    return read_lines(read_file<ConfigError>(o.prompts), o.prompts, model, d);
  }
};
generate::EngineOptions engine_options(const Texts& t, const job::ServedModel& model, std::int64_t queue) {
  return {.cache_bytes = t.options.cache_bytes,
          .step_tokens = t.options.step_tokens,
          .rows = t.options.rows,
          .queue = queue,
          .replicas = model.replicas(),
          .ends = t.model->ends,
          .encoder = t.model->start.has_value(),
          .lookup = t.options.lookup};
}
/// Answers turn by turn.
void converse(const Texts& t, std::vector<Turn> turns,
              const std::function<std::string(const std::vector<Turn>&)>& answer) {
  for (std::string line; t.streams.turn(line);) {
    if (line.empty()) continue;
    turns.push_back({"user", line});
    turns.push_back({"assistant", answer(turns)});
  }
}
void shifted(const Texts& t, const Prompts& prompts, const std::optional<text::ChatTemplate>& form,
             std::vector<Turn> turns) {
  Shifting text(t);
  if (form) {
    auto answer = [&](const std::vector<Turn>& all) {
      auto asked = job::asked(*form, all);
      return text.write(job::prompt_ids(asked.prompt, *t.model->tokenizer), asked.end);
    };
    if (t.options.prompt.empty()) return converse(t, std::move(turns), answer);
    turns.push_back({"user", t.options.prompt});
    answer(turns);
  } else if (t.model->start) {
    text.read(prompts.request(prompts.ids()).inputs);
    text.write({*t.model->start}, {});
  } else {
    auto ids = prompts.ids();
    check<ConfigError>(!ids.empty(), "--prompt: it has no token; a model begins with one or more");
    t.write(t.options.prompt);
    text.write(std::move(ids), {});
  }
}
}  // namespace

int write_texts(const job::TrainedRun& words, const TextOptions& o, const TextStreams& streams) {
  auto s = job::settings_to_generate(words, "generate");
  auto tokenizer = s.tokenizer->open();
  job::check_folder_of(words, s, *tokenizer);
  auto m = model_of(words, s, tokenizer, {o.prompts.empty() ? std::string() : o.chat_template, o.date});
  m.most_choices = kChoices;
  m.most_prompts = std::numeric_limits<std::int32_t>::max();
  auto model = std::make_shared<const Model>(std::move(m));
  Prompts prompts{words, s, o, *model};
  std::optional<text::ChatTemplate> form;
  std::vector<Turn> turns;
  std::vector<Call> calls;
  if (o.chat) {
    check<ConfigError>(!model->start, "--chat: a model with an encoder has no turns");
    form = job::chat_template_for(words, s, o.chat_template).on(o.date);
    if (!o.system.empty()) turns.push_back({"system", o.system});
    auto first = turns;
    first.push_back({"user", o.prompt});
    if (o.prompt.empty() || o.shift) (void)job::asked(*form, first);
    else calls.push_back(one_call(prompts.said(*form, first), o.prompt));
  } else if (!o.prompts.empty()) {
    calls = prompts.lines();
  } else if (!o.shift) {
    calls.push_back(one_call(prompts.request(prompts.ids()), o.prompt));
  }
  std::int64_t asked = 1;
  for (auto& call : calls) asked += std::ssize(call.prompts);
  return job::on_mesh({s, tokenizer, "generate"}, [&](const Mesh& mesh) {
    bool turn_by_turn = o.chat && o.prompt.empty();
    check<ConfigError>(!turn_by_turn || mesh.size() == 1,
                       "--chat: turns from standard input need one process; with more of them give --prompt");
    Texts t{words, s, o, streams, mesh, model};
    if (o.shift) return shifted(t, prompts, form, turns), 0;
    if (o.beams > 0) check_beams(t, calls);
    job::ServedModel served(words, s, *tokenizer, mesh);
    auto before = o.chat || model->start ? std::string() : o.prompt;
    if (o.beams > 0) return write_beams(t, served, calls, before), 0;
    generate::Engine engine(served.stepper(), tokenizer, mesh, engine_options(t, served, asked));
    if (turn_by_turn) {
      converse(t, turns, [&](auto& all) { return write_answer(t, served, engine, prompts.said(*form, all)); });
    } else if (o.json) {
      write_lines(t, served, engine, calls);
    } else {
      t.write(before);
      write_answer(t, served, engine, calls.at(0).prompts.at(0).request);
    }
    return 0;
  });
}
}  // namespace bora::serve
