#include "text/api/jinja.h"
#include "text/jinja/nodes.h"

namespace bora::text {
using namespace jinja;
struct Jinja::Tree {
  Body body;
};
Jinja::Jinja(std::string_view source, std::string place) : place_(std::move(place)) {
  constexpr std::size_t most = 1 << 20;
  check<ConfigError>(source.size() <= most, place_, ": a template of ", source.size(), " bytes, above the limit of ",
                     most);
  try {
    tree_ = std::make_shared<const Tree>(Tree{parse(source)});
  } catch (const ValueError& e) { fail<ConfigError>(place_, ":", e.text()); }
}
Marked Jinja::render(const Names& names, std::optional<std::int64_t> now) const {
  std::size_t bytes = 0;
  for (auto& [name, v] : names) bytes += v.bytes();
  Run run(bytes);
  run.now = now;
  auto scope = std::make_shared<Scope>(Scope{names, {}});
  run.keep(scope);
  Marked out;
  try {
    tree_->body.run(run, scope, out);
  } catch (const ValueError& e) { fail<ConfigError>(place_, ":", run.line, ": ", e.text()); }
  return out;
}
}  // namespace bora::text
