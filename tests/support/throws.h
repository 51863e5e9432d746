// throws.h -- the error that a call throws: its text, and the words that the text must hold.
#pragma once
#include <gtest/gtest.h>
#include <exception>
#include <optional>
#include <source_location>
#include <string>
#include "bora/base/error.h"

namespace bora::test {
/// The E that f throws, if it throws one; a test fails where f throws another error.
template <class E, class F> std::optional<E> caught(F&& f) {
  try {
    (void)f();
  } catch (const E& e) { return e; } catch (const std::exception& e) {
    ADD_FAILURE() << "another error was thrown: " << e.what();
  }
  return {};
}
/// The text of the E that f throws, without the source line; "no error" if there is none.
template <class E = Error, class F> std::string error_of(F&& f) {
  auto e = caught<E>(f);
  return e ? e->text() : "no error";
}
/// The same with the source line.
template <class E = Error, class F> std::string error_and_line_of(F&& f) {
  auto e = caught<E>(f);
  return e ? e->what() : "no error";
}
inline void expect_words(const std::string& text, const std::string& words, const std::source_location& at) {
  if (text == "no error" || text.find(words) == std::string::npos)
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line())) << text << "\nthese words were expected: " << words;
}
/// A test fails unless f throws an E whose text has the words.
template <class E = Error, class F>
void says(F&& f, const std::string& words, std::source_location at = std::source_location::current()) {
  expect_words(error_of<E>(f), words, at);
}
/// The same of the text with the source line.
template <class E = Error, class F>
void says_with_line(F&& f, const std::string& words, std::source_location at = std::source_location::current()) {
  expect_words(error_and_line_of<E>(f), words, at);
}
/// The same as says; and the text must be a single line.
template <class E = Error, class F>
void says_line(F&& f, const std::string& words, std::source_location at = std::source_location::current()) {
  auto text = error_of<E>(f);
  expect_words(text, words, at);
  if (text.find('\n') != std::string::npos)
    ADD_FAILURE_AT(at.file_name(), static_cast<int>(at.line())) << "more than one line: " << text;
}
/// A test fails unless the expression throws a Kind whose text has the words.
#define EXPECT_MESSAGE(Kind, expression, words) ::bora::test::says<Kind>([&] { (void)(expression); }, words)
}  // namespace bora::test
