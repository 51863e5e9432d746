// agree.h -- steps that ranks take together: where one rank fails, all of them throw its error.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#include "bora/base/error.h"

namespace bora {
/// The ranks that take a step together, as one of them sees them: those of a Mesh, an io::Place or a data::Crew. It
/// refers to that object.
struct Ranks {
  int rank = 0;
  /// Gives every rank's text to all of them, in their order. Empty: this rank is alone.
  std::function<std::vector<std::string>(const std::string& mine, std::string_view what)> exchange = {};

  Ranks() = default;
  template <class C> Ranks(const C& c) requires requires { c.exchange(std::string(), ""); } {
    if constexpr (requires { c.rank(); }) rank = c.rank();
    else rank = c.rank;
    if constexpr (requires { !c.exchange; })
      if (!c.exchange) return;
    exchange = [&c](const std::string& mine, std::string_view what) { return c.exchange(mine, what); };
  }
};
/// The text of the Error or of the file system's error that f throws; empty if it returns.
std::string error_of(const std::function<void()>& f);

namespace detail {
/// `as` throws the text of an error; null: see below.
std::vector<std::string> agree(const Ranks&, std::string_view what, const std::function<std::string()>& f,
                               void (*as)(const std::string& text));
}
/// Calls f on every rank, and returns the texts that it returned, in rank order (f may return nothing). If it fails
/// somewhere, all ranks throw an E with the text of the first rank that failed. Without an E that rank throws its own
/// error, and the others a ConfigError if that is one, else an IoError. `what`: the step, in errors of the transport.
template <class E = void, class F>
std::vector<std::string> agree(const Ranks& ranks, std::string_view what, const F& f) {
  auto text = [&] {
    if constexpr (std::is_void_v<decltype(f())>) return f(), std::string();
    else return std::string(f());
  };
  if constexpr (std::is_void_v<E>) return detail::agree(ranks, what, text, nullptr);
  else return detail::agree(ranks, what, text, [](const std::string& error) { throw E(error); });
}
/// The same where rank 0 alone calls f. Returns its text on all ranks.
template <class E = IoError, class F> std::string on_first(const Ranks& ranks, std::string_view what, const F& f) {
  return agree<E>(ranks, what, [&]() -> std::string {
    if (ranks.rank != 0) return {};
    if constexpr (std::is_void_v<decltype(f())>) return f(), std::string();
    else return std::string(f());
  })[0];
}
}  // namespace bora
