// error.h -- one exception type per kind of mistake. The text says what happened, with values, then what to do.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace bora {
/// The base of all exceptions of the library.
class Error : public std::exception {
 public:
  explicit Error(std::string text);
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error() override;
  /// The whole text: the mistake, its remedy and, if known, the user's source line.
  const char* what() const noexcept override;
  /// The same without the source line.
  const std::string& text() const { return text_; }
  /// Adds the source place, once: the first place added is the nearest to the user's mistake.
  void add_place(const std::string& place);

 protected:
  std::string text_, what_;
  bool placed_ = false;
};
/// A mistake in a call of the array library. It carries at least the source place of that call; add_place replaces it
/// where an operation also knows its scope.
struct CallError : Error {
  explicit CallError(std::string text);
  /// Set by the layer that knows call stacks (array): the function that names the place of the user's call.
  static void name_places_by(std::string (*call_site)());
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
};  // a mesh, Spec or axis mapping that does not fit
struct CheckpointError : Error {
  using Error::Error;
};  // a stored checkpoint does not fit the tree to restore
struct IoError : Error {
  using Error::Error;
};  // a file that cannot be read or written, or is damaged
struct ConfigError : Error {
  using Error::Error;
};  // a setting that does not exist or does not fit
struct TransportError : Error {
  using Error::Error;
};  // communication with other ranks has failed

std::string to_string(const std::vector<std::int64_t>&);  // "[2, 3]" (shape.h)
namespace detail {
/// A part of an error's text by its address, and the function that writes it: texts are built only for errors.
struct Part {
  const void* at;
  void (*put)(std::ostream&, const void*);
};
void put_characters(std::ostream&, const void* at);  // up to a 0
/// Writes a part: its result if it can be called, else the part itself or its to_string.
template <class T> void put(std::ostream& s, const void* at) {
  auto& part = *static_cast<const T*>(at);
  if constexpr (std::is_invocable_v<const T&>) s << part();
  else if constexpr (requires { s << part; }) s << part;
  else s << to_string(part);
}
extern template void put<bool>(std::ostream&, const void*);
extern template void put<char>(std::ostream&, const void*);
extern template void put<int>(std::ostream&, const void*);
extern template void put<unsigned>(std::ostream&, const void*);
extern template void put<long>(std::ostream&, const void*);
extern template void put<unsigned long>(std::ostream&, const void*);
extern template void put<float>(std::ostream&, const void*);
extern template void put<double>(std::ostream&, const void*);
extern template void put<const char*>(std::ostream&, const void*);
extern template void put<std::string>(std::ostream&, const void*);
extern template void put<std::string_view>(std::ostream&, const void*);
extern template void put<std::vector<std::int64_t>>(std::ostream&, const void*);
template <class T> void put_function(std::ostream& s, const void* at) {
  s << reinterpret_cast<T*>(const_cast<void*>(at))();
}
template <class T> [[gnu::always_inline]] inline Part part(const T& x) {
  if constexpr (std::is_function_v<T>) return {reinterpret_cast<const void*>(&x), put_function<T>};
  else if constexpr (std::is_array_v<T>) return {&x, put_characters};
  else return {__builtin_addressof(x), put<T>};
}
std::string joined(const Part* parts, std::size_t n);
template <class E> [[noreturn, gnu::cold, gnu::noinline]] void raise(const Part* parts, std::size_t n) {
  throw E(joined(parts, n));
}
extern template void raise<ShapeError>(const Part*, std::size_t);
extern template void raise<DtypeError>(const Part*, std::size_t);
extern template void raise<IndexError>(const Part*, std::size_t);
extern template void raise<ValueError>(const Part*, std::size_t);
extern template void raise<AxisError>(const Part*, std::size_t);
extern template void raise<TraceError>(const Part*, std::size_t);
extern template void raise<ShardError>(const Part*, std::size_t);
extern template void raise<CheckpointError>(const Part*, std::size_t);
extern template void raise<IoError>(const Part*, std::size_t);
extern template void raise<ConfigError>(const Part*, std::size_t);
extern template void raise<TransportError>(const Part*, std::size_t);
}  // namespace detail
/// Throws E with the parts joined.
template <class E, class... Parts> [[noreturn, gnu::always_inline]] inline void fail(const Parts&... parts) {
  const detail::Part list[] = {detail::part(parts)...};
  detail::raise<E>(list, sizeof...(parts));
}
/// Throws E unless ok. The text is built only then; pass a part that is costly to make as a lambda.
template <class E, class... Parts> [[gnu::always_inline]] inline void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail<E>(parts...);
}
}  // namespace bora
