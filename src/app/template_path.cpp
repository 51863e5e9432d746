#include <algorithm>
#include <filesystem>
#include "app/companions.h"
#include "app/settings.h"
#include "bora/data/data.h"
#include "bora/text/chat.h"

namespace fs = std::filesystem;
namespace bora::app {
Settings with_absolute_template(Settings s) {
  auto d = s.data.write();
  auto task = d.find("task"), path = task ? task->find("chat_template") : nullptr;
  if (!path) return s;
  auto names = text::chat_template_names();
  std::error_code error;
  bool known = std::count(names.begin(), names.end(), path->text) > 0;
  if (!(known ? fs::is_directory(path->text, error) : fs::exists(path->text, error))) return s;
  path->text = data::absolute_path(path->text);
  s.data.read(d, "data", config::schema(s.data));
  return s;
}
}  // namespace bora::app
