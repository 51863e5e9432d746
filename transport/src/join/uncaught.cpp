#include "join/uncaught.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <thread>
#include "bora/base/text.h"
#include "bora/transport/transport.h"

namespace bora::transport {
namespace {
constexpr auto kLastWords = std::chrono::milliseconds(300);  // in which others hear from this process whom they lost

[[noreturn]] void end(const char* why, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "bora: %s\n", why);
  std::this_thread::sleep_for(kLastWords);
  std::_Exit(code);
}
[[noreturn]] void on_terminate() {
  try {
    if (auto e = std::current_exception()) std::rethrow_exception(e);
  } catch (const RankLost& e) { end(one_line(e.what()).c_str(), 86); } catch (const Error& e) {
    end(one_line(e.what()).c_str(), 2);
  } catch (const std::bad_alloc&) { end("out of memory", 2); } catch (...) {}
  __gnu_cxx::__verbose_terminate_handler();
  std::abort();
}
}  // namespace

void end_in_order_if_uncaught() {
  if (std::get_terminate() == __gnu_cxx::__verbose_terminate_handler) std::set_terminate(on_terminate);
}
}  // namespace bora::transport
