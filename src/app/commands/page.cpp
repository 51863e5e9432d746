// Draws runs as a page, one file of HTML: side by side if there are several.
#include <cstdio>
#include "app/commands.h"
#include "bora/base/text.h"
#include "bora/track/page.h"

namespace bora::app {
namespace {
struct Page {
  static constexpr std::string_view name = "page", help = "runs as charts, compared, in one file of HTML";
  static constexpr Row row{.place = 62};
  std::vector<std::string> runs = {};
  std::string out = {};

  void declare(Flags& flags) {
    flags.add("RUN", runs, "folders of runs, which may still go on").required().names(Names::input);
    flags.add("--out", out, "the file to write").required().names(Names::output);
  }
  int run() const {
    track::write_report(out, runs);
    std::printf("page: %s\n", one_line(out).c_str());
    return 0;
  }
};
}  // namespace
template const bool added<Page>;
}  // namespace bora::app
