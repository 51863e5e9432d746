// net.h -- sockets, TLS and time: Asio behind plain classes. Functions run on the loop's thread unless they say
// otherwise.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include "http/api/server.h"

namespace bora::http {
/// The queue of all that the server's thread does.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  /// Runs until end() was called and nothing is left to do.
  void run();
  void end();                                                      // on any thread
  void post(std::function<void()>);                                // on any thread
  void every(std::chrono::milliseconds, std::function<void()> f);  // until end()
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};
/// One connection. Each function calls `done` later, never before it returns; close() makes all of them fail.
class Wire {
 public:
  using Done = std::function<void(bool ok, std::size_t n)>;
  virtual ~Wire() = default;
  virtual bool secret() const = 0;  // over TLS
  virtual void greet(Done) = 0;     // the handshake of TLS
  virtual void read(char* to, std::size_t n, Done) = 0;
  virtual void write(const char* from, std::size_t n, Done) = 0;
  virtual void finish(Done) = 0;  // no more will be written
  virtual void close() = 0;
  virtual void reset() = 0;       // the same; the other side sees an error
  virtual bool left() const = 0;  // the other side has closed, although what it sent may not be read yet
};
/// Where connections come in.
class Door {
 public:
  /// Throws IoError if nothing can listen there, or for the files of the certificate.
  Door(Loop&, const ServerOptions&, std::function<void(std::unique_ptr<Wire>)> arrived);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  int port() const;  // on any thread
  void open();
  void close();

 private:
  struct State;
  std::shared_ptr<State> state_;
};
}  // namespace bora::http
