// job.h -- the job of a run, as one of its ranks takes part in it: opened from settings, trained, evaluated.
//   job::Job job = job::Job::open(job::load_settings("gpt.yaml", {"steps=100"}));
//   return job::train(job);
// `bora launch -n N -- PROGRAM` starts such a program on N ranks.
#pragma once
#include <functional>
#include "bora/job/settings.h"
#include "bora/track/page.h"
#include "bora/transport/transport.h"

namespace bora::training {
class Membership;
}  // namespace bora::training

namespace bora::job {
struct TrainedRun;
/// Options of one process, beside the settings of the job.
struct JobContext {
  Resume resume = Resume::latest;                    // which checkpoint the run continues
  bool pipeline = true;                              // see CompileOptions
  std::vector<transport::Option> transport = {};     // over those of the settings
  bora::training::Membership* membership = nullptr;  // of an elastic job
  track::ServePage serve_page = {};                  // serves the run's page, where the settings want it
};
/// Settings that were checked, and their tokenizer, for the ranks that the environment describes (BORA_RANK, ..).
struct Job {
  Settings settings;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string purpose = "train";  // must be the same on all ranks
  JobContext context = {};
  /// Makes the mesh of a generation from that of the settings, before its first operation; every rank calls it.
  std::function<MeshShape(const MeshShape&, transport::Context&)> settle_mesh = {};
  /// A job that trains. Makes all checks that need no other rank, and opens the tokenizer. Paths of the settings become
  /// absolute. Throws ConfigError, and IoError for files that cannot be read.
  static Job open(const Settings&, const JobContext& = {});
};
/// Trains the model on the job's mesh; rank 0 prints and writes the run's folder (settings.out). Continues in the next
/// generations of an elastic job. Returns 0, or 130 if the run stopped because a rank was asked to. Throws the errors
/// of run_training and of Mesh; RankLost too if this rank was drained from a job that goes on.
int train(Job);
/// The loss of a trained run, or of a folder of Hugging Face's, on the held-out text of its data.
struct Evaluation {
  std::string checkpoint;    // the folder that was read
  track::Values values = {};  // the loss, then further metrics
  int rank = 0;              // of this process
  bool pairs = false;        // of answers, of which one is preferred: the loss is none of tokens
};
/// All ranks of the job call it, and have the same values. Throws ConfigError, CheckpointError, IoError.
Evaluation evaluate(const TrainedRun&);

/// Joins the job and calls f on its mesh, inside the layout's mapping; the other ranks stop waiting for a rank whose f
/// throws. Returns f's result.
int on_mesh(const Job&, const std::function<int(const Mesh&)>& f);
/// Gives what this process holds to the heirs, ranks of a mesh of all that were left (Membership::heirs).
using HandOver = std::function<void(const Mesh&, const std::vector<int>& heirs)>;
/// As on_mesh, in each generation of an elastic job (run_generations): after a loss, or where f returns kNextGeneration
/// on all ranks, they meet again, with others, and f is called again.
int on_meshes(const Job&, const HandOver&, const std::function<int(const Mesh&)>& f);
/// The mesh of the job. Throws ConfigError for settings that do not fit it, or that leave a rank without a part of a
/// split dimension.
MeshShape checked_mesh(const Settings&, const text::Tokenizer&, int ranks, std::string_view purpose = "train");
/// The stages and microbatches of a pipeline, with its bubble, as a line of a plan; empty: the mesh has no stages.
std::string stages_text(const Settings&, const MeshShape&);
/// The transport's options that the settings give, over the environment's.
std::vector<transport::Option> options_in(const Settings&);
/// Threads of this rank: the setting, or its share of the cores.
void set_threads(const Settings&, int ranks_here);
}  // namespace bora::job
