// error.h -- one exception type per kind of mistake. Text says what happened with values, then what to do.
#pragma once
#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace bora {
class Error : public std::exception {
 public:
  explicit Error(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  /// Adds where it happened, once: the first place that knows is the nearest to the user's mistake.
  void add_place(const std::string& place) {
    if (!placed_ && !place.empty()) text_ += "   (" + place + ")";
    placed_ = placed_ || !place.empty();
  }
 private:
  std::string text_;
  bool placed_ = false;
};
struct ShapeError : Error { using Error::Error; };        // sizes or ranks that do not fit
struct DtypeError : Error { using Error::Error; };        // a dtype an operation does not take
struct IndexError : Error { using Error::Error; };        // an axis or position that does not exist
struct ValueError : Error { using Error::Error; };        // an argument outside its domain
struct AxisError : Error { using Error::Error; };         // named axes that do not fit
struct TraceError : Error { using Error::Error; };        // a traced value used as data, or after its transform ended
struct ShardError : Error { using Error::Error; };        // meshes, Specs, axis mappings
struct CheckpointError : Error { using Error::Error; };   // what a stored checkpoint says against what is wanted
struct IoError : Error { using Error::Error; };           // files
struct ConfigError : Error { using Error::Error; };       // settings a person wrote
struct TransportError : Error { using Error::Error; };    // other ranks

/// Throws E with the parts joined.
template <class E, class... Parts> [[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  throw E(s.str());
}
/// Throws E unless ok; the text is built only then.
template <class E, class... Parts> inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]] fail<E>(parts...);
}
}  // namespace bora
