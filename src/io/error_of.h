// error_of.h -- a rank's failure as text, so that the ranks can agree on it before one of them throws.
#pragma once
#include <filesystem>
#include <string>
#include "bora/base/error.h"

namespace bora::io {
/// The text of the Error or of the file system's error that f throws; empty if it returns.
template <class F> std::string error_of(const F& f) {
  try {
    f();
    return {};
  } catch (const Error& e) { return e.text(); } catch (const std::filesystem::filesystem_error& e) {
    return "cannot change " + e.path1().string() + ": " + e.code().message();
  }
}
}  // namespace bora::io
