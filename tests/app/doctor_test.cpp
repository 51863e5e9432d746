// Every fault that is planted is found by `bora doctor`: in trees of /proc and /sys, in mounts, in limits of the
// process and of its cgroup; and what is well is said to be well. Faults between hosts: doctor_hosts_test.cpp.
#include <map>
#include <set>
#include "app/doctor/fleet.h"
#include "app/doctor/folder.h"
#include "app/doctor/host.h"
#include "app/doctor/network.h"
#include "base/api/cores.h"
#include "command.h"
#include "support/places.h"
#include "support/text.h"

namespace fs = std::filesystem;
namespace doctor_test {
using namespace bora;
using namespace bora::app::doctor;
namespace {
using Files = std::map<std::string, std::string>;
const std::string kCpu = "sys/devices/system/cpu/cpu", kClock = "sys/devices/system/clocksource/clocksource0/",
                  kPages = "sys/kernel/mm/transparent_hugepage/", kNode = "sys/devices/system/node/node",
                  kGroup = "sys/fs/cgroup/";
/// A machine of four cores with nothing to complain about.
Files healthy() {
  Files f{{"proc/self/cgroup", "0::/\n"},
          {"proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\nSwapTotal: 1000000 kB\n"
                           "SwapFree: 1000000 kB\n"},
          {"proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                               "Max cpu time              unlimited            unlimited            seconds   \n"
                               "Max file size             unlimited            unlimited            bytes     \n"
                               "Max open files            4096                 8192                 files     \n"
                               "Max processes             9999                 9999                 processes \n"},
          {"proc/loadavg", "0.10 0.10 0.10 1/99 1\n"},
          {"proc/stat", "cpu  1000 0 100 9000 0 0 0 0 0 0\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\n"},
          {"proc/vmstat", "pswpin 0\npswpout 0\n"},
          {"proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
          {"proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
          {"proc/sys/vm/overcommit_memory", "0\n"},
          {"proc/sys/kernel/osrelease", "6.1.0\n"},
          {kNode + "0/cpulist", "0-3\n"},
          {kNode + "0/meminfo", "Node 0 MemTotal: 33554432 kB\n"},
          {kPages + "enabled", "always [madvise] never\n"},
          {kPages + "defrag", "always defer [madvise] never\n"},
          {kClock + "current_clocksource", "tsc\n"},
          {kClock + "available_clocksource", "tsc hpet acpi_pm \n"}};
  for (int c = 0; c < 4; ++c) {
    f[kCpu + std::to_string(c) + "/cpufreq/scaling_governor"] = "performance\n";
    f[kCpu + std::to_string(c) + "/cpufreq/scaling_driver"] = "acpi-cpufreq\n";
  }
  return f;
}
HostReport report_of(const Files& files) {
  test::TempFolder root;
  for (auto& [name, text] : files) root.write(name, text);
  HostReport r;
  look_at_host(root.path(), {0, 1, 2, 3}, r);
  return r;
}
std::vector<Finding> wrong(const Findings& all) {
  std::vector<Finding> r;
  for (auto& f : all.all) {
    EXPECT_EQ(f.level == Level::ok, f.repair.empty()) << f.about << ": " << f.text;
    EXPECT_FALSE(f.text.empty()) << f.about;
    if (f.level != Level::ok) r.push_back(f);
  }
  return r;
}
struct Fault {
  std::string about;
  Level level;
  Files files;
  std::string text, repair;  // parts of them
};
void expect_found(const Fault& fault, const Findings& found) {
  auto faults = wrong(found);
  ASSERT_EQ(faults.size(), 1U) << fault.about << " " << fault.text << "\n" << lines_of(found);
  EXPECT_EQ(faults[0].about, fault.about);
  EXPECT_EQ(faults[0].level, fault.level) << faults[0].text;
  EXPECT_HAS(faults[0].text, fault.text);
  EXPECT_HAS(faults[0].repair, fault.repair);
}
Files governors(const std::string& word, const std::string& driver, const std::string& preference = "") {
  Files f;
  for (int c = 0; c < 4; ++c) {
    auto folder = kCpu + std::to_string(c) + "/cpufreq/";
    f[folder + "scaling_governor"] = word + "\n", f[folder + "scaling_driver"] = driver + "\n";
    if (!preference.empty()) f[folder + "energy_performance_preference"] = preference + "\n";
  }
  return f;
}
Files limit(const std::string& name, const std::string& value) {
  auto line = name + std::string(26 - name.size(), ' ') + value + std::string(21 - value.size(), ' ') + "unlimited\n";
  return {{"proc/self/limits", line}};
}
}  // namespace

TEST(Doctor, AMachineInOrderHasNoFaults) {
  auto r = report_of(healthy());
  EXPECT_TRUE(wrong(r).empty()) << lines_of(r);
  for (auto about : {"quota", "numa", "governor", "pages", "limits", "swap", "load", "clock"})
    EXPECT_TRUE(std::any_of(r.all.begin(), r.all.end(), [&](auto& f) { return f.about == about; })) << about;
  EXPECT_EQ(r.facts, (std::map<std::string, std::string>{{"clock", "tsc"}, {"governor", "performance"},
                                                         {"huge pages", "madvise"}, {"kernel", "6.1.0"},
                                                         {"memory", "32 GiB"}}));
  // What a machine does not tell is no fault of it: nearly empty trees, as some containers have them.
  const Files few{{"proc/meminfo", healthy()["proc/meminfo"]}, {kPages + "enabled", "[always]\n"}};
  EXPECT_TRUE(wrong(report_of(few)).empty());
}
TEST(Doctor, EachFaultOfAMachineIsFoundAlone) {
  using enum Level;
  const std::vector<Fault> faults{
      {"quota", problem, {{kGroup + "cpu.max", "50000 100000\n"}}, "0.5 cores", "docker update --cpus"},
      {"quota", note, {{kGroup + "cpu.max", "250000 100000\n"}}, "2.5 cores", "threads=2"},
      {"throttled", note,
       {{kGroup + "cpu.stat", "usage_usec 9\nnr_periods 100\nnr_throttled 40\nthrottled_usec 5000000\n"}},
       "in 40 % of all periods", "threads=N"},
      {"numa", note, {{kNode + "1/cpulist", "4-7\n"}, {kNode + "1/meminfo", "Node 1 MemTotal: 5 kB\n"}}, "2 nodes",
       "bora launch -n 2"},
      {"numa", note, {{kNode + "0/meminfo", "Node 0 MemTotal: 0 kB\n"}}, "node0", "numactl"},
      {"governor", problem, governors("powersave", "acpi-cpufreq"), "'powersave'", "cpupower frequency-set -g perf"},
      {"governor", note, governors("schedutil", "acpi-cpufreq"), "'schedutil'", "cpupower"},
      {"governor", note, governors("powersave", "intel_pstate", "power"), "'powersave'", "cpupower"},
      {"governor", note, {{kCpu + "2/cpufreq/scaling_governor", "ondemand\n"}}, "ondemand, performance", "cpupower"},
      {"pages", note, {{kPages + "enabled", "always madvise [never]\n"}}, "switched off", "echo madvise"},
      {"pages", note, {{kPages + "enabled", "[always] madvise never\n"}, {kPages + "defrag", "[always] never\n"}},
       "defrag", "defrag"},
      {"limits", note, limit("Max open files", "256"), "256 open files", "ulimit -n"},
      {"limits", problem, limit("Max open files", "16"), "16 open files", "ulimit -n"},
      {"limits", problem, limit("Max file size", "1048576"), "1048576 bytes in a file", "ulimit -f unlimited"},
      {"limits", note, limit("Max address space", "8589934592"), "8589934592 bytes", "ulimit -v unlimited"},
      {"limits", note, limit("Max cpu time", "36000"), "36000 seconds", "ulimit -t unlimited"},
      {"limits", problem, limit("Max processes", "20"), "20 processes", "ulimit -u"},
      {"memory", problem, {{"proc/meminfo", "MemTotal: 33554432 kB\nMemAvailable: 100000 kB\n"}}, "97.7 MiB", "ps "},
      {"memory", note, {{kGroup + "memory.max", "1073741824\n"}, {kGroup + "memory.current", "268435456\n"}},
       "the cgroup", "ps "},
      {"overcommit", note, {{"proc/sys/vm/overcommit_memory", "2\n"}}, "fixed limit", "vm.overcommit_memory=0"},
      {"swap", note,
       {{"proc/meminfo",
         "MemTotal: 33554432 kB\nMemAvailable: 16777216 kB\nSwapTotal: 1000000 kB\nSwapFree: 500000 kB\n"}},
       "in swap", "swapoff"},
      {"load", note, {{"proc/loadavg", "3.50 1.00 1.00 4/99 1\n"}}, "3.5 programs", "top"},
      {"pressure", note, {{"proc/pressure/memory", "some avg10=0.00 avg60=30.00 avg300=0 total=0\n"}}, "30 %", "ps "},
      {"pressure", note, {{"proc/pressure/io", "some avg10=0.00 avg60=44.00 avg300=0 total=0\n"}}, "disks", "iotop"},
      {"clock", problem, {{kClock + "current_clocksource", "hpet\n"}}, "hpet", "echo tsc"},
      {"clock", note,
       {{kClock + "current_clocksource", "acpi_pm\n"}, {kClock + "available_clocksource", "hpet acpi_pm\n"}}, "acpi_pm",
       "tsc=reliable"}};
  for (auto& fault : faults) {
    SCOPED_TRACE(fault.about + ": " + fault.text);
    auto files = healthy();
    for (auto& [name, text] : fault.files) files[name] = text;
    expect_found(fault, report_of(files));
  }
}
TEST(Doctor, WhatHappensMeanwhileIsFound) {
  const HostCounters before{.periods = 10, .throttled_periods = 1, .throttled_s = 1, .steal_s = 2, .all_s = 100,
                            .swapped_pages = 7};
  auto after = [&](auto&& change) {
    auto r = before;
    r.all_s += 10;
    change(r);
    HostReport report;
    look_at_counters(before, r, 1, report);
    return report;
  };
  using enum Level;
  EXPECT_TRUE(wrong(after([](auto&) {})).empty());
  expect_found({"throttled", problem, {}, "50 % of the time", "threads=N"},
               after([](auto& c) { c.throttled_s += 0.5; }));
  expect_found({"throttled", note, {}, "5 % of the time", "threads=N"}, after([](auto& c) { c.throttled_s += 0.05; }));
  expect_found({"steal", problem, {}, "40 %", "another host"}, after([](auto& c) { c.steal_s += 4; }));
  expect_found({"steal", note, {}, "5 %", "another host"}, after([](auto& c) { c.steal_s += 0.5; }));
  expect_found({"swapping", note, {}, "3 pages", "ps "}, after([](auto& c) { c.swapped_pages += 3; }));
  test::TempFolder root;
  root.write("proc/self/cgroup", "2:cpu,cpuacct:/a\n");
  root.write("sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 20\nnr_throttled 5\nthrottled_time 3000000000\n");
  root.write("proc/stat", "cpu  100 0 100 700 0 0 0 100 0 0\n");
  root.write("proc/vmstat", "pswpin 4\npswpout 5\n");
  auto counters = host_counters(root.path());
  EXPECT_EQ(counters.periods, 20);
  EXPECT_EQ(counters.throttled_periods, 5);
  EXPECT_EQ(counters.throttled_s, 3);
  EXPECT_EQ(counters.steal_s / counters.all_s, 0.1);
  EXPECT_EQ(counters.swapped_pages, 9);
}
TEST(Doctor, EachFaultOfAMountIsFoundAlone) {
  using enum Level;
  test::TempFolder root;
  root.write("proc/self/mountinfo",
             "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
             "23 22 0:9 / /nfs rw - nfs4 server:/h rw,vers=4.2,hard\n"
             "24 22 0:10 / /nfs/soft\\040one rw - nfs server:/x rw,soft,local_lock=none\n"
             "25 22 0:11 / /nolock rw - nfs server:/y rw,hard,nolock\n26 22 0:12 / /ro ro - xfs /dev/b rw\n"
             "27 22 0:13 / /mem rw,nosuid - tmpfs none rw,size=4k\n28 22 0:14 / /bare rw - ext4 /dev/c rw,nobarrier\n"
             "29 22 0:15 / /slow rw,sync - ext4 /dev/d rw,sync\n30 22 0:16 / /share rw - cifs //w/s rw\n"
             "31 22 0:17 / /layer rw - overlay overlay rw\n32 22 0:18 / /noac rw - nfs4 s:/z rw,hard,noac\n"
             "33 22 0:19 / /fuse rw - fuse.sshfs a:/ rw\n34 22 0:20 / /llock rw - nfs s:/w rw,local_lock=all\n");
  auto of = [&](const std::string& path) {
    auto mount = mount_of(path, root.path());
    EXPECT_TRUE(mount) << path;
    Findings found;
    if (mount) look_at_mount(*mount, found);
    return found;
  };
  EXPECT_EQ(mount_of("/nfs/soft one/run", root.path())->point, "/nfs/soft one");
  EXPECT_EQ(mount_of("/nfsx", root.path())->point, "/");
  for (auto path : {"/var/x", "/nfs/me"}) EXPECT_TRUE(wrong(of(path)).empty()) << path;
  for (auto& [path, fault] : std::map<std::string, Fault>{
           {"/nfs/soft one/run", {"folder", problem, {}, "soft", "-o hard server:/x /nfs/soft one"}},
           {"/nolock", {"folder", problem, {}, "locks of this host alone", "-o hard"}},
           {"/llock", {"folder", problem, {}, "locks of this host alone", "-o hard"}},
           {"/ro/a", {"folder", problem, {}, "read-only", "remount,rw /ro"}},
           {"/mem", {"folder", note, {}, "is memory", "disk"}},
           {"/bare", {"folder", problem, {}, "no barriers", "remount,barrier=1 /bare"}},
           {"/slow", {"folder", note, {}, "at each write", "remount,async /slow"}},
           {"/share", {"folder", note, {}, "cifs", "NFS"}},
           {"/fuse", {"folder", note, {}, "fuse.sshfs", "NFS"}},
           {"/layer", {"folder", note, {}, "container's own", "docker run -v"}},
           {"/noac", {"folder", note, {}, "noac", "umount"}}})
    expect_found(fault, of(path));
}
TEST(Doctor, LinksAndLostSegments) {
  using enum Level;
  const std::vector<std::string> hosts{"a", "b", "c"};
  auto links = [&](const std::vector<Link>& all) {
    Findings found;
    look_at_links(all, hosts, found);
    return found;
  };
  const Link good{0, 1, 1e9, 1e-4};
  EXPECT_TRUE(wrong(links({good, {1, 2, 0.9e9, 1e-4}})).empty());
  EXPECT_TRUE(links({}).all.empty());
  expect_found({"links", problem, {}, "b to c, carries 100 MB/s, the fastest, a to b, 10 times as much", "ethtool"},
               links({good, {1, 2, 1e8, 1e-4}}));
  expect_found({"links", problem, {}, "carries 5 MB/s", "transport.interface"}, links({{0, 1, 5e6, 1e-4}}));
  expect_found({"links", note, {}, "carries 50 MB/s", "ethtool"}, links({{0, 1, 5e7, 1e-4}}));
  expect_found({"trips", note, {}, "2000 us (a to b)", "rack"}, links({{0, 1, 1e9, 2e-3}}));
  expect_found({"trips", problem, {}, "(b to c)", "rack"}, links({good, {1, 2, 1e9, 2e-2}}));
  auto lost = [](std::int64_t again) {
    Findings found;
    look_at_retransmissions({1000, 5}, {11000, 5 + again}, found);
    return found;
  };
  EXPECT_TRUE(wrong(lost(3)).empty());
  expect_found({"lost", note, {}, "20 of 10000 segments", "ethtool -S"}, lost(20));
  expect_found({"lost", problem, {}, "500 of 10000", "ethtool -S"}, lost(500));
  test::TempFolder root;
  root.write("proc/net/snmp", "Ip: A\nIp: 1\nTcp: X OutSegs RetransSegs Y\nTcp: -1 70 8 2\n");
  EXPECT_EQ(tcp_counters(root.path()).sent, 70);
  EXPECT_EQ(tcp_counters(root.path()).again, 8);
}
TEST(Doctor, HostsThatDifferAndTheSlowest) {
  using enum Level;
  std::vector<HostReport> hosts(4);
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].host = "n" + std::to_string(i);
    hosts[i].facts = {{"isa", "avx2 fma"}, {"version", "1"}, {"mtu", "1500"}};
    hosts[i].measured = {{kProducts, 100}, {kCopies, 10}};
  }
  auto compared = [&](auto&& change) {
    auto all = hosts;
    change(all);
    for (auto& host : all) EXPECT_EQ(lines_of(unpacked_report(packed(host))), lines_of(host));
    Findings job;
    compare_hosts(all, job);
    return job;
  };
  EXPECT_TRUE(wrong(compared([](auto&) {})).empty());
  expect_found({"hosts", problem, {}, "mtu differs: 1500 on n0, n1, n3; 9000 on n2", "ip link set"},
               compared([](auto& h) { h[2].facts["mtu"] = "9000"; }));
  expect_found({"hosts", problem, {}, "version differs: 1 on n1, n2, n3; 2 on n0", "one version"},
               compared([](auto& h) { h[0].facts["version"] = "2"; }));
  expect_found({"hosts", note, {}, "isa differs", "least"}, compared([](auto& h) { h[3].facts["isa"] += " avx512f"; }));
  expect_found({"hosts", note, {}, "governor differs", "cpupower"},
               compared([](auto& h) { h[3].facts["governor"] = "powersave"; }));
  expect_found({"slowest", problem, {}, "n1 is the slowest in products: 2 times", "on n1"},
               compared([](auto& h) { h[1].measured[kProducts] = 50; }));
  expect_found({"slowest", note, {}, "n3 is the slowest in copies: 1.23 times", "on n3"},
               compared([](auto& h) { h[3].measured[kCopies] = 8.1; }));
  auto dates = [](const std::vector<double>& seconds) {
    Findings job;
    compare_dates(seconds, {"a", "b", "c"}, job);
    return job;
  };
  EXPECT_TRUE(wrong(dates({1e9, 1e9 + 0.1, 1e9})).empty());
  expect_found({"dates", note, {}, "a and b differ by 5 s", "set-ntp"}, dates({1e9, 1e9 + 5, 1e9 + 1}));
  expect_found({"dates", problem, {}, "differ by 3600 s", "set-ntp"}, dates({1e9, 1e9 + 1, 1e9 - 3599}));
}

// ---- the command ----
namespace {
struct DoctorTest : CommandTest {
  /// The line of a finding, and its repair.
  static std::string of(const Result& r, const std::string& about) {
    auto at = ("\n" + r.out).find("\n" + about + std::string(10 - about.size(), ' '));
    if (at == std::string::npos) return "nothing about " + about + " in\n" + r.out + r.err;
    auto end = r.out.find('\n', at), next = r.out.find('\n', end + 1);
    bool more = r.out.compare(end + 1, 10, std::string(10, ' ')) == 0;
    return r.out.substr(at, (more ? next : end) - at);
  }
  /// Problems are a line on stderr and exit code 2.
  static void ends_right(const Result& r) {
    bool problems = test::has(r.out, "problem: ");
    EXPECT_EQ(r.code, problems ? 2 : 0) << r.out << r.err;
    EXPECT_EQ(r.err.starts_with("bora: doctor: there are problems: "), problems) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), problems);
  }
};
}  // namespace

