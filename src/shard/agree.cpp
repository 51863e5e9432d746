#include "shard/api/agree.h"
#include <exception>
#include <filesystem>

namespace bora {
namespace {
std::string text_of(const std::filesystem::filesystem_error& e) {
  return "cannot change " + e.path1().string() + ": " + e.code().message();
}
}  // namespace

std::string error_of(const std::function<void()>& f) {
  try {
    f();
    return {};
  } catch (const Error& e) { return e.text(); } catch (const std::filesystem::filesystem_error& e) {
    return text_of(e);
  }
}

std::vector<std::string> detail::agree(const Ranks& ranks, std::string_view what, const std::function<std::string()>& f,
                                       void (*as)(const std::string& text)) {
  // The first character of what a rank tells the others. foreign: no Error, such as std::bad_alloc, which that rank
  // throws as it is.
  constexpr char done = '+', settings = 'C', failed = '-', foreign = '!';
  std::string mine;
  std::exception_ptr error;
  auto caught = [&](char outcome, const std::string& text) {
    mine = outcome + text;
    error = std::current_exception();
  };
  try {
    mine = done + f();
  } catch (const ConfigError& e) { caught(settings, e.text()); } catch (const Error& e) {
    caught(failed, e.text());
  } catch (const std::filesystem::filesystem_error& e) { caught(failed, text_of(e)); } catch (const std::exception& e) {
    caught(foreign, e.what());
  }
  auto all = ranks.exchange ? ranks.exchange(mine, what) : std::vector<std::string>{mine};
  for (std::size_t r = 0; r < all.size(); ++r) {
    auto outcome = all[r][0];
    all[r].erase(0, 1);
    if (outcome == done) continue;
    bool own = error && (all.size() == 1 || static_cast<int>(r) == ranks.rank);
    if (own && (!as || outcome == foreign)) std::rethrow_exception(error);
    if (as) as(all[r]);
    if (outcome == settings) throw ConfigError(all[r]);
    throw IoError(all[r]);
  }
  return all;
}
}  // namespace bora
