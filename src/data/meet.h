// meet.h -- ranks that do something together: what one of them finds wrong ends all of them.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <vector>
#include "bora/base/error.h"
#include "bora/data/data.h"

namespace bora::data {
/// Gives every rank's words to all. If some rank has an error, it throws it, and so do the others.
inline std::vector<std::string> meet(const Crew& crew, std::string_view what, const std::string& words,
                                     const std::exception_ptr& error = {}) {
  std::string mine = "+" + words;
  if (error) try {
      std::rethrow_exception(error);
    } catch (const ConfigError& e) { mine = "C" + std::string(e.text()); } catch (const Error& e) {
      mine = "I" + std::string(e.text());
    } catch (const std::exception& e) { mine = std::string("I") + e.what(); }
  auto all = crew.exchange(mine, what);
  if (error) std::rethrow_exception(error);
  for (auto& text : all) {
    check<ConfigError>(text[0] != 'C', text.substr(1));
    check<IoError>(text[0] == '+', text.substr(1));
    text.erase(0, 1);
  }
  return all;
}
/// meet() after f(), which gives this rank's words.
template <class F> std::vector<std::string> together(const Crew& crew, std::string_view what, const F& f) {
  std::string words;
  std::exception_ptr error;
  try {
    words = f();
  } catch (const std::exception&) { error = std::current_exception(); }
  return meet(crew, what, words, error);
}
}  // namespace bora::data
