#include "array/api/source.h"
#include "bora/array/scope.h"
#include "bora/base/error.h"
#include <backtrace.h>
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>
#include <algorithm>
#include <mutex>
#include <string_view>

namespace bora {
namespace {
constexpr int kFrames = static_cast<int>(std::tuple_size_v<decltype(Source::frames)>);
constexpr std::size_t kDepth = 64;  // frames among which those of the user are looked for
thread_local SourcePtr scoped_source;
thread_local std::string named_scope;
[[maybe_unused]] const bool errors_know_places = (
    CallError::name_places_by([] { return describe(*current_source()); }), true);

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

/// The call stack of one thread: a call returns to `pc`, which stands in memory just below `above`.
struct Frame {
  std::uintptr_t above, pc;
  __attribute__((no_sanitize("address", "thread"))) bool stands() const {
    return *reinterpret_cast<const std::uintptr_t*>(above - sizeof(std::uintptr_t)) == pc;
  }
};
struct Stack {
  std::array<Frame, 128> frames;  // innermost first
  std::size_t count;
  bool whole;  // to the thread's beginning
};
/// The last one that was walked. Unwinding is a quarter of the time in which models are staged and compiled, and most
/// captures differ from the one before in a few inner frames: the walk ends at the first call that still stands with
/// all calls around it.
thread_local Stack last_stack = {};
struct Walk {
  Stack stack;
  std::size_t at = 0;  // in the last stack
  bool calls = true;   // no frame of a signal, whose pc stands nowhere
};
_Unwind_Reason_Code on_call(_Unwind_Context* context, void* data) {
  auto& w = *static_cast<Walk*>(data);
  Frame f{_Unwind_GetCFA(context), _Unwind_GetIP(context)};
  if (f.pc == 0) return _URC_END_OF_STACK;
  auto& last = last_stack;
  while (w.at < last.count && last.frames[w.at].above < f.above) ++w.at;
  auto rest = last.count - w.at;
  if (rest > 0 && last.frames[w.at].above == f.above && last.frames[w.at].pc == f.pc &&
      (last.whole || w.stack.count + rest >= kDepth) &&
      std::all_of(last.frames.begin() + w.at, last.frames.begin() + last.count, [](auto& x) { return x.stands(); })) {
    auto n = std::min(rest, w.stack.frames.size() - w.stack.count);
    std::copy_n(last.frames.begin() + w.at, n, w.stack.frames.begin() + w.stack.count);
    w.stack.count += n;
    w.stack.whole = last.whole && n == rest;
    return _URC_NORMAL_STOP;
  }
  if (w.stack.count == w.stack.frames.size()) {
    w.stack.whole = false;
    return _URC_NORMAL_STOP;
  }
  w.stack.frames[w.stack.count++] = f;
  w.calls = w.calls && f.stands();
  return _URC_NO_REASON;
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
  Walk walk;
  walk.stack.count = 0, walk.stack.whole = true;
  ::_Unwind_Backtrace(on_call, &walk);
  auto& stack = walk.stack;
  auto& ours = this_library();
  for (std::size_t i = 1; i < std::min(stack.count, kDepth) && s.count < kFrames; ++i)
    if (auto* frame = reinterpret_cast<void*>(stack.frames[i].pc); !ours.holds(frame))
      s.frames[static_cast<std::size_t>(s.count++)] = frame;
  last_stack.count = walk.calls ? stack.count : 0;
  last_stack.whole = stack.whole;
  std::copy_n(stack.frames.begin(), last_stack.count, last_stack.frames.begin());
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
