// service.h -- OpenAI's interface over an engine. It knows no sockets: the command joins it with the HTTP server.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include "bora/generate/engine.h"
#include "serve/api/model.h"

namespace bora::serve {
using Headers = std::vector<std::pair<std::string, std::string>>;
/// A request as HTTP brings it.
struct Ask {
  std::string method, path, body = {};
};
/// The way back to a client. Any thread calls it, none waits for it; after a client has gone calls do nothing.
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void send(int status, Headers, std::string body) = 0;
  /// A stream of events, and the data of each of them.
  virtual void begin() = 0;
  virtual void event(std::string data) = 0;
  virtual void end() = 0;
  /// Calls f once when the client leaves before the end; at once if it has.
  virtual void on_gone(std::function<void()> f) = 0;
};
/// The engine as the service sees it.
struct Answering {
  std::function<std::optional<generate::Engine::Id>(generate::Request, generate::Listener)> submit;
  std::function<void(generate::Engine::Id)> cancel;
  std::function<generate::EngineReport()> report;
};
Answering answering(generate::Engine&);
struct ServiceOptions {
  std::chrono::milliseconds time{0};        // of a request at most; 0: as long as it takes
  std::chrono::seconds retry_after{1};      // said where the queue is full
};
/// Functions may be called by any thread and return at once: requests are read on one thread of the service, and
/// answers formed on another one, so that neither the server nor the engine waits.
class Service {
 public:
  Service(Model, Answering, ServiceOptions = {});
  /// After the engine and the server have ended.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  void answer(Ask, std::shared_ptr<Reply>);
  /// From now on new requests get a 503 with this reason, and so do those that end without an answer.
  void close(const std::string& why);
  /// Requests that come from now on are answered with other weights, of this fingerprint.
  void renew(const std::string& fingerprint);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
/// The page at /, and the policy that its header Content-Security-Policy has.
struct Page {
  std::string html, policy;
};
const Page& page();
}  // namespace bora::serve
