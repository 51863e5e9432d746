// The page of a run that goes on, as strangers, attackers and its owner see it.
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include "command.h"
#include "http/client.h"

namespace run_page_test {
using namespace bora;
using test::Client;
using test::Got;
using namespace std::chrono_literals;
using nlohmann::json;
namespace {
/// Where a run serves its page.
struct Place {
  int port = 0;
  std::string token = {};
  std::string bearer() const { return "Authorization: Bearer " + token + "\r\n"; }
};
std::string request(const std::string& line, const std::string& headers = "", const std::string& host = "localhost") {
  return line + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
}
Got ask(const Place& at, const std::string& bytes) { return test::ask(at.port, bytes); }
/// The part of an answer about one number; null: it has none.
json series_of(const json& data, const std::string& name) {
  for (auto& s : data["series"])
    if (s["name"] == name) return s;
  return {};
}
struct RunPageTest : CommandTest {
  std::string settings = "train " + config + " steps=1000000 batch=2 checkpoint.minutes=0 eval_rows=2 ";
  /// Waits for the n-th line of a process that says where its page is.
  Place place(const std::string& said, std::size_t n = 0) const {
    Place p;
    until([&] {
      auto text = slurp(said);
      auto at = text.find("page: http://");
      for (std::size_t i = 0; i < n && at != text.npos; ++i) at = text.find("page: http://", at + 1);
      auto end = at == text.npos ? at : text.find('\n', at);
      if (end == text.npos) return false;
      auto url = text.substr(at + 13, end - at - 13);
      p.port = std::stoi(url.substr(url.rfind(':') + 1));
      auto token = url.find("token=");
      p.token = url.substr(token + 6);
      return true;
    });
    return p;
  }
  /// Runs a command while f is called with its page and its process; then a SIGTERM, unless it has ended.
  test::Result serve(const std::string& words, const std::function<void(const Place&, pid_t)>& f, bool ends = true) {
    auto said = folder + "/" + std::to_string(runs + 1) + ".out";
    return run(words, [&](pid_t pid) {
      f(place(said), pid);
      if (ends) ::kill(pid, SIGTERM);
    });
  }
  static std::int64_t resident(pid_t pid) {
    auto text = slurp("/proc/" + std::to_string(pid) + "/status");
    auto at = text.find("VmRSS:");
    return at == text.npos ? 0 : std::stoll(text.substr(at + 6)) << 10;
  }
};
}  // namespace

TEST_F(RunPageTest, OnlyWhoHasTheTokenSeesARun) {
  auto out = folder + "/o";
  auto r = serve(settings + "page=on out=" + out, [&](const Place& at, pid_t) {
    EXPECT_EQ(at.token.size(), 32U);
    for (auto path : {"/", "/data", "/log", "/metrics", "/data?since=", "/?token=", "/?token=x", "/none", "/../o"}) {
      auto got = ask(at, request(std::string("GET ") + path));
      EXPECT_EQ(got.status, 401) << path;
      EXPECT_EQ(got.body.find("loss"), got.body.npos);
      auto wrong = "Authorization: Bearer " + at.token + "0\r\n";
      EXPECT_EQ(ask(at, request(std::string("GET ") + path, wrong)).status, 401);
    }
    EXPECT_EQ(ask(at, request("GET /health")).body, "ok\n");
    // The token as a key, in the address and, after that, as a cookie.
    auto first = ask(at, request("GET /?token=" + at.token));
    EXPECT_EQ(first.status, 200);
    EXPECT_NE(first.body.find("</html>"), first.body.npos);
    auto cookie = first.header("Set-Cookie");
    EXPECT_NE(cookie.find("; HttpOnly; SameSite=Strict"), cookie.npos) << cookie;
    EXPECT_EQ(cookie.find(at.token), cookie.npos);
    auto crumb = "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n";
    for (auto& headers : {at.bearer(), crumb})
      for (auto path : {"/", "/data", "/data?since=", "/log", "/log?from=0", "/metrics"}) {
        auto got = ask(at, request(std::string("GET ") + path, headers));
        EXPECT_EQ(got.status, 200) << path;
        EXPECT_LT(got.body.size(), 256U << 10);
        EXPECT_EQ(got.header("Connection"), "close");
        EXPECT_EQ(got.header("X-Content-Type-Options"), "nosniff");
        EXPECT_EQ(got.header("Referrer-Policy"), "no-referrer");
        EXPECT_EQ(got.header("Cache-Control"), "no-store");
        EXPECT_NE(got.header("Content-Security-Policy").find("default-src 'none'"), std::string::npos);
        auto head = ask(at, request(std::string("HEAD ") + path, headers));
        EXPECT_EQ(head.status, 200);
      }
    // Nothing is done, and nothing taken, whoever asks.
    for (auto method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "GETX"})
      EXPECT_EQ(ask(at, request(std::string(method) + " /data", at.bearer())).status, 405) << method;
    EXPECT_EQ(ask(at, request("GET /data", at.bearer() + "Content-Length: 5\r\n") + "hello").status, 413);
    EXPECT_EQ(ask(at, request("GET /data", at.bearer() + "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n").status, 413);
    EXPECT_EQ(ask(at, request("GET /data", at.bearer() + "X: " + std::string(5000, 'x') + "\r\n")).status, 431);
    for (auto path : {"/config.yaml", "/metrics.jsonl", "/../../etc/passwd", "/data/", "//", "/%2e%2e/x"})
      EXPECT_EQ(ask(at, request(std::string("GET ") + path, at.bearer())).status, 404) << path;
    for (auto query : {"/data?since=1", "/data?since=x", "/log?from=-1", "/log?from=1x", "/data?since=1.2.3.4.5"})
      EXPECT_EQ(ask(at, request(std::string("GET ") + query, at.bearer())).status, 400) << query;
    // A page elsewhere whose name leads here, and pages elsewhere that ask.
    for (auto host : {"evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "0.0.0.0"})
      EXPECT_EQ(ask(at, request("GET /data", at.bearer(), host)).status, 403) << host;
    EXPECT_EQ(ask(at, request("GET /data", crumb + "Origin: http://evil.example\r\n")).status, 403);
    EXPECT_EQ(ask(at, request("GET /data", at.bearer(), "127.0.0.1:" + std::to_string(at.port))).status, 200);
    EXPECT_EQ(ask(at, request("GET /data", at.bearer(), "localhost:9999")).status, 200);  // through ssh -L
    // What it says is what the file says.
    json data;
    until([&] {
      data = json::parse(ask(at, request("GET /data", at.bearer())).body);
      return !series_of(data, "train/loss").is_null();
    });
    auto all = losses(out);
    auto loss = series_of(data, "train/loss");
    // Of a fast run a bucket has several steps. The last one may have grown meanwhile.
    auto& points = loss["points"];
    auto wide = loss["width"].get<std::size_t>(), each = std::size_t(wide > 1 ? 4 : 2);
    for (std::size_t i = 0; i + each < points.size(); i += each) {
      auto first = std::max<std::size_t>(points[i].get<std::size_t>() * wide, 1) - 1;  // losses begin with step 1
      auto end = (points[i].get<std::size_t>() + 1) * wide - 1;
      ASSERT_LE(end, all.size());
      double sum = 0;
      for (auto k = first; k < end; ++k) sum += all[k];
      EXPECT_DOUBLE_EQ(points[i + each - 1].get<double>(), sum / static_cast<double>(end - first)) << i << " " << wide;
    }
    auto text = ask(at, request("GET /metrics", at.bearer())).body;
    auto stamp = text.find("\nbora_last_step_timestamp_seconds ");
    ASSERT_NE(stamp, text.npos) << text;
    EXPECT_NEAR(std::stod(text.substr(stamp + 34)), static_cast<double>(std::time(nullptr)), 30);
  });
  EXPECT_EQ(r.code, 130) << r.err;
  EXPECT_TRUE(std::filesystem::exists(out + "/report.html"));
}
TEST_F(RunPageTest, AttackersChangeNoNumberAndTakeNoMemory) {
  auto words = "train " + config + " steps=4000 batch=2 eval_rows=2 ";
  auto quiet = run(words + "out=" + folder + "/quiet");
  ASSERT_EQ(quiet.code, 0) << quiet.err;
  std::int64_t before = 0, after = 0;
  std::size_t asked = 0, answered = 0;
  auto r = serve(words + "page=on out=" + folder + "/attacked", [&](const Place& at, pid_t pid) {
    std::atomic<bool> ends = false;
    auto lives = [&] {
      auto stat = slurp("/proc/" + std::to_string(pid) + "/stat");
      return !stat.empty() && stat.find(") Z") == std::string::npos;
    };
    for (int i = 0; i < 50; ++i) ask(at, request("GET /data", at.bearer()));
    before = resident(pid);
    std::vector<std::thread> attackers;
    auto attack = [&](auto f) {
      attackers.emplace_back([&, f] {
        std::mt19937_64 random(9);
        while (!ends) try {
            f(random);
          } catch (const std::exception&) {}  // the run has ended
      });
    };
    attack([&](auto&) {  // header lines without an end, on 32 connections
      std::vector<Client> slow;
      for (int i = 0; i < 32; ++i) slow.emplace_back(at.port).send("GET / HTTP/1.1\r\nHost: localhost\r\n");
      for (int i = 0; i < 8 && !ends; ++i, std::this_thread::sleep_for(100ms))
        for (auto& c : slow) c.send("X: y\r\n");
    });
    attack([&](auto&) {  // answers that nobody reads
      std::vector<Client> slow;
      for (int i = 0; i < 16; ++i) slow.emplace_back(at.port).send(request("GET /data", at.bearer()));
      std::this_thread::sleep_for(500ms);
    });
    attack([&](auto& random) {  // noise, and requests that are almost right
      auto bytes = request("GET /data?since=1.2.3.4", at.bearer());
      for (auto n = random() % 9; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
      Client c(at.port);
      c.send(bytes.substr(0, random() % bytes.size()));
      if (random() % 2) c.send(std::string(random() % 9000, static_cast<char>(random())));
      if (random() % 2) c.more(20ms);
    });
    for (int i = 0; i < 10000 && lives(); ++i) {  // connections, one after the other
      try {
        Client c(at.port);
        if (i % 3 == 0) c.reset();
      } catch (const std::exception&) {}
      if (i % 100 != 0) continue;
      ++asked;
      try {
        answered += ask(at, request("GET /data", at.bearer())).status == 200;
      } catch (const std::exception&) {}
    }
    after = resident(pid);
    ends = true;
    for (auto& t : attackers) t.join();
  }, false);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(losses(folder + "/quiet"), losses(folder + "/attacked"));
  EXPECT_EQ(losses(folder + "/quiet", "eval/loss"), losses(folder + "/attacked", "eval/loss"));
  if (after > 0) {  // else it had ended before
    EXPECT_LT(after - before, (40 << 20) + static_cast<std::int64_t>(test::kSlack));
  }
  std::printf("%zu of %zu asked in between were answered; %lld KiB more\n", answered, asked,
              static_cast<long long>((after - before) >> 10));
}
TEST_F(RunPageTest, AnAddressThatOthersReachWantsATokenOfItsOwn) {
  auto words = "train " + config + " out=" + folder + "/o ";
  is_bad_input(words + "page=0.0.0.0:0", "page.address: others reach 0.0.0.0:0; give page.token_file");
  for (auto bad : {"yes", ":80", "localhost", "localhost:x", "localhost:65536", "a b:80", "http://x:80", "[::1:80"})
    is_bad_input(words + "'page=" + bad + "'", "page.address: must be off, on, or HOST:PORT");
  is_bad_input(words + "page=on trackers=[tensorboard]", "page: it shows the numbers of metrics.jsonl");
  auto file = temp.write("token", "0123456789abcdef\n");
  ::chmod(file.c_str(), 0644);
  is_bad_input(words + "page=0.0.0.0:0 page.token_file=" + file, "chmod 600");
  ::chmod(file.c_str(), 0600);
  test::TakenPort taken;
  is_bad_input(words + "page=" + taken.address(), "cannot listen on 127.0.0.1 port");
  auto r = serve(settings + "page=0.0.0.0:0 page.token_file=" + file + " out=" + folder + "/o",
                 [&](const Place& at, pid_t) {
                   EXPECT_EQ(at.token.find("0123456789abcdef"), std::string::npos);
                   Place own{at.port, "0123456789abcdef"};
                   EXPECT_EQ(ask(own, request("GET /data", own.bearer())).status, 200);
                   EXPECT_EQ(ask(own, request("GET /data", own.bearer(), "192.168.7.7:80")).status, 200);
                   EXPECT_EQ(ask(own, request("GET /data", own.bearer(), "evil.example")).status, 403);
                   EXPECT_EQ(ask(own, request("GET /data")).status, 401);
                 });
  EXPECT_EQ(r.code, 130) << r.err;
}
TEST_F(RunPageTest, APageOpensAgainOnTheNewRank0) {
  auto said = folder + "/" + std::to_string(runs + 1) + ".out";
  auto r = run("launch --elastic 1:2 " + settings.substr(6) + "checkpoint_every=20 page=on out=" + folder + "/o",
               [&](pid_t launcher) {
                 auto first = place(said);
                 until([&] { return losses(folder + "/o").size() > 40; });
                 EXPECT_EQ(ask(first, request("GET /data", first.bearer())).status, 200);
                 for (auto& p : std::filesystem::directory_iterator("/proc")) {  // the process with rank 0
                   auto words = slurp(p.path() / "environ");
                   if (words.find("BORA_JOB=" + std::to_string(launcher) + "@") == words.npos) continue;
                   if (words.find(std::string("\0BORA_RANK=0\0", 13)) == words.npos) continue;
                   ::kill(std::stoi(p.path().filename().string()), SIGKILL);
                 }
                 auto second = place(said, 1);
                 EXPECT_NE(first.token, second.token);
                 auto data = json::parse(ask(second, request("GET /data", second.bearer())).body);
                 EXPECT_EQ(data["name"], "o");
                 ::kill(launcher, SIGTERM);
               });
  EXPECT_EQ(r.code, 130) << r.err;
}
TEST_F(RunPageTest, RunsSideBySideAreOneFile) {
  for (auto name : {"/a", "/b"}) ASSERT_EQ(run("train " + config + " out=" + folder + name).code, 0);
  auto r = run("page " + folder + "/a " + folder + "/b --out " + folder + "/two.html");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "page: " + folder + "/two.html\n");
  auto html = slurp(folder + "/two.html");
  auto begin = html.find("id=\"data\">") + 10;
  auto data = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  ASSERT_EQ(data["runs"].size(), 2U);
  EXPECT_EQ(data["runs"][1]["name"], "b");
  EXPECT_EQ(series_of(data["runs"][0], "train/loss")["points"].size(), 12U);
  is_bad_input("page " + folder + "/none --out " + folder + "/x.html", "none");
  is_bad_input("page " + folder + "/a --out " + folder + "/a/metrics.jsonl", "choose another");
}
}  // namespace run_page_test
