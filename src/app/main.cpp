// bora -- one command. Exit codes: 0 done, 2 bad input, 86 a rank was lost, 130 interrupted. Errors are one line that begins "bora: ".
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include "bora/base/error.h"
#include "bora/transport/transport.h"
#include "commands.h"

namespace {
int say(const char* text, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "bora: %s\n", text);
  return code;
}
/// What every rank finds alike is said by one of them.
int say_once(const char* text, int code) {
  auto rank = std::getenv("BORA_RANK");
  return !rank || std::atoi(rank) == 0 ? say(text, code) : code;
}
int run(const bora::app::Arguments& a) {
  using C = bora::app::Arguments::Command;
  switch (a.command) {
    case C::train: return bora::app::train(a);
    case C::launch: return bora::app::launch_ranks(a, std::filesystem::read_symlink("/proc/self/exe").string());
    case C::plan: return bora::app::plan(a);
    case C::eval: return bora::app::eval(a);
    case C::generate: return bora::app::generate(a);
    case C::inspect: return bora::app::inspect(a);
    case C::doctor: return bora::app::doctor();
  }
  return 2;
}
}  // namespace

int main(int argc, char** argv) {
  try {
    auto arguments = bora::app::parse_arguments(argc, argv);
    return arguments ? run(*arguments) : 0;
  } catch (const bora::transport::RankLost& e) {
    return say(e.what(), 86);
  } catch (const bora::TransportError& e) {            // a rank that never arrived, a port in use
    return say(e.what(), 2);
  } catch (const bora::IoError& e) {
    return say(e.what(), 2);
  } catch (const bora::Error& e) {
    return say_once(e.what(), 2);
  } catch (const std::bad_alloc&) {
    return say("out of memory", 86);
  } catch (const std::exception& e) {
    return say(e.what(), 86);
  }
}
