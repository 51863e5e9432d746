#include "bora/data/windows.h"
#include <algorithm>
#include "bora/base/error.h"

namespace bora::data {
namespace {
struct ByteTokens final : Tokens {
  explicit ByteTokens(Stream s) : stream(std::move(s)) {}
  std::int64_t size() const override { return stream.size(); }
  void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const override {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
    stream.read(begin, n, bytes.data());
    std::copy(bytes.begin(), bytes.end(), out);
  }
  Stream stream;
};
struct HeldTokens final : Tokens {
  explicit HeldTokens(std::vector<std::int32_t> t) : tokens(std::move(t)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(tokens.size()); }
  void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const override {
    check<ValueError>(n == 0 || !tokens.empty(), "read: there are no tokens");
    for (std::int64_t i = 0; i < n; ++i) out[i] = tokens[static_cast<std::size_t>((begin + i) % size())];
  }
  std::vector<std::int32_t> tokens;
};
struct Windows final : Dataset {
  Windows(std::shared_ptr<const Tokens> t, std::int64_t p, bool r) : tokens(std::move(t)), positions(p), ring(r) {}
  std::int64_t size() const override { return std::max<std::int64_t>(0, tokens->size() - !ring) / positions; }
  std::int64_t filled() const override { return size() * positions; }
  void at(const Place& place, const Row& row) const override {
    std::vector<std::int32_t> window(static_cast<std::size_t>(positions + 1));
    tokens->read(place.index * positions + pass_shift(place, positions), positions + 1, window.data());
    std::copy(window.begin(), window.end() - 1, row.tokens);
    std::copy(window.begin() + 1, window.end(), row.targets);
    std::fill(row.weights, row.weights + positions, 1.0F);
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
  std::string all(static_cast<std::size_t>(s.size()), '\0');
  s.read(0, s.size(), reinterpret_cast<std::uint8_t*>(all.data()));
  return tokens_of(tokenizer.encode(all));
}
std::shared_ptr<const Dataset> windows(std::shared_ptr<const Tokens> tokens, std::int64_t positions, bool ring) {
  return std::make_shared<Windows>(std::move(tokens), positions, ring);
}
}  // namespace bora::data
