// exchange.h -- a request for text, from its submission to the end of its answer. Private.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "serve/api/answers.h"
#include "serve/api/request.h"
#include "serve/api/service.h"
#include "serve/desk.h"
#include "serve/metrics.h"

namespace bora::serve {
/// What exchanges share; it outlives them.
struct Common {
  Answering engine;
  ServiceOptions options;
  Metrics metrics = {};
  std::atomic<bool> closed = false;
  std::mutex mutex = {};      // of all that follows
  std::string why = {};       // it is closed
  std::shared_ptr<const Model> model = {};
  std::shared_ptr<const Names> names = {};

  std::shared_ptr<const Model> current() {
    std::lock_guard lock(mutex);
    return model;
  }
  Refused unavailable() {
    std::lock_guard lock(mutex);
    return {503, "", "unavailable", why};
  }
};
void send_json(Reply&, int status, std::string body, Headers more = {});
void send_error(Reply&, const Refused&, std::chrono::seconds retry_after);

/// All but the constructor, and gone(), runs on the thread of `writing`, which the engine's listeners only post to.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Common&, Desk& writing, Call, std::shared_ptr<const Model>, std::shared_ptr<const Names>,
           std::shared_ptr<Reply>);
  void submit();
  /// The client has left.
  void gone();

 private:
  using Clock = std::chrono::steady_clock;
  using Chosen = generate::Chosen;
  using End = generate::Listener::End;
  struct Track {  // of a choice
    std::optional<text::StreamDecoder> decoder = {};
    std::int64_t offset = 0;
    std::optional<Clock::time_point> last = {};
  };
  generate::Listener listener(std::size_t prompt);
  void begin(const std::string& fingerprint);
  void cancel();
  void fail(const Refused&);
  void echo(std::size_t prompt, const std::vector<std::optional<Chosen>>&);
  void token(std::size_t prompt, std::int64_t choice, const Chosen&, const std::string& text, Clock::time_point);
  void ended(std::size_t prompt, std::int64_t choice, const End&);
  void done(std::int64_t cached);
  std::size_t at(std::size_t prompt, std::int64_t choice) const;
  Logged logged(Track&, const Chosen&);

  Common& common_;
  Desk& writing_;
  Call call_;
  std::shared_ptr<const Model> model_;
  Forms forms_;
  std::shared_ptr<Reply> reply_;
  Clock::time_point began_ = Clock::now();
  std::vector<Choice> choices_ = {};
  std::vector<Track> tracks_ = {};
  std::vector<bool> echoed_ = {};
  Usage usage_ = {};
  std::size_t done_ = 0;
  bool over_ = false, first_ = true, begun_ = false;
  bool told_ = false;  // of the engine's thread: the fingerprint
  std::mutex mutex_ = {};  // of the two below, which the client's leaving needs at once
  std::vector<generate::Engine::Id> ids_ = {};
  bool gone_ = false;
};
}  // namespace bora::serve
