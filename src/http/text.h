// text.h -- words of headers.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include "http/api/server.h"

namespace bora::http {
/// Equal whatever the case of ASCII letters.
bool same_word(std::string_view, std::string_view);
/// Without blanks at both ends.
std::string_view trimmed(std::string_view);
/// The number of headers of this name.
std::ptrdiff_t count(const Headers&, std::string_view name);
/// "Not Found" of 404; "" of a status that RFC 9110 does not know.
std::string_view reason_of(int status);
/// Now, as a Date header has it.
std::string date();
}  // namespace bora::http