TEST_F(DoctorTest, SaysWhatItAlwaysSaid) {
  auto r = run("doctor");
  ends_right(r);
  std::size_t at = 0;
  for (auto word : {"bora      ", "cpu       ", "isa       ", "cores     ", "memory    ", "launcher  none: one process",
                    "sockets   two ranks over loopback sockets agree\n", "verdict   "}) {
    auto found = ("\n" + r.out).find(std::string("\n") + word, at);
    EXPECT_NE(found, std::string::npos) << word << " in " << r.out;
    at = std::min(found, r.out.size());
  }
}
TEST_F(DoctorTest, LooksAtAFolderAndLeavesNothingThere) {
  for (auto& out : {folder, folder + "/not/there/yet"}) {
    auto r = run("doctor --json --out " + out);
    EXPECT_TRUE(r.code == 0 || r.code == 2) << r.err;
    for (auto about : {"space", "writes", "syncs", "names", "locks", "folder", "products", "quota"})
      EXPECT_HAS(r.out, "\"about\":\"" + std::string(about) + "\"");
    EXPECT_HAS(r.out, "\"writes_mb_per_s\":");
    EXPECT_TRUE(r.out.starts_with("{\"problems\":")) << r.out;
  }
  for (auto& entry : fs::directory_iterator(folder))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".bora")) << entry.path();
  EXPECT_FALSE(fs::exists(folder + "/not"));
}
TEST_F(DoctorTest, LimitsOfTheProcessAreFound) {
  auto r = run("doctor", {}, "ulimit -t 300;");
  EXPECT_HAS(of(r, "limits"), "problem: a process may have at most 300 seconds of CPU time");
  EXPECT_HAS(of(r, "limits"), "repair: ulimit -t unlimited");
  ends_right(r);
}
TEST_F(DoctorTest, FaultsOfMountsAreFound) {
  const std::string apart = "unshare -m sh -c ";
  if (std::system((apart + "true 2> /dev/null").c_str()) != 0) GTEST_SKIP() << "this Linux gives no mount namespace";
  auto disk = folder + "/disk";
  fs::create_directory(disk);
  auto mounted = [&](const std::string& mount) {
    auto said = folder + "/" + std::to_string(++runs);
    auto command = "mount --make-rprivate / && " + mount + " && exec " + test::command() + " doctor --out " + disk +
                   "/run";
    return test::run_apart(said, [&] {
      return ::execlp("unshare", "unshare", "-m", "sh", "-c", command.c_str(), nullptr), 127;
    });
  };
  auto r = mounted("mount -t tmpfs -o size=2m none " + disk);
  EXPECT_HAS(of(r, "folder"), "note: tmpfs at " + disk + " is memory");
  EXPECT_HAS(of(r, "space"), "problem: 2.0 MiB are free: the next save fails");
  EXPECT_HAS(of(r, "writes"), "problem: cannot write ");
  ends_right(r);
  r = mounted("mount -t tmpfs -o size=256m,ro none " + disk);
  EXPECT_HAS(of(r, "folder"), "problem: tmpfs at " + disk + " is mounted read-only");
  EXPECT_HAS(of(r, "folder"), "repair: sudo mount -o remount,rw " + disk);
  ends_right(r);
  r = mounted("mount -t tmpfs -o size=256m none " + disk + " && mkdir -p " + disk +
              "/run/checkpoints/step-3 && truncate -s 300M " + disk + "/run/checkpoints/step-3/rank-0");
  EXPECT_HAS(of(r, "space"), "problem: 256.0 MiB are free, a checkpoint has 300.0 MiB: the next save fails");
  ends_right(r);
}
TEST_F(DoctorTest, AQuotaThatStopsItIsFound) {
  // Version 1 or 2, where this machine lets us.
  std::string group, quota;
  for (std::string root : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}) {
    std::error_code error;
    auto made = root + "/bora-doctor-" + std::to_string(::getpid());
    if (!fs::is_directory(root, error) || !fs::create_directory(made, error)) continue;
    if (fs::exists(made + "/cpu.cfs_quota_us")) quota = "echo 30000 > " + made + "/cpu.cfs_quota_us";
    else if (fs::exists(made + "/cpu.max")) quota = "echo 30000 100000 > " + made + "/cpu.max";
    if (!quota.empty() && std::system(("(" + quota + ") 2> /dev/null").c_str()) == 0) {
      group = made;
      break;
    }
    fs::remove(made, error);
    quota.clear();
  }
  if (group.empty()) GTEST_SKIP() << "this Linux makes no cgroup with a quota here";
  auto r = run("doctor", {}, "echo $$ > " + group + "/cgroup.procs;");
  for (int i = 0; i < 100 && ::rmdir(group.c_str()) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_HAS(of(r, "quota"), "problem: the cgroup allows CPU time of 0.3 cores");
  // Beside many other programs it does not get what the quota allows.
  if (!test::has(r.out, "load      note: ")) {
    EXPECT_HAS(of(r, "throttled"), "the cgroup's CPU time was used up in ");
  }
  ends_right(r);
}
TEST_F(DoctorTest, WorksWithoutRightsAndWithoutAnyProc) {
  const std::string words = "unshare --user --map-user=65534 true 2> /dev/null";
  std::string apart = std::system(words.c_str()) == 0 ? "exec unshare --user --map-user=65534 " : "exec ";
  auto r = run("", {}, apart + test::command() + " doctor --out /proc/nothing; #");
  EXPECT_TRUE(r.code == 0 || r.code == 2) << r.err;
  EXPECT_HAS(r.out, "verdict   ");
  EXPECT_EQ(r.err.find("internal error"), std::string::npos) << r.err;
  is_bad_input("doctor --ssh rsh", "--ssh: it is for other hosts; give --hosts FILE");
  is_bad_input("doctor --hosts /no/such/file", "--hosts: cannot read /no/such/file");
  is_bad_input("doctor --hosts kubernetes", "bora launch --hosts kubernetes -- doctor");
}
}  // namespace doctor_test
