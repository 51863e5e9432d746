#include "bora/array/source.h"
#include <backtrace.h>
#include <cxxabi.h>
#include <execinfo.h>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace bora {
namespace {
constexpr int kFrames = static_cast<int>(std::tuple_size_v<decltype(Source::frames)>);
thread_local SourcePtr scoped_source;
}
SourceScope::SourceScope(const SourcePtr& source) : saved_(scoped_source) { if (source) scoped_source = source; }
SourceScope::~SourceScope() { scoped_source = saved_; }
SourcePtr current_source() {
  if (scoped_source) return scoped_source;
  auto captured = std::make_shared<Source>();
  Source& s = *captured;
  std::array<void*, 40> all{};
  int n = ::backtrace(all.data(), static_cast<int>(all.size()));
  for (int i = 1; i < n && s.count < kFrames; ++i) s.frames[static_cast<std::size_t>(s.count++)] = all[static_cast<std::size_t>(i)];
  return captured;
}
namespace {
struct Line {
  std::string file, function;
  int line = 0;
};
/// Is this function the library's own: in namespace bora, or one of its templates called with lambdas of its own?
bool of_library(const std::string& demangled) {
  std::string_view f = demangled;
  for (std::string_view type : {"auto ", "void ", "decltype(auto) ", "std::"})
    if (f.starts_with(type) && type != "std::") f.remove_prefix(type.size());
  auto name_end = f.find('(');
  auto head = f.substr(0, name_end);
  auto space = head.rfind(' ');                       // a return type in front of a template's name
  if (space != std::string_view::npos && head.find('<') > space) head.remove_prefix(space + 1);
  return f.starts_with("bora::") || head.starts_with("bora::") || f.starts_with("std::") || f.find(" bora::") < f.find('(');
}
int on_frame(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  auto* found = static_cast<Line*>(data);
  if (!file || !function) return 0;
  int status = 0;
  char* d = abi::__cxa_demangle(function, nullptr, nullptr, &status);
  std::string name = status == 0 && d ? d : function;
  std::free(d);
  if (of_library(name) || std::string_view(file).find("include/bora/") != std::string_view::npos) return 0;      // templates of our headers
  *found = {file, name, line};
  return 1;                                           // the innermost of inlined frames that is the user's
}
void ignore_error(void*, const char*, int) {}
}  // namespace
std::string describe(const Source& s) {
  static std::mutex m;
  std::lock_guard l(m);                               // libbacktrace's state is built on first use
  static auto* state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  std::string place = s.scope;
  if (!state) return place;
  for (int i = 0; i < s.count; ++i) {
    Line found;
    backtrace_pcinfo(state, reinterpret_cast<std::uintptr_t>(s.frames[static_cast<std::size_t>(i)]) - 1, on_frame, ignore_error, &found);
    if (found.line == 0) continue;
    auto slash = found.file.rfind('/');
    return place + (place.empty() ? "" : ", ") + (slash == std::string::npos ? found.file : found.file.substr(slash + 1)) + ":" + std::to_string(found.line);
  }
  return place;
}
}  // namespace bora
