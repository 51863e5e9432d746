#include "http/reader.h"
#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>  // before Asio, which lacks it
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include "http/text.h"

#ifdef BOOST_ENABLE_ASSERT_HANDLER
// A mistake in Boost must cost the connection that shows it, and not the server.
namespace boost {
void assertion_failed(char const* text, char const*, char const*, long) {
  throw std::logic_error(std::string("the request cannot be read: ") + text);
}
}  // namespace boost
#endif
namespace bora::http {
namespace beast = boost::beast::http;
namespace {
// Boost has had two kinds of string views.
std::string text_of(const auto& view) { return std::string(view.data(), view.size()); }
/// Does the first line end with " HTTP/" and two digits?
bool names_version(std::string_view in) {
  auto line = in.substr(0, in.find("\r\n"));
  auto at = line.rfind(" HTTP/");
  auto digit = [&](std::size_t i) { return line[i] >= '0' && line[i] <= '9'; };
  return at != line.npos && line.size() == at + 9 && digit(at + 6) && line[at + 7] == '.' && digit(at + 8);
}
}  // namespace
struct Reader::Parser : beast::request_parser<beast::string_body> {};

Reader::Reader(const Limits& limits) : parser_(std::make_unique<Parser>()), limits_(limits) {
  parser_->body_limit(static_cast<std::uint64_t>(limits.body));
  parser_->header_limit(static_cast<std::uint32_t>(limits.header));
}
Reader::~Reader() = default;
bool Reader::complete() const { return parser_->is_done(); }
std::size_t Reader::body() const { return parser_->get().body().size(); }
Reader::Step Reader::wrong(int status, std::string why) {
  status_ = status;
  why_ = std::move(why);
  return Step::wrong;
}
Reader::Step Reader::put(std::string& in) {
  try {
    return at_body_ ? put_body(in) : put_headers(in);
  } catch (const std::logic_error& e) { return wrong(400, e.what()); }
}
Reader::Step Reader::put_body(std::string& in) {
  boost::system::error_code error;
  parser_->eager(true);
  // Beast sets no bound to the line before a chunk, nor to the headers behind the last one: it sees as many bytes at a
  // time as they may have, so that the bound does not depend on how the bytes arrive.
  auto limit = static_cast<std::size_t>(limits_.header);
  // An assertion of Beast 1.74 fails where "0\r\n" and one more byte are seen by themselves. A body in chunks does not
  // end with fewer than five bytes.
  std::size_t least = parser_->chunked() ? 5 : 1;
  while (!parser_->is_done() && in.size() >= least) {
    auto seen = std::min(in.size(), limit);
    auto n = parser_->put(boost::asio::buffer(in.data(), seen), error);
    in.erase(0, n);
    if (error == beast::error::body_limit)
      return wrong(413, "the body has more than " + std::to_string(limits_.body) + " bytes, the server's limit");
    if (error && error != beast::error::need_more) return wrong(400, "the body is not HTTP/1.1: " + error.message());
    if (n > 0) continue;
    if (seen == limit)
      return wrong(431, "the header of a chunk has more than " + std::to_string(limits_.header) + " bytes, the limit");
    break;
  }
  if (!parser_->is_done()) return Step::more;
  request_.body = std::move(parser_->get().body());
  return Step::done;
}
Reader::Step Reader::put_headers(std::string& in) {
  boost::system::error_code error;
  if (in.empty()) return Step::more;
  parser_->eager(false);
  auto n = parser_->put(boost::asio::buffer(in), error);
  in.erase(0, n);
  header_ += n;
  bool waits = error == beast::error::need_more;
  if (error == beast::error::header_limit ||
      header_ + (waits ? in.size() : 0) > static_cast<std::size_t>(limits_.header))
    return wrong(431, "the headers have more than " + std::to_string(limits_.header) + " bytes, the server's limit");
  if (waits) return Step::more;
  if (error == beast::error::body_limit)
    return wrong(413, "the body has more than " + std::to_string(limits_.body) + " bytes, the server's limit");
  if (error == beast::error::bad_version && names_version(in))
    return wrong(505, "this server speaks HTTP/1.1 and HTTP/1.0");
  if (error) return wrong(400, "this is no HTTP/1.1 request: " + error.message());
  if (!parser_->is_header_done()) return Step::more;
  return check_headers();
}
// Beast takes two Content-Lengths that are equal, and other codings than chunked; a server before this one may take
// them otherwise, and then one request hides another (request smuggling).
Reader::Step Reader::check_headers() {
  at_body_ = true;
  auto& message = parser_->get();
  http_1_1_ = message.version() >= 11;
  keep_alive_ = parser_->keep_alive();
  request_.method = text_of(message.method_string());
  for (auto& field : message) request_.headers.emplace_back(text_of(field.name_string()), text_of(field.value()));
  auto times = [&](std::string_view name) { return count(request_.headers, name); };
  auto coded = times("Transfer-Encoding");
  if (coded > 1 || (coded == 1 && (times("Content-Length") > 0 || !http_1_1_)))
    return wrong(400, "Transfer-Encoding stands beside another, beside Content-Length or in HTTP/1.0");
  if (coded == 1 && !same_word(trimmed(request_.header("Transfer-Encoding")), "chunked"))
    return wrong(501, "the only Transfer-Encoding that this server takes is chunked");
  if (times("Content-Length") > 1 || request_.header("Content-Length").find(',') != std::string_view::npos)
    return wrong(400, "there are two Content-Lengths");
  if (times("Host") > 1 || (http_1_1_ && times("Host") == 0)) return wrong(400, "one Host header is needed");
  if (auto expected = trimmed(request_.header("Expect")); !expected.empty()) {
    if (!same_word(expected, "100-continue"))
      return wrong(417, "the only Expect that this server takes is 100-continue");
    expects_continue_ = http_1_1_ && !complete();
  }
  if (!split_target(text_of(message.target())))
    return wrong(400, "the target is no path; send /path, or http://host/path");
  head_only_ = request_.method == "HEAD";
  if (head_only_) request_.method = "GET";
  return Step::head;
}
bool Reader::split_target(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!same_word(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    auto end = std::min(target.find_first_of("/?"), target.size());
    std::string host(target.substr(0, end));
    if (host.empty() || host.find('@') != host.npos) return false;
    std::erase_if(request_.headers, [](const auto& h) { return same_word(h.first, "Host"); });  // RFC 9112, 3.2.2
    request_.headers.emplace_back("Host", std::move(host));
    target.remove_prefix(end);
    if (!target.starts_with('/')) request_.target = "/";
    break;
  }
  if (request_.target.empty() && !target.starts_with('/') && !(target == "*" && request_.method == "OPTIONS"))
    return false;
  auto query = std::min(target.find('?'), target.size());
  request_.target += target.substr(0, query);
  request_.query = target.substr(std::min(query + 1, target.size()));
  return true;
}
}  // namespace bora::http
