#include "base/api/npy_header.h"
#include <charconv>
#include <sstream>

namespace bora {
namespace {
/// The text after 'name': in the header's dictionary.
std::string_view entry(std::string_view header, std::string_view name, const std::string& where) {
  auto key = "'" + std::string(name) + "':";
  auto at = header.find(key);
  check<IoError>(at != std::string_view::npos, where, ": the header has no ", name);
  auto rest = header.substr(at + key.size());
  return rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
}
Shape parse_shape(std::string_view text, const std::string& where) {
  auto end = text.find(')');
  check<IoError>(!text.empty() && text[0] == '(' && end != std::string_view::npos, where,
                 ": the header's shape is damaged");
  Shape s;
  std::istringstream in{std::string(text.substr(1, end - 1))};
  for (std::string part; std::getline(in, part, ',');) {
    auto digits = part.substr(std::min(part.size(), part.find_first_not_of(' ')));
    if (digits.empty()) continue;
    check<IoError>(digits.find_first_not_of("0123456789L ") == std::string::npos, where,
                   ": the header's shape is damaged");
    std::int64_t n = 0;
    auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    check<IoError>(parsed.ec == std::errc{}, where, ": the header's shape is damaged");
    s.push_back(n);
    check<IoError>(s.size() <= 64, where, ": its shape has more than 64 dimensions");
  }
  return s;
}
}  // namespace

NpyHeader read_npy_header(std::string_view bytes, const std::string& where) {
  check<IoError>(bytes.size() >= 10 && bytes.substr(0, 6) == "\x93NUMPY", where, " is not a .npy file");
  bool wide = bytes[6] >= 2;
  check<IoError>(bytes[6] >= 1 && bytes[6] <= 3, where, ": .npy version ", static_cast<int>(bytes[6]), " is not known");
  std::size_t length = wide ? number_at<std::uint32_t>(bytes, 8, where) : number_at<std::uint16_t>(bytes, 8, where),
              start = (wide ? 12 : 10) + length;
  check<IoError>(start <= bytes.size(), where, " ends in the middle of its header");
  auto header = bytes.substr(wide ? 12 : 10, length);
  NpyHeader h{.descr = entry(header, "descr", where), .bytes = start};
  check<DtypeError>(!h.descr.empty() && h.descr[0] == '\'', where, " holds records, not numbers");
  h.descr = h.descr.substr(1, h.descr.find('\'', 1) - 1);
  h.fortran = entry(header, "fortran_order", where).starts_with("True");
  h.shape = parse_shape(entry(header, "shape", where), where);
  return h;
}
}  // namespace bora
