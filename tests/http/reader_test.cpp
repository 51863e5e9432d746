// Bytes to requests, without sockets: where the bytes are cut does not matter.
#include "http/reader.h"
#include <gtest/gtest.h>
#include "bora/base/error.h"
#include "http/client.h"
#include "laws/effort.h"

namespace reader_test {
using namespace bora;
using http::Reader;

/// All that comes out of bytes that arrive in these pieces: each request, then how it ends.
std::string read(const std::vector<std::string>& pieces, const http::Limits& limits) {
  std::string in, out;
  auto reader = std::make_unique<Reader>(limits);
  for (auto& piece : pieces) {
    in += piece;
    for (;;) {
      auto step = reader->put(in);
      if (step == Reader::Step::more) break;
      if (step == Reader::Step::wrong) return out + std::to_string(reader->status()) + " " + reader->why();
      if (step == Reader::Step::head) continue;
      auto& r = reader->request();
      out += r.method + "|" + r.target + "|" + r.query + "|" + r.body + "|";
      for (auto& [name, value] : r.headers) out += name + "=" + value + ";";
      out += reader->keep_alive() ? "keeps\n" : "closes\n";
      reader = std::make_unique<Reader>(limits);
      if (in.empty()) break;
    }
  }
  return out + "more";
}
std::vector<std::string> samples() {
  using test::request;
  return {
      request("GET /a?b=c"),
      request("POST /echo", "X-Long: " + std::string(300, 'x') + "\r\n", "some body\r\n\r\nwith lines") +
          request("GET /b"),
      request("POST /c", "Transfer-Encoding: chunked\r\n") +
          "5\r\nhello\r\n1;ext=\"v\"\r\n \r\n5\r\nworld\r\n0\r\nT: u\r\n\r\n",
      request("OPTIONS *", "Connection: close\r\n"),
      request("HEAD http://host:1/p?q", "Expect: 100-continue\r\n"),
      "GET / HTTP/1.0\r\n\r\n",
      request("POST /empty", "Transfer-Encoding: chunked\r\n") + "0\r\n\r\n" + request("GET /f"),
      request("POST /d", "Content-Length: 0\r\nConnection: keep-alive, x\r\n") + request("DELETE /e"),
  };
}
TEST(HttpReader, CutsDoNotMatter) {
  for (auto& text : samples()) {
    auto whole = read({text}, {});
    EXPECT_NE(whole.find('\n'), whole.npos) << text;
    EXPECT_TRUE(whole.ends_with("more")) << whole;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      EXPECT_EQ(read({text.substr(0, i), text.substr(i)}, {}), whole) << i;
      EXPECT_TRUE(read({text.substr(0, i)}, {}).ends_with("more")) << "a beginning is no mistake";
    }
    std::vector<std::string> bytes;
    for (char c : text) bytes.emplace_back(1, c);
    EXPECT_EQ(read(bytes, {}), whole);
  }
}
TEST(HttpReader, TargetsAndHosts) {
  auto first = [](const std::string& text) { return read({text}, {}); };
  EXPECT_EQ(first("GET http://A:8/x?y?z HTTP/1.1\r\nHost: b\r\n\r\n"), "GET|/x|y?z||Host=A:8;keeps\nmore");
  EXPECT_EQ(first("GET http://a?y HTTP/1.1\r\nHost: b\r\n\r\n"), "GET|/|y||Host=a;keeps\nmore");
  EXPECT_EQ(first("GET HTTPS://a HTTP/1.1\r\nHost: b\r\n\r\n"), "GET|/|||Host=a;keeps\nmore");
  EXPECT_EQ(first("GET //a/../b%2f HTTP/1.1\r\nHost: b\r\n\r\n"), "GET|//a/../b%2f|||Host=b;keeps\nmore");
  EXPECT_EQ(first("GET /? HTTP/1.1\r\nHost: b\r\n\r\n"), "GET|/|||Host=b;keeps\nmore");
}
TEST(HttpReader, TheLimitsAreExact) {
  http::Limits limits{.body = 10, .header = 100};
  auto post = [](std::size_t header, std::size_t body) {
    auto text = test::request("POST /", "", std::string(body, 'b'));
    auto length = text.size() - body;
    return text.replace(text.find("localhost"), 9, std::string(9 + header - length, 'h'));
  };
  EXPECT_TRUE(read({post(100, 10)}, limits).ends_with("more"));
  EXPECT_TRUE(read({post(101, 10)}, limits).starts_with("431 the headers have more than 100 bytes"));
  EXPECT_TRUE(read({post(100, 11)}, limits).starts_with("413 the body has more than 10 bytes"));
  EXPECT_TRUE(read({post(101, 9)}, limits).starts_with("431"));
  auto chunk = [](std::size_t line) {  // the end of a body whose last chunk's header has so many bytes
    return test::request("POST /", "Transfer-Encoding: chunked\r\n") + "0;" + std::string(line - 6, 'e') + "\r\n\r\n";
  };
  EXPECT_TRUE(read({chunk(100)}, limits).ends_with("\nmore"));
  EXPECT_TRUE(read({chunk(101)}, limits).starts_with("431 the header of a chunk has more than 100 bytes"));
}
// Messages with random damage: the Reader comes to the same end however they are cut, and keeps to its limits.
TEST(HttpReader, DamagedMessages) {
  http::Limits limits{.body = 200, .header = 400};
  std::uint64_t state = 7;
  auto draw = [&](std::size_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>((state >> 33) % n);
  };
  const std::vector<std::string> words{"\r\n",
                                       "\r\n\r\n",
                                       ":",
                                       " ",
                                       ",",
                                       ";",
                                       "0",
                                       "-1",
                                       "ffffffffffffffff",
                                       "Content-Length: 3\r\n",
                                       "Transfer-Encoding: chunked\r\n",
                                       "chunked",
                                       "HTTP/1.0",
                                       "Host: h\r\n",
                                       "\n",
                                       "\r",
                                       std::string(1, '\0'),
                                       "\xff",
                                       "Expect: 100-continue\r\n",
                                       "Connection: close\r\n",
                                       "\"",
                                       "\\"};
  int whole = 0, wrong = 0;
  for (int round = 0; round < (laws::effort() == laws::Effort::full ? 2'000'000 : 20'000); ++round) {
    auto all = samples();
    auto text = all[draw(all.size())];
    for (auto n = 1 + draw(3); n-- > 0 && !text.empty();) {
      auto at = draw(text.size());
      switch (draw(5)) {
        case 0: text[at] = static_cast<char>(draw(256)); break;
        case 1: text.erase(at, 1 + draw(8)); break;
        case 2: text.insert(at, words[draw(words.size())]); break;
        case 3: text.insert(at, text.substr(draw(text.size()), draw(40))); break;
        case 4: text.resize(at); break;
      }
    }
    auto once = read({text}, limits);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, 1 + draw(draw(4) == 0 ? 60 : 5)));
      at += pieces.back().size();
    }
    auto cut = read(pieces, limits);
    // When a mistake is seen, and which of two, may depend on the cut; the requests before it may not.
    auto before = [](const std::string& s) { return s.substr(0, s.rfind('\n') + 1); };
    ASSERT_EQ(before(cut), before(once)) << text;
    whole += once.ends_with("more");
    wrong += !once.ends_with("more");
  }
  EXPECT_GT(whole, 1000);
  EXPECT_GT(wrong, 1000);
}
}  // namespace reader_test
