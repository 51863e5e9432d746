#include "serve/api/refused.h"
#include "json/api/value.h"
#include "text/api/utf8.h"

namespace bora::serve {
std::string error_body(int status, std::string_view text, std::string_view field, std::string_view code) {
  std::string_view type = status == 401   ? "authentication_error"
                          : status == 403 ? "permission_error"
                          : status == 404 ? "not_found_error"
                          : status == 429 ? "rate_limit_error"
                          : status >= 500 ? "server_error"
                                          : "invalid_request_error";
  std::string copy;
  auto or_null = [](std::string_view s) { return s.empty() ? json::Value() : json::Value(s); };
  auto error = json::Value::object({{"message", text::valid_utf8(text, copy)},
                                    {"type", type},
                                    {"param", or_null(field)},
                                    {"code", or_null(code)}},
                                   json::Order::as_written);
  return json::Value::object({{"error", std::move(error)}}).dump();
}
std::string error_body(const Refused& e) { return error_body(e.status, e.text(), e.field, e.code); }
}  // namespace bora::serve
