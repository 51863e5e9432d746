#include "bora/job/task_scores.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include "bora/generate/engine.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/prompt.h"
#include "bora/job/scoring.h"
#include "bora/job/served_model.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/models/stepper.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/tree.h"
#include "job/pair_rows.h"
#include "job/task_items.h"

namespace bora::job {
namespace {
struct File {
  std::string task;
  std::vector<TaskItem> items;
  std::map<std::string, std::vector<double>> hits = {};  // 0 or 1 of each item, by metric
};
/// The number of the largest; of several the first.
std::size_t largest(const std::vector<double>& x) {
  return static_cast<std::size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}
TaskMetric metric_of(const std::string& name, const std::vector<double>& hits) {
  auto n = static_cast<double>(hits.size());
  double sum = 0, squares = 0;
  for (auto x : hits) sum += x;
  for (auto x : hits) squares += (x - sum / n) * (x - sum / n);
  return {name, sum / n, n > 1 ? std::sqrt(squares / (n - 1) / n) : 0};
}
/// Items with choices: each choice is a pair.
struct Choices {
  std::vector<File>& files;
  PairRows rows;
  Choices(std::vector<File>& f, const TrainedRun& run, const Settings& s,
          const std::shared_ptr<const text::Tokenizer>& tokenizer)
      : files(f), rows(run, s, tokenizer) {
    for (auto& file : files)
      for (auto& item : file.items)
        for (auto& choice : item.choices) rows.add({item.context, item.delimiter + choice}, item.where);
  }
  void take(const std::vector<PairScore>& scores) {
    std::size_t at = 0;
    for (auto& file : files)
      for (auto& item : file.items) {
        if (item.choices.empty()) continue;
        std::vector<double> plain, normed;
        for (auto& choice : item.choices) {
          plain.push_back(scores[at++].logprob);
          normed.push_back(plain.back() / static_cast<double>(characters(choice)));
        }
        file.hits["acc"].push_back(largest(plain) == item.answer);
        file.hits["acc_norm"].push_back(largest(normed) == item.answer);
      }
  }
};
/// Items whose answers are generated.
struct Written {
  File* file;
  const TaskItem* item;
  generate::Request request;
  std::string text = {}, error = {};
};
std::vector<Written> requests_of(std::vector<File>& files, const TrainedRun& run, const Settings& s,
                                 const text::Tokenizer& tokenizer) {
  std::vector<Written> all;
  auto positions = s.model->positions();
  auto start = s.model->decoder_start();
  for (auto& file : files)
    for (auto& item : file.items) {
      if (!item.choices.empty()) continue;
      auto room = positions - (start ? 1 : 0) - item.length;
      check<ConfigError>(start ? room >= 0 : room > 0, item.where, ": length: ", item.length,
                         " tokens leave none of the model's ", positions, " positions to the context; set it lower");
      auto ids = prompt_ids(run, s, tokenizer, item.context, true);
      check<ConfigError>(!ids.empty(), item.where, ": context: it has no token; a model begins with one or more");
      generate::Request r{.choosing = {.temperature = 0}, .max_tokens = item.length, .stop = item.until};
      if (start) {
        auto end = tokenizer.end_of_text();
        if (end && ids.back() != *end) ids.push_back(*end);
        r.inputs = std::move(ids), r.prompt = {*start};
      } else {  // it loses its begin, as the harness's does
        if (auto over = std::ssize(ids) - room; over > 0) ids.erase(ids.begin(), ids.begin() + over);
        r.prompt = std::move(ids);
      }
      all.push_back({&file, &item, std::move(r)});
    }
  return all;
}
void write(std::vector<Written>& all, const TrainedRun& run, const Settings& s,
           const std::shared_ptr<const text::Tokenizer>& tokenizer, const Mesh& mesh) {
  ServedModel served(run, s, *tokenizer, mesh);
  generate::Engine engine(served.stepper(), tokenizer, mesh,
                          {.queue = std::max<std::int64_t>(1, std::ssize(all)),
                           .replicas = served.replicas(),
                           .ends = end_ids(run, *tokenizer),
                           .encoder = s.model->decoder_start().has_value()});
  if (mesh.rank() == 0)
    for (auto& w : all) {
      generate::Listener listener;
      listener.token = [&w](std::int64_t, const generate::Chosen&, const std::string& text) { w.text += text; };
      listener.end = [&w](std::int64_t, const generate::Listener::End& e) { w.text += e.text, w.error = e.error; };
      try {
        bool taken = engine.submit(w.request, listener).has_value();
        check<ValueError>(taken, w.item->where, ": the engine takes no request");
      } catch (const ValueError& e) { fail<ConfigError>(w.item->where, ": ", e.text()); }
    }
  engine.run(true);
  if (mesh.rank() != 0) return;
  for (auto& w : all) {
    check<ValueError>(w.error.empty(), w.item->where, ": ", w.error);
    w.file->hits["exact_match"].push_back(matches(*w.item, w.text));
  }
}
}  // namespace

TaskScores score_tasks(const TrainedRun& run, const std::vector<std::string>& paths, std::string_view command) {
  std::vector<File> files;
  for (auto& path : paths) files.push_back({std::filesystem::path(path).stem().string(), read_items(path)});
  auto s = settings_to_generate(run, command);
  s.mesh.microbatches = 0;  // the run's were of its batch
  auto tokenizer = s.tokenizer->open();
  check_folder_of(run, s, *tokenizer);
  Choices choices(files, run, s, tokenizer);
  auto written = requests_of(files, run, s, *tokenizer);
  TaskScores scores;
  auto purpose = std::string(command) + " of " + choices.rows.digest() + " and " + std::to_string(written.size());
  on_mesh({s, tokenizer, purpose}, [&](const Mesh& mesh) {
    scores.rank = mesh.rank();
    if (choices.rows.size() > 0) {
      auto model = scorer_of(s, *tokenizer, mesh.shape());
      read_parameters(model->parameters(), find_checkpoint(run, mesh), s, run, mesh);
      try {
        choices.take(choices.rows.score(*model, vocabulary_of(s, *tokenizer), mesh.size()));
      } catch (const NotFiniteResult& r) { fail_not_finite(r.text(), model->parameters(), s); }
    }
    if (!written.empty()) write(written, run, s, tokenizer, mesh);
    return 0;
  });
  if (scores.rank != 0) return scores;
  for (auto& file : files) {
    auto& score = scores.all.emplace_back(TaskScore{file.task, std::ssize(file.items)});
    for (auto& [name, hits] : file.hits) score.metrics.push_back(metric_of(name, hits));
  }
  return scores;
}
}  // namespace bora::job
