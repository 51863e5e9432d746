// task_scores.h -- how many questions of a task a model answers, by lm-evaluation-harness's definitions: bora score
// --tasks.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bora::job {
struct TrainedRun;
struct TaskMetric {             // of a task
  std::string name = {};        // acc, acc_norm, exact_match
  double value = 0;             // the mean over the items that it is about
  double standard_error = 0;    // of that mean; 0 for a single item
};
struct TaskScore {               // of one file
  std::string task = {};         // the file's name without its ending
  std::int64_t items = 0;        // in it
  std::vector<TaskMetric> metrics = {};
};
struct TaskScores {               // of score_tasks
  std::vector<TaskScore> all = {};  // in the order of the files; on rank 0
  int rank = 0;                     // of this process
};
/// Scores all items of files, a line of JSON each, with a run, or a folder of Hugging Face's, on the job's mesh; the
/// layout is that of settings_to_generate.
///   {"context": "..", "choices": ["..", ".."], "answer": 0}: acc counts items whose right choice has the highest
///     log-likelihood behind context and delimiter (" "), acc_norm those where it has the highest one divided by the
///     choice's number of characters.
///   {"context": "..", "answer": "..", "until": ["\n\n"], "length": 256}: exact_match counts items where the likeliest
///     tokens, up to one of `until`, are the answer, or one of several; perhaps with ignore_case, ignore_punctuation.
/// Throws ConfigError, before the job begins, for a bad line, which is named by its number; IoError for a file that
/// cannot be read; ValueError for results that are not finite.
/// Source: lm-evaluation-harness 0.4 (Gao et al.), its tasks and metrics.
TaskScores score_tasks(const TrainedRun&, const std::vector<std::string>& files, std::string_view command);
}  // namespace bora::job
