// Serves a model that was trained by OpenAI's interface.
#include <atomic>
#include <limits>
#include "app/commands.h"
#include "app/serving.h"
#include "bora/job/job.h"
#include "bora/job/trained_run.h"
#include "serve/api/folder.h"
#include "serve/api/serving.h"

namespace bora::app {
namespace {
constexpr std::chrono::milliseconds kLastWords{5000};  // in which clients read the ends of their answers

struct Serve {
  static constexpr std::string_view name = "serve",
                                    help = "a run, or a folder of Hugging Face's, by OpenAI's interface over HTTP";
  static constexpr Row row{.place = 55, .launched = true};
  TrainedRun words = {};
  HttpFlags http = {};
  std::string model_name = {}, chat_template = {}, date = "now";
  std::int64_t queue = 64, max_n = 16, max_tokens = 0, cache_bytes = 0, step_tokens = 256, rows = 32,
               lookup = 0;
  config::Duration request_time{0}, drain{30};
  bool follow = false;

  void declare(Flags& flags) {
    declare_run(flags, words);
    declare_weights(flags, words);
    flags.add("--host", http.host, "address to listen at; one that others reach wants --key-file")
        .names(Names::nothing);
    flags.add("--port", http.port, "0: any, which is printed").between(0, 65535);
    flags.add("--name", model_name, "the model's id; default: the folder's name").names(Names::nothing);
    flags.add("--key-file", http.key_file, "keys of those who may ask, one a line, in a file of mode 0600")
        .names(Names::input);
    flags.add("--tls-cert", http.certificate, "certificate for HTTPS, a file (PEM)").names(Names::input);
    flags.add("--tls-key", http.certificate_key, "its key").names(Names::input);
    flags.add("--origin", http.origins, "https://page.example: pages elsewhere that may ask")
        .names(Names::nothing)
        .one_value();
    flags.add("--host-name", http.names, "a name by which clients call this machine, where it listens on loopback")
        .names(Names::nothing)
        .one_value();
    flags.add("--chat-template", chat_template, "its name, a file, or a folder with a tokenizer").names(Names::input);
    flags.add("--date", date, "the day for chat templates that write one, YYYY-MM-DD, or now").names(Names::nothing);
    declare_cache(flags, words, cache_bytes);
    flags.add("--step-tokens", step_tokens, "of a step at most: what decodes, and pieces of prompts");
    flags.add("--rows", rows, "answers that grow at the same time, at most");
    flags.add("--lookup", lookup, "tokens that a step may guess from the text so far, where it repeats itself; 0: none")
        .between(0, 64);
    flags.add("--queue", queue, "requests that wait, at most");
    flags.add("--max-n", max_n, "choices of a request, at most");
    flags.add("--max-tokens", max_tokens, "of an answer, at most; 0: what fits behind the prompt");
    flags.add("--request-time", request_time, "of a request, at most; 0: as long as it takes");
    flags.add("--body-bytes", http.body, "of a request's body, at most");
    flags.add("--header-bytes", http.header, "of a request's header, at most");
    flags.add("--connections", http.connections, "at most");
    flags.add("--header-time", http.header_time, "until a request's header is there");
    flags.add("--reader-time", http.reader_time, "that a client may read nothing of its answer");
    flags.add("--follow", follow, "go over to the run's newer checkpoints as they come");
    flags.add("--drain", drain, "what running requests have after SIGTERM or SIGINT; a second one ends them");
  }
  void settle() {
    http.check();
    for (auto [flag, value] : {std::pair{"--step-tokens", step_tokens}, {"--rows", rows}, {"--queue", queue},
                               {"--max-n", max_n}})
      check<ConfigError>(value >= 1 && value < 1 << 20, flag, ": must be from 1 to 2^20 - 1, got ", value);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (auto [flag, value] : {std::pair{"--max-tokens", max_tokens}, {"--cache-bytes", cache_bytes}})
      check<ConfigError>(value >= 0 && value < most, flag, ": must be 0 or more, and below 2^63 - 1");
  }
  int run() const;
  int answer(const Settings&, serve::Model, const Mesh&) const;
};
int Serve::answer(const Settings& s, serve::Model m, const Mesh& mesh) const {
  auto shown = m.name;
  serve::Serving serving(words, s, std::move(m), mesh,
                         {.engine = {.cache_bytes = cache_bytes,
                                     .step_tokens = step_tokens,
                                     .rows = rows,
                                     .queue = queue,
                                     .lookup = lookup},
                          .service = {.time = milliseconds(request_time)},
                          .follow = follow});
  if (!serving.first()) {
    OnSignals ignored([](int) {});  // rank 0 ends all of them
    serving.run();
    return 0;
  }
  auto server = open_server(http, serving.service());
  std::atomic<int> asked = 0;  // to end
  OnSignals signals([&](int times) {
    asked = times;
    serving.stop(times == 1 ? milliseconds(drain) : std::chrono::milliseconds(0));
  });
  say_served(shown, http, *server);
  try {
    serving.run();
  } catch (const Error&) {
    server->stop(kLastWords / 5);
    throw;
  }
  server->stop(asked > 1 ? kLastWords / 25 : kLastWords);
  return 0;
}
int Serve::run() const {
  auto s = settings_to_generate(words, name);
  auto tokenizer = s.tokenizer->open();
  check_folder_of(words, s, *tokenizer);
  auto m = serve::model_of(words, s, tokenizer, {chat_template, date});
  if (!model_name.empty()) m.name = model_name;
  m.most_choices = max_n;
  m.most_prompts = queue;
  m.most_tokens = max_tokens;
  return on_mesh({s, tokenizer, "serve"}, [&](const Mesh& mesh) { return answer(s, m, mesh); });
}
}  // namespace
template const bool added<Serve>;
}  // namespace bora::app
