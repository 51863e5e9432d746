// Bytes of an HTTP connection. The requests that come out are within the limits, and the same ones if the bytes arrive
// in two pieces, or one by one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
#include "http/reader.h"

using namespace bora;
namespace {
std::vector<http::Request> read(std::string_view bytes, std::size_t piece) {
  const http::Limits limits{.body = 300, .header = 200};
  std::vector<http::Request> out;
  std::string in;
  auto reader = std::make_unique<http::Reader>(limits);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    in += bytes.substr(at, piece);
    for (auto step = reader->put(in); step != http::Reader::Step::more; step = reader->put(in)) {
      if (step == http::Reader::Step::wrong) {
        if (reader->status() < 400 || reader->status() > 505 || reader->why().empty()) std::abort();
        return out;
      }
      if (step == http::Reader::Step::head) continue;
      out.push_back(reader->request());
      std::size_t header = 0;
      for (auto& [name, value] : out.back().headers) header += name.size() + value.size();
      if (out.back().body.size() > 300 || header > 200 || out.back().target.empty()) std::abort();
      reader = std::make_unique<http::Reader>(limits);
    }
    if (in.size() > 200 + piece) std::abort();
  }
  return out;
}
bool same(const std::vector<http::Request>& a, const std::vector<http::Request>& b) {
  return std::ranges::equal(a, b, [](auto& x, auto& y) {
    return x.method == y.method && x.target == y.target && x.query == y.query && x.headers == y.headers &&
           x.body == y.body;
  });
}
}  // namespace
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  std::string_view bytes(reinterpret_cast<const char*>(data), std::min<std::size_t>(n, 2000));
  if (bytes.empty()) return 0;
  auto whole = read(bytes, bytes.size());
  auto piece = 1 + static_cast<unsigned char>(bytes[0]) % bytes.size();
  if (!same(read(bytes, piece), whole) || !same(read(bytes, 1), whole)) std::abort();
  return 0;
}
