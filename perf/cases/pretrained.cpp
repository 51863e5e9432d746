// pretrained.cpp -- training steps of models in folders of Hugging Face's, which perf/peers/transformers_peer.py makes.
// BORA_COMPARE_MODELS names the place of these folders: both sides begin with the same tensors.
#include <cstdlib>
#include <memory>
#include "bora/bora.h"
#include "bora/models/lm.h"
#include "bora/models/peft.h"
#include "bora/models/pretrained.h"
#include "bora/optim/optim.h"
#include "bora/train/trainer.h"
#include "cases.h"

namespace cases {
namespace {
using namespace bora;
using models::Pretrained;
struct Job {
  std::string folder;
  std::int64_t batch, tokens, inputs;  // inputs: of an encoder; 0: it has none
  bool lora = false;
  bool classes = false;  // of whole texts; else tokens are predicted
  double rate = 1e-4;
  Policy policy = {};
};

class Training {
 public:
  explicit Training(const Job& job) : folder_(folder_of(job)), pretrained_(Pretrained::open(folder_)) {
    auto vocabulary = static_cast<std::uint32_t>(pretrained_.vocabulary);
    auto drawn = [&](std::uint32_t seed, const char* along, std::int64_t n) {
      return NamedArray(integers(seed, {job.batch, n}, vocabulary), {{nn::kBatch, job.batch}, {along, n}});
    };
    auto& e = batch_.example;
    e.targets = drawn(2, nn::kPosition, job.tokens);
    e.weights = ones(e.targets.axes());
    if (job.classes) {
      e.tokens = drawn(1, nn::kPosition, job.tokens);
      e.weights = broadcast_to((arange(e.tokens.axis(nn::kPosition)) == 0).astype(f32), e.tokens.axes());
      auto labels = static_cast<std::uint32_t>(std::ssize(pretrained_.model->labels()));
      auto classes = broadcast_to(NamedArray(integers(2, {job.batch}, labels), {{nn::kBatch, job.batch}}),
                                  e.tokens.axes());
      e.targets = where(e.weights != 0.0, classes, 0);
    } else if (job.inputs == 0) {
      e.tokens = drawn(1, nn::kPosition, job.tokens);
    } else {
      auto start = full({job.batch, 1}, *pretrained_.model->decoder_start(), i32);
      auto before = slice(e.targets.array(), {0, 0}, {job.batch, job.tokens - 1});
      e.tokens = NamedArray(concatenate({start, before}, 1), e.targets.axes());
      e.inputs = drawn(1, nn::kInput, job.inputs);
      e.input_mask = named(ones({job.batch, job.inputs}, i32), e.inputs->axes());
    }
    batch_.notes = zeros({1, 2});
    auto settings = pretrained_.model.write();
    settings.at("checkpoint") = config::scalar("everything");  // as the peers: nothing is computed twice
    pretrained_.model.read(settings, "model", config::schema(pretrained_.model));
    if (job.lora) tuning_.lora = {.rank = 8, .alpha = 16};
    auto optimizer = optim::adamw({.learning_rate = job.rate, .b2 = 0.95, .weight_decay = 0.1});
    model_ = pretrained_.model->trainable({.vocabulary = pretrained_.vocabulary,
                                           .policy = job.policy,
                                           .step = StepOptions{.optimizer = optimizer, .learning_rate = job.rate},
                                           .tuning = tuning_});
    begin();
  }
  void begin() {
    UseMesh use(mesh_);
    model_->init(random::key(0));
    auto& kind = *pretrained_.model;
    auto weights = tuning_.lora ? model_->base() : model_->parameters();
    models::load_pretrained(weights, folder_, kind, pretrained_.vocabulary);
    if (tuning_.lora) models::load_adapters(model_->parameters(), folder_ + "/adapters", kind, tuning_.lora);
  }
  Array run() {
    UseMesh use(mesh_);
    UseMapping rows(rows_);
    return model_->step(batch_);
  }
  Values losses() {
    begin();
    std::vector<double> r;
    for (int i = 0; i < 3; ++i) r.push_back(static_cast<double>(run().to_vector<float>()[0]));
    return {{"losses", r}};
  }

 private:
  static std::string folder_of(const Job& job) {
    auto models = std::getenv("BORA_COMPARE_MODELS");
    check<ConfigError>(models != nullptr, "BORA_COMPARE_MODELS names no folder of models; ./run bench compare sets it");
    return std::string(models) + "/" + job.folder;
  }
  Mesh mesh_ = Mesh::from_environment({{"data", -1}});  // of one process too: folders are read by meshes
  AxisMapping rows_ = {{nn::kBatch, "data"}};
  std::string folder_;
  Pretrained pretrained_;
  models::Tuning tuning_ = {};
  std::unique_ptr<Trainable> model_;
  GlobalBatch batch_;
};
Case training(const Job& job) {
  auto t = std::make_shared<Training>(job);
  return {[t] { (void)t->run().concrete(); }, [t] { return t->losses(); }};
}
Job bert(const std::string& folder) {
  return {.folder = folder, .batch = 8, .tokens = 128, .inputs = 0, .classes = true, .rate = 2e-5};
}
}  // namespace

void add_pretrained(Cases& to) {
  const std::map<std::string, Job> jobs = {{"llama_110m", {"llama_110m", 1, 1024, 0}},
                                           {"lora_110m", {"llama_110m", 1, 1024, 0, true}},
                                           {"t5_small", {"t5_small", 4, 128, 512}},
                                           {"bert_large", bert("bert_large")},
                                           {"bert_ranks_dp", bert("bert_half")}};
  for (auto& [name, job] : jobs) {
    to[name] = [job = job] { return training(job); };
    auto in_bf16 = job;
    in_bf16.policy = Policy::parse("p=f32,c=bf16,o=f32");
    to[name + "_bf16"] = [in_bf16] { return training(in_bf16); };
  }
}
}  // namespace cases
