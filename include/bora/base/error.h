// error.h -- one exception type per kind of mistake. The text says what happened, with values, then what to do.
#pragma once
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bora {
class Error : public std::exception {
 public:
  explicit Error(std::string text) : text_(std::move(text)), what_(text_) {}
  /// What happened, what to do and, if known, the user's source line.
  const char* what() const noexcept override { return what_.c_str(); }
  /// The same without the source line.
  const std::string& text() const { return text_; }
  /// Adds the source place, once: the first place added is the nearest to the user's mistake.
  void add_place(const std::string& place) {
    if (placed_ || place.empty()) return;
    what_ = text_ + "   (" + place + ")";
    placed_ = true;
  }

 protected:
  std::string text_, what_;
  bool placed_ = false;
};
/// A mistake in a call of the array library. It carries at least the source place of that call; add_place replaces it
/// where an operation also knows its scope.
struct CallError : Error {
  explicit CallError(std::string text) : Error(std::move(text)) {
    if (auto place = call_site ? call_site() : std::string(); !place.empty()) what_ = text_ + "   (" + place + ")";
  }
  inline static std::string (*call_site)() = nullptr;  // set by the layer that knows call stacks (array)
};
struct ShapeError : CallError {
  using CallError::CallError;
};  // sizes or ranks that do not fit
struct DtypeError : CallError {
  using CallError::CallError;
};  // a dtype an operation does not take
struct IndexError : CallError {
  using CallError::CallError;
};  // an axis or position that does not exist
struct ValueError : CallError {
  using CallError::CallError;
};  // an argument outside its domain
struct AxisError : CallError {
  using CallError::CallError;
};  // named axes that do not fit
struct TraceError : CallError {
  using CallError::CallError;
};  // a traced value used as data, or after its transform ended
struct ShardError : CallError {
  using CallError::CallError;
};  // meshes, Specs, axis mappings
struct CheckpointError : Error {
  using Error::Error;
};  // a stored checkpoint does not fit the tree to restore
struct IoError : Error {
  using Error::Error;
};  // files
struct ConfigError : Error {
  using Error::Error;
};  // user settings
struct TransportError : Error {
  using Error::Error;
};  // communication with other ranks

std::string to_string(const std::vector<std::int64_t>&);  // "[2, 3]" (shape.h)
namespace detail {
/// Appends one part of an error's text: its result if it can be called, else the part itself or its to_string.
template <class T> void put(std::ostringstream& s, const T& part) {
  if constexpr (std::is_invocable_v<const T&>) s << part();
  else if constexpr (requires { s << part; }) s << part;
  else s << to_string(part);
}
}  // namespace detail
/// Throws E with the parts joined.
template <class E, class... Parts> [[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream s;
  (detail::put(s, parts), ...);
  throw E(s.str());
}
/// Throws E unless ok. The text is built only then; pass a part that is costly to make as a lambda.
template <class E, class... Parts> inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail<E>(parts...);
}
}  // namespace bora
