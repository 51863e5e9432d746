// reader.h -- one request out of the bytes of a connection. Boost.Beast parses, of which nothing is seen here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include "http/api/server.h"

namespace bora::http {
class Reader {
 public:
  enum class Step : std::uint8_t { more, head, done, wrong };  // head: the headers are there, once
  explicit Reader(const Limits&);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  /// Takes bytes from the front of `in`, up to the end of the headers, then up to the end of the request. Of what it
  /// leaves, after `more`, it wants to see all again with what follows, and takes no more than a header's limit.
  Step put(std::string& in);
  /// Its body is there after `done`.
  Request& request() { return request_; }
  bool complete() const;     // after head: no body is to come
  std::size_t body() const;  // bytes of it that have come
  bool http_1_1() const { return http_1_1_; }
  bool keep_alive() const { return keep_alive_; }
  bool head_only() const { return head_only_; }
  bool expects_continue() const { return expects_continue_; }
  int status() const { return status_; }  // of the answer, after `wrong`
  const std::string& why() const { return why_; }

 private:
  struct Parser;
  Step wrong(int status, std::string why);
  Step put_headers(std::string& in);
  Step put_body(std::string& in);
  Step check_headers();
  bool split_target(std::string_view);
  std::unique_ptr<Parser> parser_;
  Limits limits_;
  Request request_;
  std::size_t header_ = 0;  // bytes of it that were taken
  bool at_body_ = false, http_1_1_ = true, keep_alive_ = false, head_only_ = false, expects_continue_ = false;
  int status_ = 0;
  std::string why_;
};
}  // namespace bora::http
