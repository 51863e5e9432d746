// selection.h -- parameters, or layers, chosen by patterns of their paths.
#pragma once
#include <string>
#include <vector>

namespace bora {
/// Patterns such as "wte", "blocks.attn.*" and "*.bias". * stands for any text; a pattern means all that lies below the
/// paths that it matches. `layer`, which all paths of stacked blocks have ("blocks.layer.attn.q.weight"), may be left
/// out.
class Selection {
 public:
  /// `key`: the setting, for errors.
  Selection(std::string key, std::vector<std::string> patterns)
      : key_(std::move(key)), patterns_(std::move(patterns)) {}
  /// Whether there are patterns.
  explicit operator bool() const { return !patterns_.empty(); }
  bool has(const std::string& path) const;
  /// Throws ConfigError for a pattern that matches none of the paths, naming some that are near.
  void check(const std::vector<std::string>& paths) const;

 private:
  std::string key_;
  std::vector<std::string> patterns_;
};
}  // namespace bora
