// param_bytes.h -- bytes of primitives' parameters: for Programs in files.
#pragma once
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include "bora/base/error.h"

namespace bora {
struct Program;
using ProgramPtr = std::shared_ptr<const Program>;  // a compiled graph of operations, shared
}                                                   // namespace bora

namespace bora::param_rules {
/// Little-endian numbers, and texts and lists with their length in front.
class Writer {
 public:
  std::string bytes;
  std::function<void(Writer&, const ProgramPtr&)> program;  // writes a held Program
  template <class T> void number(T v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(std::string_view s) {
    number<std::uint64_t>(s.size());
    bytes.append(s);
  }
};
/// Reads what a Writer has written. Throws IoError where the bytes end too early.
class Reader {
 public:
  explicit Reader(std::string_view b) : bytes_(b) {}
  std::function<ProgramPtr(Reader&)> program;
  template <class T> T number() {
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  /// The length of a list whose elements take at least one byte each.
  std::size_t length();
  std::string text() { return std::string(take(length())); }
  std::size_t left() const { return bytes_.size(); }
 private:
  std::string_view take(std::size_t n);
  std::string_view bytes_;
};
}  // namespace bora::param_rules
