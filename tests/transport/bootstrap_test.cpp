// Which rank of which job: the environment of each launcher, and refused settings.
#include <map>
#include "jobs.h"
#include "support/throws.h"
#include "wire/address.h"

namespace bora::transport::bootstrap_test {
namespace {
using Variables = std::map<std::string, std::string>;
Config from(const Variables& v) {
  return config_from_environment([&](const char* name) -> const char* {
    auto found = v.find(name);
    return found == v.end() ? nullptr : found->second.c_str();
  });
}
void is(const Variables& v, const std::string& launcher, int rank, int size, const std::string& root) {
  auto c = from(v);
  EXPECT_EQ(c.launcher, launcher);
  EXPECT_EQ(c.rank, rank);
  EXPECT_EQ(c.size, size);
  EXPECT_EQ(c.root, root);
}
void refused(const Variables& v, const std::string& words) {
  test::says<ConfigError>([&] { return from(v); }, words);
}
const Variables slurm{
    {"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", "n[001-003,7],gpu5"}};
const Variables ompi{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
Variables operator+(Variables a, const Variables& b) {
  for (auto& [k, v] : b) a[k] = v;
  return a;
}

TEST(Bootstrap, EachLauncher) {
  is({}, "a single process", 0, 1, Config().root);
  is({{"BORA_RANK", "1"}, {"BORA_SIZE", "3"}, {"BORA_ROOT", "a:1"}}, "bora", 1, 3, "a:1");
  is({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "77"}}, "torchrun", 0, 2, "h:77");
  is(slurm, "Slurm", 2, 4, "n001:29650");
  is(slurm + Variables{{"SLURM_STEP_NODELIST", "node3"}}, "Slurm", 2, 4, "node3:29650");
  is(slurm + Variables{{"SLURM_STEP_NODELIST", "a,b[1-2]"}}, "Slurm", 2, 4, "a:29650");
  is(slurm + Variables{{"SLURM_STEP_NODELIST", "r[1-2,5]n[03-04].x,b"}}, "Slurm", 2, 4, "r1n03.x:29650");
  is({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, "a single process", 0, 1, Config().root);  // a batch script
  is(slurm + Variables{{"SLURM_STEP_NODELIST", "c[7,9]"}, {"BORA_ROOT", "x:5"}}, "Slurm", 2, 4, "x:5");
  is(ompi, "Open MPI", 1, 2, "127.0.0.1:29650");
  is(ompi + Variables{{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                      {"OMPI_MCA_orte_hnp_uri", "2034.0;tcp://10.0.0.1,192.168.0.1:45213"}},
     "Open MPI", 1, 2, "10.0.0.1:29650");
  is({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"BORA_ROOT", "h:9"}}, "PMI", 1, 2, "h:9");
  is({{"JOB_COMPLETION_INDEX", "3"}, {"BORA_SIZE", "4"}, {"HOSTNAME", "train-3"}, {"BORA_SERVICE", "ranks"}},
     "Kubernetes", 3, 4, "train-0.ranks:29650");
}
TEST(Bootstrap, JobsOfOneClusterDiffer) {
  EXPECT_EQ(from(slurm).job, "");
  auto job = slurm + Variables{{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", "3"}};
  EXPECT_EQ(from(job).job, "Slurm 17.3");
  EXPECT_EQ(from(job + Variables{{"BORA_JOB", "mine"}}).job, "mine");
  EXPECT_EQ(from(ompi + Variables{{"PMIX_NAMESPACE", "n7"}}).job, "Open MPI n7");
}
TEST(Bootstrap, ASocketIsInheritedOnce) {
  auto port = free_port();
  auto root = "127.0.0.1:" + std::to_string(port);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  auto socket_of = [&](const char* rank, const std::string& at) {
    return from({{"BORA_RANK", rank}, {"BORA_SIZE", "2"}, {"BORA_ROOT", at}, {"BORA_ROOT_FD", std::to_string(fd)}})
        .root_socket;
  };
  EXPECT_EQ(socket_of("1", root), -1);
  EXPECT_EQ(socket_of("0", "127.0.0.1:" + std::to_string(port - 1)), -1);  // another job's, or a descriptor used again
  EXPECT_EQ(socket_of("0", root), fd);
  auto config = config_for(0, 2, port);
  config.root_socket = fd;
  std::string error;
  std::thread other([&] { join(config_for(1, 2, port))->leave(); });
  try {
    join(config)->leave();
  } catch (const std::exception& e) { error = e.what(); }
  other.join();
  EXPECT_EQ(error, "");
  EXPECT_EQ(socket_of("0", root), -1);  // closed with the job
}
TEST(Bootstrap, ListensWhereItIsTold) {
  Address root{.host = "127.0.0.1", .port = "1", .ip = "127.0.0.1"};
  for (std::string interfaces : {"", "lo", "127.0.0.1", "127.0.0.0/8", "nosuch0,198.51.100.7,127.0.0.0/30"})
    EXPECT_EQ(own_address(root, interfaces), "127.0.0.1") << interfaces;
  for (std::string interfaces : {"nosuch0", "198.51.100.0/24", "127.0.0.0/33", "127.0.0.0/8x", "^lo,0.0.0.0/0", "::1"})
    EXPECT_THROW(own_address(root, interfaces), ConfigError) << interfaces;
  try {
    EXPECT_FALSE(is_loopback(own_address(root, "^nosuch0")));
  } catch (const ConfigError&) {
    // this host has nothing else
  }
  try {
    EXPECT_EQ(own_address({.host = "::1", .port = "1", .ip = "::1"}, "::/120"), "::1");
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("with an IPv6 address"), std::string::npos);  // this host has none
  }
}
TEST(Bootstrap, OneOfSeveral) {
  Variables own{{"BORA_RANK", "0"}, {"BORA_SIZE", "2"}, {"BORA_ROOT", "a:1"}};
  is(slurm + ompi + own, "bora", 0, 2, "a:1");  // explicit
  refused(slurm + ompi, "Slurm says rank 2 of 4, Open MPI rank 1 of 2");
  is(slurm + ompi + Variables{{"BORA_LAUNCHER", "ompi"}}, "Open MPI", 1, 2, "127.0.0.1:29650");
  is(slurm + Variables{{"BORA_LAUNCHER", "none"}}, "a single process", 0, 1, Config().root);
  // A shell inside an allocation is one task.
  is(slurm + ompi + Variables{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}, "Open MPI", 1, 2,
     "127.0.0.1:29650");
  is(ompi + Variables{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, "Open MPI", 1, 2, "127.0.0.1:29650");  // they agree
}
TEST(Bootstrap, Refused) {
  refused({{"BORA_RANK", "1"}}, "must be set together");
  refused({{"BORA_SIZE", "2"}}, "must be set together");
  refused({{"BORA_RANK", "2"}, {"BORA_SIZE", "2"}, {"BORA_ROOT", "a:1"}}, "BORA_RANK: must be from 0");
  for (auto size : {"0", "-1", "65537", "99999999"})
    refused({{"BORA_RANK", "0"}, {"BORA_SIZE", size}},
            "BORA_SIZE: a job has from 1 to 65536 ranks, got " + std::string(size));
  refused({{"RANK", "0"}, {"WORLD_SIZE", "99999999"}}, "WORLD_SIZE: a job has from 1 to 65536 ranks");
  refused({{"BORA_RANK", "x"}, {"BORA_SIZE", "2"}}, "BORA_RANK: expected a number, got 'x'");
  refused({{"BORA_RANK", "0"}, {"BORA_SIZE", "2"}}, "BORA_ROOT is not set");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "MASTER_ADDR is not set");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}, "MASTER_PORT is not set");
  refused({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}, "BORA_ROOT is not set");
  refused({{"JOB_COMPLETION_INDEX", "0"}, {"BORA_SIZE", "2"}, {"HOSTNAME", "train-0"}}, "BORA_SERVICE is not set");
  refused({{"BORA_LAUNCHER", "pbs"}}, "BORA_LAUNCHER=pbs");
  refused({{"BORA_LAUNCHER", "slurm"}}, "BORA_LAUNCHER=slurm");
  refused({{"BORA_JOIN_TIMEOUT", "0"}}, "BORA_JOIN_TIMEOUT: must be above 0, got 0");
  refused({{"BORA_JOIN_TIMEOUT", "soon"}}, "BORA_JOIN_TIMEOUT: expected a number, got 'soon'");
  refused({{"BORA_INSECURE_PRIVATE_NETWORK", "maybe"}}, "BORA_INSECURE_PRIVATE_NETWORK: expected true or false");
}
TEST(Bootstrap, OptionsComeFromTheEnvironmentAndFromOthersOverIt) {
  auto c = from({{"BORA_JOIN_TIMEOUT", "7"},
                 {"BORA_STUCK_ABORT", "1.5"},
                 {"BORA_CARRIER", "tcp"},
                 {"BORA_INTERFACE", ""},
                 {"BORA_INSECURE_PRIVATE_NETWORK", "1"},
                 {"BORA_SECRET", "seen by everybody"},
                 {"BORA_BUILD", "another"}});
  EXPECT_EQ(c.join_timeout_s, 7);
  EXPECT_EQ(c.stuck_abort_s, 1.5);
  EXPECT_EQ(c.carrier, "tcp");
  EXPECT_EQ(c.interface, "");
  EXPECT_TRUE(c.insecure_private_network);
  EXPECT_EQ(c.secret + c.build, "");
  c = with_options(
      c, {{"join_timeout", "9", "a.yaml:3"}, {"carrier", "shm", "a.yaml:4"}, {"carrier", "zmq", "--carrier"}});
  EXPECT_EQ(c.join_timeout_s, 9);
  EXPECT_EQ(c.carrier, "zmq");
  EXPECT_EQ(c.stuck_abort_s, 1.5);
  for (auto& [option, words] : std::vector<std::pair<Option, std::string>>{
           {{"carier", "tcp", "a.yaml:3"}, "a.yaml:3: the transport has no option 'carier'; there are join_timeout, "},
           {{"rank", "1", "a.yaml:3"}, "no option 'rank'"},
           {{"dead", "-1", "a.yaml:3"}, "a.yaml:3: must be above 0, got -1"}}) {
    test::says<ConfigError>([&] { (void)with_options({}, {option}); }, words);
  }
}
}  // namespace
}  // namespace bora::transport::bootstrap_test
