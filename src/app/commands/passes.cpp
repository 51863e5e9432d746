// The compiler's passes.
#include <cstdio>
#include "app/commands.h"
#include "base/api/json.h"
#include "compile/api/passes.h"

namespace bora::app {
namespace {
struct Passes {
  static constexpr std::string_view name = "passes", help = "the compiler's passes in their order, with their options";
  static constexpr Row row{.place = 75, .prints = true};
  bool json = false;

  void declare(Flags& flags) {
    flags.add("--json", json, "prints a JSON list");
    flags.footer([] {
      return std::string("A pass with an option is left out where it is false: CompileOptions in programs, "
                         "--no-pipeline of commands.");
    });
  }
  int run() const {
    if (json) return as_json();
    std::printf("%-24s%-9s%-10s%s\n", "pass", "of", "option", "what it does");
    for (auto& p : exec::passes())
      std::printf("%-24s%-9s%-10s%s\n", std::string(p.name).c_str(), std::string(exec::scope_of(p)).c_str(),
                  std::string(exec::option_of(p)).c_str(), std::string(p.text).c_str());
    return 0;
  }

 private:
  static int as_json() {
    JsonWriter w(JsonWriter::Style::spaced);
    w.list(JsonWriter::Elements::lines);
    for (auto& p : exec::passes()) {
      w.object()("pass", p.name)("of", exec::scope_of(p))("option");
      if (auto option = exec::option_of(p); !option.empty()) w.add(option);
      else w.add(nullptr);
      w("text", p.text).end();
    }
    std::fputs(w.end().take().c_str(), stdout);
    return 0;
  }
};
}  // namespace
template const bool added<Passes>;
}  // namespace bora::app
