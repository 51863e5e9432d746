#include "text/tokenizers/model_proto.h"
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_set>
#include "bora/base/error.h"
#include "bora/base/text.h"
#include "text/tokenizers/charsmap.h"

namespace bora::text {
namespace {
constexpr std::size_t kMostPieces = std::size_t{1} << 24, kMostPieceBytes = 4096;  // bytes of a piece

/// Fields of a message, one after the other.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& where) : rest_(bytes), where_(where) {}
  int number = 0;           // of the field
  std::uint64_t value = 0;  // of a number
  float real = 0;           // of a number of 32 bits
  std::string_view bytes;   // of a text or message; null data for others
  bool next() {
    if (rest_.empty()) return false;
    auto tag = varint();
    check<IoError>(tag >> 3 > 0 && tag >> 3 < 1u << 29, where_, ": a field has no number");
    number = static_cast<int>(tag >> 3);
    bytes = {};
    value = 0;
    switch (tag & 7) {
      case 0: value = varint(); break;
      case 1: take(8); break;
      case 2: bytes = take(varint()); break;
      case 5: {
        auto four = take(4);
        std::memcpy(&real, four.data(), 4);
        break;
      }
      default: fail<IoError>(where_, ": field ", number, " is of no known form: this is no SentencePiece model");
    }
    return true;
  }

 private:
  std::string_view take(std::uint64_t n) {
    check<IoError>(n <= rest_.size(), where_, ": ends within a field");
    auto taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t x = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      auto c = static_cast<unsigned char>(take(1)[0]);
      x |= std::uint64_t{c & 0x7fu} << shift;
      if (c < 0x80) return x;
    }
    fail<IoError>(where_, ": a number has more than 64 bits");
  }
  std::string_view rest_;
  const std::string& where_;
};

class ModelReader {
 public:
  ModelReader(std::string_view bytes, const std::string& file) : file_(file) {
    for (Fields f(bytes, file_); f.next();) {
      if (f.number == 1) piece(f.bytes);
      if (f.number == 2) trainer(f.bytes);
      if (f.number == 3) normalizer(f.bytes);
      if (f.number == 5)
        for (Fields g(f.bytes, file_); g.next();)
          need(g.number != 2 || g.bytes.empty(), "a denormalizer is not supported");
    }
    need(unknowns_ == 1, "has ", unknowns_, " unknown pieces; expected one");
    need(type_ == 1 || type_ == 2, "the model is of type ",
         type_ == 3   ? "word"
         : type_ == 4 ? "char"
                      : "?",
         ", which is not supported; supported: unigram, bpe");
    need(!fallback_ || bytes_ == 256, "has ", bytes_, " pieces of bytes; byte_fallback needs all 256");
    need(fallback_ || bytes_ == 0, "has pieces of bytes, but no byte_fallback");
  }
  ModelProto take() { return std::move(out_); }

 private:
  template <class... Parts> void need(bool ok, const Parts&... parts) const {
    check<IoError>(ok, file_, ": ", parts...);
  }
  void piece(std::string_view bytes) {
    ModelProto::Piece p;
    auto n = out_.pieces.size();
    for (Fields f(bytes, file_); f.next();) {
      if (f.number == 1) p.text = f.bytes;
      if (f.number == 2) need(std::isfinite(f.real), "the score of piece ", n, " is no number");
      if (f.number == 3) p.type = f.value >= 1 && f.value <= 6 ? static_cast<int>(f.value) : 0;
    }
    need(n < kMostPieces, "has more than ", kMostPieces, " pieces");
    need(p.type != 0, "piece ", n, " is of no known type");
    need(!p.text.empty() && p.text.size() <= kMostPieceBytes, "piece ", n, " has ", p.text.size(), " bytes");
    need(first_not_utf8(p.text) == p.text.npos && p.text.find('\0') == p.text.npos, "piece ", n, " is no text");
    need(seen_.insert(p.text).second, "'", p.text, "' is a piece twice");
    unknowns_ += p.type == ModelProto::unknown;
    if (p.type == ModelProto::byte) {
      char name[8];
      std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(bytes_++ & 0xff));
      need(p.text == name, "piece ", n, " is '", p.text, "'; expected ", name, ": bytes are in order");
    }
    out_.pieces.push_back(std::move(p));
  }
  void trainer(std::string_view bytes) {
    for (Fields f(bytes, file_); f.next();) {
      if (f.number == 3) type_ = static_cast<int>(std::min<std::uint64_t>(f.value, 5));
      if (f.number == 24) need(f.value == 0, "treat_whitespace_as_suffix is not supported");
      if (f.number == 35) fallback_ = f.value != 0;
      if (f.number == 44) {
        out_.unknown_surface = f.bytes.substr(0, f.bytes.find('\0'));
        need(first_not_utf8(out_.unknown_surface) == std::string::npos, "unk_surface is no text");
      }
    }
  }
  void normalizer(std::string_view bytes) {
    bool prefix = true, remove = true;
    for (Fields f(bytes, file_); f.next();) {
      if (f.number == 2 && !f.bytes.empty()) Charsmap(f.bytes, file_ + ": precompiled_charsmap");
      if (f.number == 3) prefix = f.value != 0;
      if (f.number == 4) remove = f.value != 0;
      if (f.number == 5) need(f.value != 0, "escape_whitespaces is false, which is not supported");
    }
    out_.strips_first = prefix || remove;
    out_.strips_all = remove;
  }
  const std::string& file_;
  ModelProto out_;
  std::unordered_set<std::string> seen_;
  int unknowns_ = 0, bytes_ = 0, type_ = 1;
  bool fallback_ = false;
};
}  // namespace

ModelProto parse_model(std::string_view bytes, const std::string& file) {
  check<IoError>(!bytes.empty(), file, ": is empty");
  return ModelReader(bytes, file).take();
}
}  // namespace bora::text
