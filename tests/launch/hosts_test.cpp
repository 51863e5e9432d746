// Host files, and what other hosts are given.
#include "launch/hosts/hosts.h"
#include <gtest/gtest.h>
#include <algorithm>
#include "bora/base/error.h"
#include "launch/api/allocation.h"
#include "launch/hosts/remote.h"
#include "support/throws.h"

namespace hosts_test {
using namespace bora;
using namespace bora::launch;
namespace {
std::string problem_with(const std::string& text) {
  return test::error_of<ConfigError>([&] { parse_hosts(text, "hosts"); });
}
}  // namespace

TEST(Hosts, Lines) {
  auto hosts = parse_hosts(
      "# two machines\n\n  alpha\nbeta slots=3 iface=eth1   # the fast one\r\n10.0.0.7 iface=ib0 slots=2\n", "hosts");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].name, "alpha");
  EXPECT_EQ(hosts[0].slots, 1);
  EXPECT_EQ(hosts[0].interface_name, "");
  EXPECT_EQ(hosts[0].place, "hosts:3");
  EXPECT_EQ(hosts[1].slots, 3);
  EXPECT_EQ(hosts[1].interface_name, "eth1");
  EXPECT_EQ(hosts[2].slots, 2);
  EXPECT_EQ(hosts[2].interface_name, "ib0");
  EXPECT_EQ(count_slots(hosts), 6);
  auto few = first_slots(hosts, 3);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[1].slots, 2);
  EXPECT_EQ(first_slots(hosts, 6).size(), 3U);
  EXPECT_THROW(first_slots(hosts, 7), ConfigError);
  EXPECT_EQ(parse_hosts("localhost slots=4", "hosts").size(), 1U);
}
TEST(Hosts, ErrorsNameTheLine) {
  auto begins = [](const std::string& text, const std::string& words) {
    EXPECT_TRUE(problem_with(text).starts_with(words)) << problem_with(text);
  };
  begins("", "hosts: no hosts in it; a line is: host slots=N iface=NAME");
  begins("# nobody\n", "hosts: no hosts in it");
  begins("a\nb slot=2\n", "hosts:2: unknown 'slot=2'; a line is: host slots=N iface=NAME");
  begins("a two\n", "hosts:1: unknown 'two'");
  begins("a slots=\n", "hosts:1: unknown 'slots='");
  for (auto n : {"0", "-1", "two", "2x", "9999999999"})
    begins("a slots=" + std::string(n), "hosts:1: slots must be a number from 1 to 4096, got '" + std::string(n) + "'");
  begins("slots=2 a\n", "hosts:1: expected the name of a host, got 'slots=2'");
  begins("-oProxyCommand=x\n", "hosts:1: expected the name of a host");
  begins("a\n\nb\na slots=2\n", "hosts:4: a stands in hosts:1 already; one line with slots=N");
  begins("a\nlocalhost\n", "hosts:2: localhost is another machine for a; write the name");
  begins("127.0.0.1 slots=2\nb\n", "hosts:1: 127.0.0.1 is another machine for b");
  EXPECT_THROW(read_hosts("/no/such/file"), ConfigError);
}
TEST(Hosts, WhatOtherHostsAreGiven) {
  std::string variables[] = {"BORA_CARRIER=zmq", "BORA_RANK=3", "BORA_SECRET_FILE=/s", "OMP_NUM_THREADS=2", "PATH=/bin",
                             "HOME=/root",       "TOKEN=x",     "AWS_SECRET=y",        "LD_LIBRARY_PATH=/l"};
  std::vector<char*> environment;
  for (auto& v : variables) environment.push_back(v.data());
  environment.push_back(nullptr);
  using Words = std::vector<std::string>;
  EXPECT_EQ(environment_for_ranks(environment.data(), {}),
            (Words{"BORA_CARRIER=zmq", "OMP_NUM_THREADS=2", "PATH=/bin", "LD_LIBRARY_PATH=/l"}));
  EXPECT_EQ(environment_for_ranks(environment.data(), {"TOKEN", "BORA_RANK"}),
            (Words{"BORA_CARRIER=zmq", "OMP_NUM_THREADS=2", "PATH=/bin", "TOKEN=x", "LD_LIBRARY_PATH=/l"}));
}
TEST(Hosts, SshGetsOptionsAndOtherCommandsDoNot) {
  auto has_batch_mode = [](const std::string& command) {
    auto words = ssh_words(command);
    return std::find(words.begin(), words.end(), "-oBatchMode=yes") != words.end();
  };
  EXPECT_TRUE(has_batch_mode(""));
  EXPECT_TRUE(has_batch_mode("/usr/bin/ssh -F file"));
  EXPECT_FALSE(has_batch_mode("wrapper --to"));
  EXPECT_EQ(ssh_words("a  b c"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_THROW(ssh_words("  "), ConfigError);
}
TEST(Hosts, SlurmsListsOfNodesAndTasks) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(names_in("n1"), Words{"n1"});
  EXPECT_EQ(names_in("r[1-2]n[01,03-04],gpu5"), (Words{"r1n01", "r1n03", "r1n04", "r2n01", "r2n03", "r2n04", "gpu5"}));
  EXPECT_EQ(names_in("a[9-11]b,c"), (Words{"a9b", "a10b", "a11b", "c"}));
  EXPECT_EQ(counts_in("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(counts_in("4"), std::vector<int>{4});
  EXPECT_EQ(names_in("a[2147483646-2147483647]"), (Words{"a2147483646", "a2147483647"}));
  for (auto bad : {"n[1", "n[2-1]", "n[a-b]", "n[]", ",n", "-n"}) EXPECT_THROW(names_in(bad), ConfigError) << bad;
  for (auto bad : {"", "0", "2(x", "2(y3)", "2(x0)", "-1"}) EXPECT_THROW(counts_in(bad), ConfigError) << bad;
}
/// They come from the environment, where a few characters can stand for more than a machine's memory.
TEST(Hosts, ListsAreBounded) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(names_in("a[0-255][0-255]").size(), 65536U);
  EXPECT_EQ(counts_in("1(x65536)").size(), 65536U);
  std::string digits(300, '0'), ranges, many, copies;
  for (int i = 0; i < 1000; ++i) ranges += ranges.empty() ? "0-65535" : ",0-65535", many += "[0-1]";
  for (int i = 0; i < 1000; ++i) copies += copies.empty() ? "1(x65536)" : ",1(x65536)";
  for (auto& bad : Words{"a[0-65535][0-65535]", "a[0-255][0-256]", "a[0-65535],b", "a[0-2147483647]",
                         "a[" + ranges + "]", "a" + many, "a[" + digits + "1-" + digits + "9]", digits + "[0-65535]"})
    EXPECT_THROW(names_in(bad), ConfigError) << bad.substr(0, 40);
  for (auto& bad : Words{"1(x65537)", "1(x2147483647)", copies})
    EXPECT_THROW(counts_in(bad), ConfigError) << bad.substr(0, 40);
  EXPECT_EQ(test::error_of<ConfigError>([] { names_in("a[0-65535][0-65535]"); }),
            "--hosts: Slurm's list 'a[0-65535][0-65535]' is of more than 65536 nodes; a job has at most as many ranks");
  auto of = [](const std::vector<std::pair<const char*, const char*>>& variables, const char* word) {
    for (auto [name, value] : variables) ::setenv(name, value, 1);
    auto error = test::error_of<ConfigError>([&] { allocation(word, "bora"); });
    for (auto [name, value] : variables) ::unsetenv(name);
    return error;
  };
  EXPECT_EQ(of({{"SLURM_JOB_NODELIST", "a[1-17]"}, {"SLURM_TASKS_PER_NODE", "4096(x17)"}}, "slurm"),
            "--hosts slurm: SLURM_TASKS_PER_NODE=4096(x17) is of 69632 tasks; a job has at most 65536 ranks");
  EXPECT_EQ(of({{"JOB_COMPLETION_INDEX", "0"}, {"BORA_SIZE", "99999999"}, {"BORA_SERVICE", "s"}, {"HOSTNAME", "j-0"}},
               "kubernetes"),
            "--hosts kubernetes: BORA_SIZE is 99999999; a job has at most 65536 ranks");
}
}  // namespace hosts_test
