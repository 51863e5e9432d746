// The law of work over the registry of models: a training step of a split batch costs each rank its share, whether
// parameters are split too or not.
#include "bora/optim/config.h"
#include "bora/train/trainer.h"
#include "job/placement.h"
#include "laws/work.h"
#include "models/small.h"

namespace bora::laws::model_work_test {
namespace {
constexpr std::int64_t kRows = 48, kInputs = 5, kEmbed = 16, kLayers = 2;
struct Needs {
  Work step;
  double parameters = 0;  // bytes of all of them
};
Needs needs_of(const models::Model& model, const std::vector<MeshAxis>& axes, const std::string& layout) {
  auto mesh = last_of(axes);
  UseMesh on(mesh);
  auto rules = layout_mappings(parse_layout(layout), mesh.shape());
  LayoutMappings where{job::for_model(rules.storage, model, mesh.shape()),
                       job::for_model(rules.compute, model, mesh.shape())};
  UseMapping split(where.compute);
  optim::AdamWConfig adamw{.lr = 1e-2, .schedule = {.warmup = 0}};
  auto rate = adamw.schedule.make(adamw.lr, 10);
  StepOptions step{.optimizer = adamw.make(rate), .learning_rate = rate, .storage = where.storage};
  models::ModelOptions options{test::kVocabulary, {}, step};
  auto t = model.trainable(options);
  t->init(random::key(5));
  auto mine = rows_of_rank(kRows, mesh);
  data::RowShape shape{.positions = model.positions(), .inputs = model.decoder_start() ? kInputs : 0};
  auto batch = make_batch(test::rows_of_tokens(mine.begin, mine.end, shape), kRows, mesh);
  Needs r;
  r.step = work_of(fx::local_program(t->step_program(batch), t->step_arguments(batch)));
  for (auto& slot : tree::slots(t->parameters()))
    if (slot.leaf.defined()) r.parameters += static_cast<double>(slot.leaf.get().type().nbytes());
  return r;
}
TEST(ModelWork, OfAStepIsSplit) {
  std::size_t turn = 0;
  for (auto& model : test::small_models()) {
    auto one = needs_of(*model, {{"data", 1}}, "dp");
    for (auto& axes : abstract_meshes())
      for (std::string layout : {"dp", "fsdp", "fsdp+tp"}) {
        bool wide = layout == "fsdp+tp";
        if (wide != (axes.size() > 1) || !tried(turn++, 5)) continue;
        auto mine = needs_of(*model, axes, layout);
        auto share = largest_share(kRows, axes);
        auto what = std::string(model->type()) + " " + layout + " on " + laws::name(axes);
        // Parameters that are not split are updated by every rank: 16 operations for each. Along "model" the rows of a
        // rank's norms and sums are whole: in these narrow models an eighth of its work, a half of its memory.
        auto flops = one.step.flops * (wide ? 1.125 : 1) + (layout == "dp" ? 4 * one.parameters / share : 0);
        EXPECT_LE(mine.step.flops, most_of(share, flops)) << what << " of " << one.step.flops;
        auto temporaries = one.step.temporaries * (wide ? 1.55 : 1.05);
        EXPECT_LE(mine.step.temporaries, most_of(share, temporaries) + 3 * one.parameters)
            << what << " of " << one.step.temporaries;
        // Gradients once, and parameters forward and backward; along "model" also the rows in front of and behind each
        // half of a layer, forward, backward and again, those of T5's decoder three times, and sums of OLMo 2's norms.
        auto rows = static_cast<double>(kRows / axes[0].size * model->positions() * kEmbed) * sizeof(float);
        EXPECT_LE(mine.step.received, 3 * one.parameters + (wide ? 13 * kLayers * rows : 0)) << what << mine.step.sent;
      }
  }
}
}  // namespace
}  // namespace bora::laws::model_work_test
