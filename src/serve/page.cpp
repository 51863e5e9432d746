#include "base/api/inline_hash.h"
#include "serve/api/service.h"

namespace bora::serve {
namespace {
// page.html, as text of C++ (CMakeLists.txt).
constexpr char kHtml[] =
#include "page_html.inc"
    ;
}  // namespace

const Page& page() {
  static const Page one = [] {
    std::string html = kHtml;
    auto policy = "default-src 'none'; script-src " + inline_hash(html, "<script>", "</script>") + "; style-src " +
                  inline_hash(html, "<style>", "</style>") +
                  "; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    return Page{html, policy};
  }();
  return one;
}
}  // namespace bora::serve
