#include <cstdio>
#include "bora/base/text.h"
#include "track/api/run_page.h"
#include "train/hooks.h"
#include "train/monitor/rank_numbers.h"

namespace bora::training {
namespace {
constexpr std::string_view kMetrics = "metrics.jsonl";  // what the page draws
class ShownPage final : public LoopHook {
 public:
  void begin(Run& run) override {
    on_first(run.mesh, "run: its page", [&] { begin_first(run); });
    // In the generation before this process may have had the first rank.
    if (run.mesh.rank() != 0 && run.settings.serve_page) run.settings.serve_page({});
  }
  void after_step(Run& run, const StepReport&) override {
    if (!page_ || run.saved.step == saved_) return;
    saved_ = run.saved.step;
    page_->report();
  }
  void end(Run& run) override {
    // Not into a folder that is gone, or that others have.
    if (!page_ || run.out != folder_ || !run.folder->mine()) return;
    try {
      page_->finish();
    } catch (const IoError& e) { run.warn(std::string("the page of the run is not written: ") + e.what()); }
  }

 private:
  void begin_first(Run& run) {
    auto& s = run.settings;
    bool drawn = false;
    for (auto& kind : s.trackers) drawn = drawn || kind->file() == kMetrics;
    if (!drawn) return;
    folder_ = run.out;
    page_ = std::make_unique<track::page::RunPage>(
        track::page::RunPage::Options{
            .folder = run.out, .settings = s.settings, .ranks = computed_since_last(run.board)});
    if (!s.page.on()) return;
    if (!s.serve_page) return run.warn("page: this program serves none; bora train does");
    page_->watch();
    try {
      // The address has the page's token, which is for who started the run and no log.
      for (auto& line : s.serve_page(page_->source())) std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    } catch (const Error& e) {
      if (!run.met_before()) throw;
      run.warn("page: " + std::string(e.text()) + "; the run goes on without it");
    }
  }
  std::unique_ptr<track::page::RunPage> page_ = {};
  std::string folder_ = {};
  std::int64_t saved_ = -1;  // the last checkpoint that was seen
};
}  // namespace
LoopHookPtr page_hook() { return std::make_unique<ShownPage>(); }
}  // namespace bora::training
