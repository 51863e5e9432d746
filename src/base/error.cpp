#include "bora/base/error.h"
#include <atomic>
#include <ostream>
#include <sstream>

namespace bora {
namespace {
std::atomic<std::string (*)()> place_of_call{nullptr};
}
Error::Error(std::string text) : text_(std::move(text)), what_(text_) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;
const char* Error::what() const noexcept { return what_.c_str(); }
void Error::add_place(const std::string& place) {
  if (placed_ || place.empty()) return;
  what_ = text_ + "   (" + place + ")";
  placed_ = true;
}
CallError::CallError(std::string text) : Error(std::move(text)) {
  auto call_site = place_of_call.load();
  if (auto place = call_site ? call_site() : std::string(); !place.empty()) what_ = text_ + "   (" + place + ")";
}
void CallError::name_places_by(std::string (*call_site)()) { place_of_call = call_site; }

namespace detail {
template void put<bool>(std::ostream&, const void*);
template void put<char>(std::ostream&, const void*);
template void put<int>(std::ostream&, const void*);
template void put<unsigned>(std::ostream&, const void*);
template void put<long>(std::ostream&, const void*);
template void put<unsigned long>(std::ostream&, const void*);
template void put<float>(std::ostream&, const void*);
template void put<double>(std::ostream&, const void*);
template void put<const char*>(std::ostream&, const void*);
template void put<std::string>(std::ostream&, const void*);
template void put<std::string_view>(std::ostream&, const void*);
template void put<std::vector<std::int64_t>>(std::ostream&, const void*);
template void raise<ShapeError>(const Part*, std::size_t);
template void raise<DtypeError>(const Part*, std::size_t);
template void raise<IndexError>(const Part*, std::size_t);
template void raise<ValueError>(const Part*, std::size_t);
template void raise<AxisError>(const Part*, std::size_t);
template void raise<TraceError>(const Part*, std::size_t);
template void raise<ShardError>(const Part*, std::size_t);
template void raise<CheckpointError>(const Part*, std::size_t);
template void raise<IoError>(const Part*, std::size_t);
template void raise<ConfigError>(const Part*, std::size_t);
template void raise<TransportError>(const Part*, std::size_t);
void put_characters(std::ostream& s, const void* at) { s << static_cast<const char*>(at); }
std::string joined(const Part* parts, std::size_t n) {
  std::ostringstream s;
  for (std::size_t i = 0; i < n; ++i) parts[i].put(s, parts[i].at);
  return s.str();
}
}  // namespace detail
}  // namespace bora
