// Control characters of models, files and the environment: shown on a terminal, and as they are in a pipe.
#include <poll.h>
#include <pty.h>
#include "command.h"
#include "support/places.h"
#include "support/text.h"

namespace terminal_test {
using namespace bora;
namespace {
struct TerminalTest : CommandTest {
  /// All that a terminal gets from the command; stdin is a file.
  std::string on_terminal(const std::string& arguments, const std::string& shell = {}) const {
    int fd = -1;
    std::string got, command = shell + " exec " + test::command() + " < " + folder + "/input " + arguments;
    auto pid = ::forkpty(&fd, nullptr, nullptr, nullptr);
    if (pid == 0) ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr), ::_exit(127);
    char bytes[4096];
    for (ssize_t n; (n = ::read(fd, bytes, sizeof bytes)) > 0;) got.append(bytes, static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(pid, &status, 0);
    ::close(fd);
    EXPECT_TRUE(status == 0 || arguments == "doctor") << got;  // which may find something here
    return got;
  }
  void input(const std::string& text) const { std::ofstream(folder + "/input") << text; }
};
constexpr auto kIds = "[27, 93, 48, 59, 120, 7, 9, 195, 164, 194, 155, 13, 255, 0, 226, 130, 172]\n";
const std::string kRaw("\x1b]0;x\a\t\xc3\xa4\xc2\x9b\r\xff\0\xe2\x82\xac\n", 18);
constexpr auto kShown = R"(\x1b]0;x\x07)"
                        "\t\xc3\xa4"
                        R"(\xc2\x9b\r\xff\x00)"
                        "\xe2\x82\xac\r\n";  // the terminal adds its own \r
}  // namespace

TEST_F(TerminalTest, TextsOfTokensAreVisible) {
  input(kIds);
  EXPECT_EQ(on_terminal("detokenize bytes"), kShown);
  EXPECT_EQ(run("detokenize bytes < " + folder + "/input").out, kRaw);
  std::string many;  // more than a buffer: characters are cut
  for (int i = 0; i < 3000; ++i) many += "226, 130, 172" + std::string(i + 1 < 3000 ? ", " : "");
  input("[97, " + many + "]\n");
  auto raw = run("detokenize bytes < " + folder + "/input").out;
  EXPECT_EQ(on_terminal("detokenize bytes"), raw.substr(0, 9001) + "\r\n");
}
TEST_F(TerminalTest, SoAreThoseOfTheEnvironmentAndOfModels) {
  input("");
  auto shell = "BORA_RANK=0 BORA_SIZE=2 BORA_ROOT=$(printf '\\033[2Jhost:1')";
  EXPECT_TRUE(test::has(on_terminal("doctor", shell), R"(\x1b[2Jhost)"));
  auto raw = "\x1b[31m";
  EXPECT_TRUE(test::has(run("doctor", {}, shell).out, "\x1b[2Jhost"));
  auto out = folder + "/run", generate = "generate " + out + " --length 3 --prompt \"$(printf '\\033[31m')\"";
  ASSERT_EQ(run("train " + config + " steps=1 warmup=0 eval_every=0 out=" + out).code, 0);
  EXPECT_TRUE(run(generate).out.starts_with(raw));
  for (std::string launch : {"", "launch -n 1 -- "}) {
    auto shown = on_terminal(launch + generate);
    EXPECT_TRUE(shown.starts_with(R"(\x1b[31m)")) << shown;
    EXPECT_EQ(shown.find('\x1b'), shown.npos);
  }
  EXPECT_TRUE(test::has(on_terminal("launch -n 1 -- /bin/sh -c 'printf \"\\033[31mred\"'"), "\x1b[31mred"));
}
}  // namespace terminal_test
