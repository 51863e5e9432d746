#include "bora/data/windows.h"
#include <algorithm>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "bora/data/around.h"

namespace bora::data {
namespace {
struct ByteTokens final : Tokens {
  explicit ByteTokens(Stream s) : stream(std::move(s)) {
    std::int64_t end = 0;
    for (auto& p : stream.pieces()) {
      begins.push_back(end);
      end += p.bytes + !p.line;
    }
    tokens = end;
  }
  std::int64_t size() const override { return tokens; }
  void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const override {
    check<ValueError>(n == 0 || tokens > 0, "read: there are no tokens");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n), '\n');
    if (tokens == stream.size()) stream.read(begin, n, bytes.data());
    else
      for (std::int64_t done = 0; done < n;) {
        auto at = (begin + done) % tokens;
        auto number = std::upper_bound(begins.begin(), begins.end(), at) - begins.begin() - 1;
        auto& piece = stream.pieces()[static_cast<std::size_t>(number)];
        auto from = at - begins[static_cast<std::size_t>(number)];
        auto take = std::min(n - done, piece.bytes - from);  // 0 at the line feed behind it
        if (take > 0) stream.read(piece.start + from, take, bytes.data() + done);
        done += std::max<std::int64_t>(take, 1);
      }
    std::copy(bytes.begin(), bytes.end(), out);
  }
  Stream stream;
  std::vector<std::int64_t> begins = {};  // of the pieces, in tokens
  std::int64_t tokens = 0;
};
struct HeldTokens final : Tokens {
  explicit HeldTokens(std::vector<std::int32_t> t, std::vector<std::int64_t> s = {})
      : tokens(std::move(t)), seams_of(std::move(s)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens.size()); }
  void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const override {
    check<ValueError>(n == 0 || !tokens.empty(), "read: there are no tokens");
    for (std::int64_t i = 0; i < n; ++i) out[i] = tokens[static_cast<std::size_t>((begin + i) % size())];
  }
  std::span<const std::int64_t> seams() const override { return seams_of; }
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> seams_of;
};
struct Windows final : Dataset {
  Windows(std::shared_ptr<const Tokens> t, std::int64_t p, bool r) : tokens(std::move(t)), positions(p), ring(r) {}
  std::int64_t size() const override { return std::max<std::int64_t>(0, tokens->size() - !ring) / positions; }
  std::int64_t filled() const override { return size() * positions; }
  void at(const Place& place, const Row& row) const override {
    std::vector<std::int32_t> window(static_cast<std::size_t>(positions + 1));
    auto first = (place.index * positions + pass_shift(place, positions)) % tokens->size();
    tokens->read(first, positions + 1, window.data());
    std::copy(window.begin(), window.end() - 1, row.tokens);
    std::copy(window.begin() + 1, window.end(), row.targets);
    std::fill(row.weights, row.weights + positions, 1.0F);
    auto seams = tokens->seams();
    for (std::int64_t i = 0; i < positions && !seams.empty(); ++i)
      if (std::binary_search(seams.begin(), seams.end(), (first + i + 1) % tokens->size())) row.weights[i] = 0;
    *row.filled = static_cast<std::int32_t>(positions);
  }
  std::shared_ptr<const Tokens> tokens;
  std::int64_t positions;
  bool ring;
};
}  // namespace

std::shared_ptr<const Tokens> byte_tokens(Stream s) { return std::make_shared<ByteTokens>(std::move(s)); }
std::shared_ptr<const Tokens> tokens_of(std::vector<std::int32_t> t) {
  return std::make_shared<HeldTokens>(std::move(t));
}
std::shared_ptr<const Tokens> encoded_tokens(const Stream& s, const text::Tokenizer& tokenizer) {
  Around around(tokenizer);
  bool marks = tokenizer.end_of_text().has_value();
  std::vector<std::int32_t> all, alone = tokenizer.encode("");
  around.append_end(alone);
  bool seamed = alone.empty();  // no token stands between pieces
  std::vector<std::int64_t> seams;
  std::string piece;
  for (auto& p : s.pieces()) {
    piece.resize(static_cast<std::size_t>(p.bytes));
    s.read(p.start, p.bytes, reinterpret_cast<std::uint8_t*>(piece.data()));
    if (auto bad = first_not_utf8(piece); bad != piece.npos && !tokenizer.bytes())
      fail<ConfigError>("data: ", s.path(p), " is not UTF-8: byte ", p.offset + static_cast<std::int64_t>(bad) + 1,
                        " of it belongs to no character. Write it as UTF-8 (iconv -t utf-8), choose "
                        "tokenizer=bytes, or give it as a source with data.on_error=skip or replace");
    auto ids = tokenizer.encode(piece);
    if (marks || !p.line) around.append_end(ids);
    if (seamed && !ids.empty()) seams.push_back(static_cast<std::int64_t>(all.size()));
    if (all.empty()) all = std::move(ids);
    else all.insert(all.end(), ids.begin(), ids.end());
  }
  return std::make_shared<HeldTokens>(std::move(all), std::move(seams));
}
std::shared_ptr<const Dataset> windows(std::shared_ptr<const Tokens> tokens, std::int64_t positions, bool ring) {
  return std::make_shared<Windows>(std::move(tokens), positions, ring);
}
}  // namespace bora::data
