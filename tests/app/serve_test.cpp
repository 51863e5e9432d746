// A server as a process: clients alone and in company, clients that leave, signals, ranks that are lost.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <csignal>
#include <future>
#include <nlohmann/json.hpp>
#include "command.h"

namespace serve_test {
using namespace bora;
using nlohmann::json;
namespace {
/// A connection to a server of this machine, for one request.
class Client {
 public:
  Client(int port, const std::string& method, const std::string& path, const std::string& body,
         const std::string& headers = "") : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
    connected_ = ::connect(fd_, reinterpret_cast<::sockaddr*>(&a), sizeof a) == 0 &&
                 ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  ~Client() { leave(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void leave() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  bool connected() const { return connected_; }
  /// Reads until these words have come, or the end.
  const std::string& until(const std::string& words) {
    char piece[4096];
    while (text_.find(words) == text_.npos) {
      auto n = ::recv(fd_, piece, sizeof piece, 0);
      if (n <= 0) break;
      text_.append(piece, static_cast<std::size_t>(n));
    }
    return text_;
  }
  const std::string& all() { return until(std::string(1, '\0') + "never"); }
  int status() {
    auto& text = until("\r\n\r\n");
    return text.starts_with("HTTP/1.1 ") ? std::stoi(text.substr(9, 3)) : 0;
  }
  std::string body() {
    auto text = all();
    auto at = text.find("\r\n\r\n");
    return at == text.npos ? "" : text.substr(at + 4);
  }

 private:
  int fd_;
  bool connected_ = false;
  std::string text_ = {};
};
json ask(int port, const json& request, const std::string& path = "/v1/completions") {
  Client c(port, "POST", path, request.dump());
  EXPECT_EQ(c.status(), 200) << c.all();
  return json::parse(c.body(), nullptr, false);
}
std::string metric(int port, const std::string& name) {
  Client c(port, "GET", "/metrics", "");
  auto text = c.body();
  auto at = text.find("\n" + name + "{");
  if (at == text.npos) return "none";
  auto begin = text.find("} ", at) + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}
struct ServeTest : CommandTest {
  std::string out = folder + "/o";
  /// A run of a model with room for long answers.
  void train(const std::string& more = "") {
    auto r = run("train " + config + " model.positions=2048 batch=2 steps=1 eval.rows=2 out=" + out + more);
    ASSERT_EQ(r.code, 0) << r.err;
  }
  /// Serves the run while f is called with the port; then a SIGTERM, unless the server has been told by f.
  Result serve(const std::string& flags, const std::function<void(int port, pid_t)>& f, bool ends = true,
               const std::string& launch = "") {
    auto said = folder + "/" + std::to_string(runs + 1) + ".out";
    return run(launch + "serve " + out + " --port 0 " + flags, [&](pid_t pid) {
      auto port = [&] {
        auto text = slurp(said);
        auto at = text.find("http://127.0.0.1:");
        return at == text.npos || text.find('\n', at) == text.npos ? 0 : std::stoi(text.substr(at + 17));
      };
      auto ended = [&] {
        ::siginfo_t info{};
        return ::waitid(P_PID, static_cast<::id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
      };
      until([&] { return port() != 0 || ended(); });
      bool serves = port() != 0;
      EXPECT_TRUE(serves);
      if (serves) f(port(), pid);
      if (ends || !serves) ::kill(pid, SIGTERM);
    });
  }
};
json request(const std::string& prompt, std::int64_t tokens, std::uint64_t seed) {
  return {{"prompt", prompt}, {"max_tokens", tokens}, {"seed", seed}, {"temperature", 1.2}};
}
}  // namespace

TEST_F(ServeTest, ATextIsTheSameAloneAndInCompany) {
  train();
  auto r = serve("", [&](int port, pid_t) {
    auto text = [&](int i) {
      return ask(port, request("The wind " + std::string(static_cast<std::size_t>(i) * 7, 'x'), 40 + i,
                               static_cast<std::uint64_t>(i)))["choices"][0]["text"]
          .get<std::string>();
    };
    std::vector<std::string> alone;
    for (int i = 0; i < 9; ++i) alone.push_back(text(i));
    EXPECT_NE(alone[0], alone[1]);
    std::vector<std::future<std::string>> together;
    for (int i = 0; i < 9; ++i) together.push_back(std::async(std::launch::async, text, i));
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(together[i].get(), alone[i]);
    // A stream has the same text, and ends.
    auto streamed = request("The wind ", 40, 0);
    streamed["stream"] = true;
    Client c(port, "POST", "/v1/completions", streamed.dump());
    std::string said;
    auto body = c.body();
    for (std::size_t at = 0; (at = body.find("data: {", at)) != body.npos;) {
      auto end = body.find("\n\n", at);
      said += json::parse(body.substr(at + 6, end - at - 6))["choices"][0]["text"];
      at = end;
    }
    EXPECT_EQ(said, alone[0]);
    EXPECT_NE(body.find("data: [DONE]\n\n"), body.npos);
    EXPECT_EQ(metric(port, "bora_num_requests_running"), "0");
    // What a client is told of the model.
    Client models(port, "GET", "/v1/models", "");
    EXPECT_EQ(json::parse(models.body())["data"][0]["id"], "o");
    auto first = ask(port, request("a", 1, 1));
    EXPECT_TRUE(first["system_fingerprint"].get<std::string>().starts_with("bora-")) << first;
    EXPECT_EQ(first["usage"]["completion_tokens"], 1);
    json with_logprobs{{"prompt", "The wind"}, {"max_tokens", 1}, {"temperature", 0}, {"logprobs", 1}, {"echo", true}};
    auto whole = ask(port, with_logprobs);
    auto& l = whole["choices"][0]["logprobs"];
    EXPECT_EQ(l["tokens"].size(), 9U);
    EXPECT_EQ(l["top_logprobs"][8][l["tokens"][8].get<std::string>()], l["token_logprobs"][8]);
  });
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
}
TEST_F(ServeTest, ClientsThatLeaveHoldNothing) {
  train();
  auto r = serve("", [&](int port, pid_t) {
    auto alone = ask(port, request("b", 50, 2))["choices"][0]["text"];
    for (bool streaming : {true, false}) {
      auto endless = request("a", 1900, 1);
      endless["stream"] = streaming;
      Client gone(port, "POST", "/v1/completions", endless.dump());
      until([&] { return metric(port, "bora_num_requests_running") == "1"; });
      if (streaming) gone.until("data: ");
      gone.leave();
      until([&] { return metric(port, "bora_num_requests_running") == "0"; });
      EXPECT_EQ(ask(port, request("b", 50, 2))["choices"][0]["text"], alone);
    }
    EXPECT_LT(std::stoi(metric(port, "bora_generation_tokens_total")), 1900);
  });
  EXPECT_EQ(r.code, 0) << r.err;
}
TEST_F(ServeTest, RunningRequestsEndAfterASignal) {
  train();
  json answer;
  auto r = serve("", [&](int port, pid_t pid) {
    auto running = std::async(std::launch::async, [&] { return ask(port, request("a", 400, 1)); });
    until([&] { return metric(port, "bora_num_requests_running") == "1"; });
    ::kill(pid, SIGTERM);
    answer = running.get();
  }, false);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(answer["usage"]["completion_tokens"], 400);
  for (std::string flags : {"--drain 0", "--drain 100"}) {
    std::string cut;
    r = serve(flags, [&](int port, pid_t pid) {
      auto endless = request("a", 1900, 1);
      endless["stream"] = true;
      Client c(port, "POST", "/v1/completions", endless.dump());
      c.until("data: ");
      ::kill(pid, SIGTERM);
      if (flags == "--drain 100") {
        until([&] { return Client(port, "GET", "/health", "").status() != 200; });
        EXPECT_EQ(Client(port, "POST", "/v1/completions", R"({"prompt": "a"})").status(), 503);
        ::kill(pid, SIGINT);  // a second one ends at once
      }
      cut = c.all();
    }, false);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(cut.find("shutting down"), cut.npos) << cut.substr(cut.size() < 500 ? 0 : cut.size() - 500);
    EXPECT_EQ(cut.find("[DONE]"), cut.npos);
  }
}
TEST_F(ServeTest, RanksServeOneModel) {
  train();
  std::string alone, text, cut;
  auto r = serve("", [&](int port, pid_t) { alone = ask(port, request("The ", 60, 4))["choices"][0]["text"]; });
  EXPECT_EQ(r.code, 0) << r.err;
  r = serve("", [&](int port, pid_t) { text = ask(port, request("The ", 60, 4))["choices"][0]["text"]; }, true,
            "launch -n 2 -- ");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(text, alone);
  r = serve("", [&](int port, pid_t pid) {
    auto endless = request("a", 1900, 1);
    endless["stream"] = true;
    Client c(port, "POST", "/v1/completions", endless.dump());
    c.until("data: ");
    auto children = slurp("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
    std::istringstream pids(children);
    pid_t first = 0, second = 0;
    pids >> first >> second;
    ASSERT_GT(second, 0) << children;
    ::kill(second, SIGKILL);
    cut = c.all();
  }, false, "launch -n 2 -- ");
  EXPECT_EQ(r.code, 86) << r.err;
  EXPECT_NE(cut.find("data: {\"error\":"), cut.npos) << cut.substr(cut.size() < 500 ? 0 : cut.size() - 500);
}
TEST_F(ServeTest, NewerCheckpointsAreFollowed) {
  train();
  auto ask_it = [](int port) { return ask(port, {{"prompt", "The "}, {"max_tokens", 30}, {"temperature", 0}}); };
  json before, after, still;
  auto said = folder + "/" + std::to_string(runs + 1) + ".err";
  auto r = serve("--follow", [&](int port, pid_t) {
    before = ask_it(port);
    auto more = run("train " + config + " model.positions=2048 batch=2 steps=40 lr=1e-1 eval.rows=2 out=" + out);
    ASSERT_EQ(more.code, 0) << more.err;
    until([&] { return ask_it(port)["system_fingerprint"] != before["system_fingerprint"]; });
    after = ask_it(port);
    std::filesystem::create_directory(out + "/checkpoints/step-99");
    std::ofstream(out + "/checkpoints/step-99/manifest") << "damaged";
    until([&] { return slurp(said).find("the old weights stay") != std::string::npos; });
    still = ask_it(port);
  });
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(after["choices"][0]["text"], before["choices"][0]["text"]);
  EXPECT_EQ(still["choices"], after["choices"]);
  EXPECT_EQ(still["system_fingerprint"], after["system_fingerprint"]);
  std::filesystem::remove_all(out + "/checkpoints/step-99");
  r = serve("", [&](int port, pid_t) {
    auto fresh = ask_it(port);
    EXPECT_EQ(fresh["choices"], after["choices"]);
    EXPECT_EQ(fresh["system_fingerprint"], after["system_fingerprint"]);
  });
  EXPECT_EQ(r.code, 0) << r.err;
}
TEST_F(ServeTest, WordsThatCannotBeServedAreErrors) {
  train();
  is_bad_input("serve " + out + " --host 0.0.0.0", "give --key-file");
  is_bad_input("serve " + out + " --tls-cert x", "belong together");
  is_bad_input("serve " + out + " --rows 0", "--rows: must be");
  is_bad_input("serve " + out + " --drain -1", "--drain: must be");
  is_bad_input("serve " + out + " --key-file " + folder + "/none", "none");
  is_bad_input("serve " + out + " layout=fsdp", "layout");
  is_bad_input("serve " + folder + "/nowhere", "no folder of a run");
  auto keys = folder + "/keys";
  std::ofstream(keys) << "secret-1\nsecret-2\n";
  is_bad_input("serve " + out + " --key-file " + keys + " --port 0", "chmod 600 it", "chmod 644 " + keys + ";");
  ::chmod(keys.c_str(), 0600);
  auto r = serve("--key-file " + keys, [&](int port, pid_t) {
    EXPECT_EQ(Client(port, "GET", "/v1/models", "").status(), 401);
    EXPECT_EQ(Client(port, "GET", "/v1/models", "", "Authorization: Bearer wrong\r\n").status(), 401);
    EXPECT_EQ(Client(port, "GET", "/v1/models", "", "Authorization: Bearer secret-2\r\n").status(), 200);
    EXPECT_EQ(Client(port, "GET", "/health", "").status(), 200);
    EXPECT_EQ(Client(port, "GET", "/", "").status(), 200);
    EXPECT_EQ(Client(port, "GET", "/metrics", "").status(), 401);
    auto chat = Client(port, "POST", "/v1/chat/completions", R"({"messages": [{"role": "user", "content": "a"}]})",
                       "Authorization: Bearer secret-1\r\n").body();
    EXPECT_NE(chat.find("--chat-template"), chat.npos) << chat;
  });
  EXPECT_EQ(r.code, 0) << r.err;
  // On loopback a page's own name for this address is refused.
  r = serve("", [&](int port, pid_t) {
    EXPECT_EQ(Client(port, "GET", "/v1/models", "", "Origin: https://elsewhere.example\r\n").status(), 403);
  });
  EXPECT_EQ(r.code, 0) << r.err;
}
}  // namespace serve_test
