// braces.h -- groups of settings written in braces on the command line: wire={gradients: int4, block: 128}.
#pragma once
#include <string>
#include "bora/config/config.h"

namespace bora::config {
/// A text "{key: value, ..}" as the group that it writes; anything else as it is, patterns such as "{a,b}.txt" too.
/// Throws ConfigError for broken ones.
Document parse_braces(const Document& scalar);
/// Every group of the schema that the document gives in braces, as parse_braces reads it; members given beside it stay
/// (`wire={gradients: int8} wire.block=128`). Throws ConfigError for a setting that is given in both places.
void settle_braces(Document&, const Schema&, const std::string& key = {});
}  // namespace bora::config
