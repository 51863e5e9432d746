#include "bora/array/source.h"
#include "bora/array/scope.h"
#include "bora/base/error.h"
#include <backtrace.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <algorithm>
#include <mutex>
#include <string_view>

namespace bora {
namespace {
constexpr int kFrames = static_cast<int>(std::tuple_size_v<decltype(Source::frames)>);
thread_local SourcePtr scoped_source;
thread_local std::string named_scope;
[[maybe_unused]] const bool errors_know_places = (
    CallError::call_site = [] { return describe(*current_source()); }, true);

/// Addresses of the shared object that holds this code; none if it is linked into the program itself.
struct Library {
  std::uintptr_t from = 0, to = 0;
  bool holds(const void* p) const {
    auto a = reinterpret_cast<std::uintptr_t>(p);
    return from <= a && a < to;
  }
};
int on_object(dl_phdr_info* object, std::size_t, void* data) {
  Library l{UINTPTR_MAX, 0};
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    auto& h = object->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    auto at = static_cast<std::uintptr_t>(object->dlpi_addr + h.p_vaddr);
    l = {std::min(l.from, at), std::max(l.to, at + h.p_memsz)};
  }
  if (!l.holds(reinterpret_cast<const void*>(&on_object))) return 0;
  bool program = std::string_view(object->dlpi_name).empty();
  if (!program) *static_cast<Library*>(data) = l;
  return 1;
}
const Library& this_library() {
  static const Library found = [] {
    Library l;
    ::dl_iterate_phdr(on_object, &l);
    return l;
  }();
  return found;
}
}  // namespace
SourceScope::SourceScope(const SourcePtr& source) : saved_(scoped_source) {
  if (source) scoped_source = source;
}
SourceScope::~SourceScope() { scoped_source = saved_; }
NamedScope::NamedScope(std::string_view name) : saved_(named_scope) {
  if (!named_scope.empty()) named_scope += '/';
  named_scope += name;
}
NamedScope::~NamedScope() { named_scope = std::move(saved_); }
SourcePtr current_source() {
  if (scoped_source) return scoped_source;
  auto captured = std::make_shared<Source>();
  Source& s = *captured;
  s.scope = named_scope;
  std::array<void*, 40> all{};
  int n = ::backtrace(all.data(), static_cast<int>(all.size()));
  auto& ours = this_library();
  for (int i = 1; i < n && s.count < kFrames; ++i)
    if (auto* frame = all[static_cast<std::size_t>(i)]; !ours.holds(frame))
      s.frames[static_cast<std::size_t>(s.count++)] = frame;
  return captured;
}
namespace {
struct Line {
  std::string file;
  int line = 0;
};
/// Is the frame in the C or C++ runtime? With its debug information installed it has lines too.
bool of_run_time(const void* frame) {
  Dl_info object{};
  if (::dladdr(frame, &object) == 0 || !object.dli_fname) return false;
  std::string_view path = object.dli_fname, name = path.substr(path.rfind('/') + 1);
  auto named = [&](std::string_view library) { return name.starts_with(library); };
  return named("libc.so") || named("libstdc++.so") || named("libc++.so") || named("libgomp.so") || named("ld-linux");
}
/// Is it a header of ours or of the standard library? Their templates are compiled into the user's code.
bool of_header(std::string_view file) {
  return file.find("include/bora/") != file.npos || file.find("include/c++/") != file.npos;
}
int on_frame(void* data, std::uintptr_t, const char* file, int line, const char*) {
  if (!file || line == 0 || of_header(file)) return 0;
  *static_cast<Line*>(data) = {file, line};
  return 1;  // the innermost inlined frame of the user's code
}
void ignore_error(void*, const char*, int) {}
}  // namespace
std::string describe(const Source& s) {
  static std::mutex m;
  std::lock_guard l(m);  // libbacktrace's state is built on first use
  static auto* state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  std::string place = s.scope;
  if (!state) return place;
  for (int i = 0; i < s.count; ++i) {
    auto* frame = s.frames[static_cast<std::size_t>(i)];
    if (of_run_time(frame)) continue;
    Line found;
    backtrace_pcinfo(state, reinterpret_cast<std::uintptr_t>(frame) - 1, on_frame, ignore_error, &found);
    if (found.line == 0) continue;
    auto name = found.file.substr(found.file.rfind('/') + 1);
    return place + (place.empty() ? "" : ", ") + name + ":" + std::to_string(found.line);
  }
  return place;
}
}  // namespace bora
