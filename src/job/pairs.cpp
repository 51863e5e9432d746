#include "bora/job/pairs.h"
#include "bora/job/job.h"
#include "bora/job/model.h"
#include "bora/job/scoring.h"
#include "bora/job/settings.h"
#include "bora/job/trained_run.h"
#include "bora/models/model.h"
#include "bora/shard/mesh.h"
#include "bora/text/tokenizer.h"
#include "bora/tree/tree.h"
#include "job/pair_rows.h"

namespace bora::job {
PairScores score_pairs(const TrainedRun& run, const std::string& file, std::string_view command) {
  auto pairs = read_pairs(file);
  auto s = settings_to_generate(run, command);
  s.mesh.microbatches = 0;  // the run's were of its batch
  auto tokenizer = s.tokenizer->open();
  check_folder_of(run, s, *tokenizer);
  PairRows rows(run, s, tokenizer);
  for (std::size_t i = 0; i < pairs.size(); ++i) rows.add(pairs[i], file + ": line " + std::to_string(i + 1));
  PairScores scores;
  on_mesh({s, tokenizer, std::string(command) + " of " + rows.digest()}, [&](const Mesh& mesh) {  // all read the same
    auto folder = find_checkpoint(run, mesh);
    auto model = scorer_of(s, *tokenizer, mesh.shape());
    read_parameters(model->parameters(), folder, s, run, mesh);
    try {
      scores.all = rows.score(*model, vocabulary_of(s, *tokenizer), mesh.size());
    } catch (const NotFiniteResult& r) { fail_not_finite(r.text(), model->parameters(), s); }
    scores.rank = mesh.rank();
    return 0;
  });
  return scores;
}
}  // namespace bora::job
