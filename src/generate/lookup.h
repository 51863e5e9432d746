// lookup.h -- drafts of a text's next tokens: those that followed its last ones when they stood in it before.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace bora::generate::engine {
/// Of a text that grows. Saxena 2023, "Prompt Lookup Decoding". A model that computes the drafts beside the next token
/// says which of them it would have chosen.
class Lookup {
 public:
  /// At most `most` tokens that may follow this text, which begins with the text of the call before: those behind the
  /// latest earlier place of its last 3 tokens, else of its last 2. Empty if there is no such place, and for a while
  /// after drafts of which two of three were wrong: 16 tokens at first, twice as many each time, up to 64.
  std::vector<std::int32_t> draft(std::span<const std::int32_t> text, std::int64_t most);
  /// How many of the last draft's tokens were right; the next draft is as long as that allows to hope for.
  void verified(std::int64_t drafted, std::int64_t right);
  /// Whether drafts have been right of late.
  bool sure() const { return balance_ >= kPaid; }

 private:
  static constexpr std::int64_t kPaid = 4;
  using Text = std::span<const std::int32_t>;
  /// The latest end of each sequence of n tokens: a table of places in the text, open, half empty. It forgets some of
  /// those that have the same slot, as texts can be made up that have many.
  class Places {
   public:
    explicit Places(std::size_t n) : n_(n) {}
    void enter(Text, std::int32_t end);
    /// Of the last n tokens; 0: none.
    std::int32_t find(Text);

   private:
    std::int32_t* slot(Text, const std::int32_t* wanted);
    std::size_t n_, used_ = 0;
    std::vector<std::int32_t> ends_ = {};  // 0: empty
  };
  Places three_{3}, two_{2};
  std::int64_t entered_ = 0;  // the places that are in the tables end before or at it
  std::int64_t hope_ = 2, balance_ = 0, pause_ = 0, until_ = 0, size_ = 0;
};
}  // namespace bora::generate::engine
