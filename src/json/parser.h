// parser.h -- the seam to nlohmann's library: parser.cpp alone includes it.
#pragma once
#include "json/api/value.h"

namespace bora::json {
/// Takes the parts of a text in their order. What it throws ends the reading.
class Parts {
 public:
  virtual ~Parts() = default;
  virtual void begin(bool list) = 0;
  virtual void end(bool list) = 0;
  virtual void name(std::string&) = 0;  // of the member whose value comes next
  virtual void value(Value) = 0;        // no list and no object
};
/// Throws IoError "FILE: broken JSON: WHY".
void read(std::string_view text, const std::string& file, Parts&);
/// replace: what is no UTF-8 becomes U+FFFD, else it throws ValueError.
std::string write(const Value&, int indent, bool replace);
}  // namespace bora::json
