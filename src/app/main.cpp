// bora -- one command. Exit codes: 0 done, 2 bad input, 86 a rank was lost, 130 interrupted. Errors are one line that
// begins with "bora: ".
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/base/visible.h"
#include "base/api/stack.h"
#include "base/api/threads.h"
#include "bora/transport/transport.h"
#include "commands.h"
#include "launch/api/bus_error.h"

namespace {
using bora::one_line;
/// Standard output, where it is a terminal: texts of models, files and hosts pass there too.
struct Terminal {
  bora::Visible text = {};
  static bool write(std::string_view text) {
    while (!text.empty()) {
      auto n = ::write(1, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  static ssize_t take(void* self, const char* bytes, std::size_t n) {
    auto shown = static_cast<Terminal*>(self)->text.next({bytes, n});
    return write(shown) ? static_cast<ssize_t>(n) : 0;
  }
  /// All that the process prints from now on goes through it.
  void open() {
    if (::isatty(1) != 1) return;
    auto file = ::fopencookie(this, "w", {.read = nullptr, .write = take, .seek = nullptr, .close = nullptr});
    if (file && std::setvbuf(file, nullptr, _IOLBF, BUFSIZ) == 0) stdout = file;
  }
  bool finish() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && write(text.finish()); }
};
Terminal& terminal() {
  static Terminal one;
  return one;
}
/// Prints an error. Every error of the command passes here: one line, whatever values it quotes.
int say(const std::string& text, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "bora: %s\n", one_line(text).c_str());
  return code;
}
/// Opens closed descriptors among 0 to 2; otherwise the next opened files would get these numbers, and receive the
/// output. They are opened read-only: output still fails, as it should.
void occupy_standard_files() {
  for (int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDONLY);
}
/// Output waits for its reader. A pipe or terminal that another program made non-blocking is opened anew, for this
/// process alone: else what does not fit into it now would be lost.
void wait_for_readers() {
  for (int fd : {1, 2}) {
    struct ::stat s {};
    auto flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || !(flags & O_NONBLOCK) || ::fstat(fd, &s) != 0 || !(S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode)))
      continue;
    auto path = "/proc/self/fd/" + std::to_string(fd);
    int fresh = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);  // its reader may have gone
    if (fresh < 0) continue;
    if (::fcntl(fresh, F_SETFL, flags & O_APPEND) == 0) ::dup2(fresh, fd);
    ::close(fresh);
  }
}
/// Output must have been written; of a command that only prints, as far as its reader wanted it.
int finish(int code, bool only_prints) {
  bool arrived = terminal().finish();
  ::pollfd out{1, 0, 0};
  bool gone = !arrived && ::poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
  if (arrived || (only_prints && gone)) return code;
  return say("cannot write to standard output: it is full or closed", code == 0 ? 2 : code);
}
/// Some libraries abort when the system refuses a resource. The one error line is printed even then.
void on_abort(int) {
  constexpr char line[] = "bora: a library ended the process, because of what is said above\n";
  for (int attempt = 0; attempt < 10 && ::write(2, line, sizeof line - 1) < 0;) ++attempt;
  ::_exit(2);
}
int out_of_memory() {
  ::rlimit limit{};
  bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return say(limited
                 ? "out of memory: this process may have " + std::to_string(limit.rlim_cur >> 20) + " MiB (ulimit -v)"
                 : "out of memory",
             2);
}
}  // namespace

int main(int argc, char** argv) {
  occupy_standard_files();
  wait_for_readers();
  terminal().open();
  std::signal(SIGABRT, on_abort);
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit (ulimit -f) returns an error
  std::signal(SIGUSR1, SIG_IGN);  // asks for a checkpoint, and must not end a run that has no step yet
  std::signal(SIGPIPE, SIG_IGN);  // so does one to a reader that has gone: a run goes on, and says so at its end
  // Otherwise glibc raises this threshold whenever a large block is freed. Its heap then keeps the gaps left by blocks
  // of a megabyte, which oneDNN allocates and frees in some products: 20 MiB in a run of 330.
  ::mallopt(M_MMAP_THRESHOLD, 512 << 10);
  bora::launch::explain_bus_errors();
  bora::transport::dump_on_sigusr2();
  bora::take_short_turns();
  // No other loops of OpenMP run here, and beside other work Bora's own threads are faster (docs/design/base.md). Ranks
  // that `bora launch` starts inherit it.
  ::setenv("BORA_EXECUTOR", "team", 0);
  try {
    bora::check_stack();
    auto command = bora::app::parse_command(argc, argv);
    return finish(command ? command->run() : 0, !command || command->only_prints());
  } catch (const bora::transport::RankLost& e) {
    return say(e.what(), 86);
  } catch (const bora::Error& e) {  // if several ranks report the same error, the launcher shows one
    return say(e.text(), 2);
  } catch (const std::filesystem::filesystem_error& e) {
    return say(e.path1().empty() ? e.what() : e.path1().string() + ": " + e.code().message(), 2);
  } catch (const std::bad_alloc&) { return out_of_memory(); } catch (const std::exception& e) {
    return say(std::string("internal error: ") + e.what(), 2);  // 86 is for lost ranks
  }
}
