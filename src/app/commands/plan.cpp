// What a step will need on each rank, without training: the ranks are threads of this process.
#include <cstdio>
#include "app/commands.h"
#include "app/host_table.h"
#include "app/job.h"
#include "app/options.h"
#include "bora/train/process.h"

namespace bora::app {
namespace {
struct Plan {
  static constexpr std::string_view name = "plan";
  static constexpr std::string_view help = "what a step will need on each rank of the mesh, without training";
  ConfigWords config = {};
  bool pipeline = true;
  std::int64_t ranks_per_host = 0;

  void declare(Flags& flags) {
    config.declare(flags);
    declare_pipeline(flags, pipeline);
    declare_ranks_per_host(flags, ranks_per_host);
  }
  void settle() { config.settle(); }
  int run() const {
    auto s = config.load();
    check_settings(s);
    auto ranks = ranks_of_mesh(s.mesh.axes);
    check<ConfigError>(ranks <= 64, "plan: ranks are threads of this process here; at most 64, the mesh has ", ranks);
    auto tokenizer = s.tokenizer->open();
    check_rows(s, *tokenizer);
    auto axes = mesh_axes(s, *tokenizer, static_cast<int>(ranks));
    set_threads(s, 1);
    auto at_start = resident_bytes();
    local_mesh(axes, [&](const Mesh& mesh) {
      UseMapping split(mappings_of(s.mesh, mesh.shape()).compute);
      auto options = model_options(s, *tokenizer, mesh.shape());
      options.step->compile.pipeline = pipeline;
      auto model = s.model->trainable(options);
      model->init(random::key(s.seed));
      auto mine = rows_of_rank(s.batch, mesh);
      auto rows = data::Rows::zeros(mine.begin, mine.end, s.data->shape(s.model->positions()));
      auto& shape = mesh.shape();
      auto text = plan_text(*model, make_batch(rows, s.batch, mesh), loop_settings(s, shape), mesh, at_start);
      if (mesh.rank() > 0) return;
      text += placement_text(*model, placement_rules(s.mesh, shape), shape);
      auto over = batch_axes(current_mapping(), shape);
      std::printf("%s  rows of a step:\n%s", text.c_str(), host_table(shape, over, s.batch, ranks_per_host).c_str());
    });
    return 0;
  }
};
[[maybe_unused]] const bool added = add<Plan>({.place = 30});
}  // namespace
}  // namespace bora::app
