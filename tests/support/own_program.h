// own_program.h -- a disabled test of this test program, run as a program of its own: variables that are read once, and
// threads that nothing else has made.
#pragma once
#include <gtest/gtest.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include "support/processes.h"
#include "support/temp_folder.h"

namespace bora::test {
using Variables = std::map<std::string, std::string>;
/// What a test reports to the program that runs it.
inline void say(const std::string& text) { std::printf("says %s\n", text.c_str()); }
/// Runs Suite.DISABLED_name with these variables and none of OpenMP's and BORA_EXECUTOR otherwise; what it said.
inline std::string program(const std::string& suite, const std::string& name, const Variables& variables) {
  TempFolder folder;
  auto done = run_apart(folder / "said", [&] {
    for (auto* v : {"BORA_EXECUTOR", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "OMP_PROC_BIND",
                    "OMP_PLACES", "OMP_WAIT_POLICY"})
      ::unsetenv(v);
    for (auto& [key, value] : variables) ::setenv(key.c_str(), value.c_str(), 1);
    auto filter = "--gtest_filter=" + suite + ".DISABLED_" + name;
    ::alarm(120);
    ::execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests", filter.c_str(), nullptr);
    return 1;
  });
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  return done.line("says ");
}
}  // namespace bora::test
