// Ids that others have made, with their masks, weights or labels.
#include <algorithm>
#include <bit>
#include <cmath>
#include "data/tasks/task.h"

namespace bora::data {
namespace {
struct GivenIds {
  static constexpr std::string_view type = "tokens";
  static constexpr std::size_t fields_stored = 3;
  static constexpr bool takes_ids = true;
  std::string loss_mask = "loss_mask", loss_weights = "loss_weights", labels = "labels";
  static constexpr config::Meaning meanings[] = {
      {"loss_mask", "the field that has 1 for each id that is learnt, else 0, if there is such a field"},
      {"loss_weights", "the field with a weight of 0 or more for each id, if there is one"},
      {"labels", "the field with the same ids, or -100 for those that are not learnt, if there is one"}};

  std::string encoding() const { return "tokens\t" + loss_mask + "\t" + loss_weights + "\t" + labels; }
  void need(const Record& r, const std::string& field) const {
    (void)weights(r, field, ids(r, field, std::int64_t{1} << 31));
  }
  std::vector<std::string> reads(const std::string& field) const { return {field, loss_mask, loss_weights, labels}; }
  static std::vector<std::int32_t> ids(const Record& r, const std::string& field, std::int64_t vocabulary) {
    std::vector<std::int32_t> all;
    for (auto x : r.numbers(field)) {
      if (!(x >= 0 && x < static_cast<double>(vocabulary) && x == std::floor(x)))
        r.failed("place " + std::to_string(all.size() + 1) + " of the field '" + field + "' is " +
                 config::print_value(x) + ", no id of a tokenizer of " + std::to_string(vocabulary) + " tokens");
      all.push_back(static_cast<std::int32_t>(x));
    }
    return all;
  }
  /// By id; empty if all are 1.
  std::vector<float> weights(const Record& r, const std::string& field, const std::vector<std::int32_t>& ids) const {
    const std::string* by = nullptr;
    for (auto* name : {&loss_mask, &loss_weights, &labels}) {
      if (name->empty() || !r.has(*name)) continue;
      if (by) r.failed("it has the fields '" + *by + "' and '" + *name + "', which both say what is learnt; name one");
      by = name;
    }
    if (!by) return {};
    auto numbers = r.numbers(*by);
    auto place = [&](std::size_t i) { return "place " + std::to_string(i + 1) + " of the field '" + *by + "' is "; };
    if (numbers.size() != ids.size())
      r.failed("the field '" + *by + "' has " + std::to_string(numbers.size()) + " numbers, and '" + field + "' has " +
               std::to_string(ids.size()));
    std::vector<float> all;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto x = numbers[i];
      bool fits = by == &loss_weights ? x >= 0 && config::finite(x)
                  : by == &labels     ? x == -100 || x == ids[i]
                                      : x == 0 || x == 1;
      if (!fits)
        r.failed(place(i) + config::print_value(x) + "; " +
                 (by == &loss_weights ? "a weight of 0 or more is expected"
                  : by == &labels     ? "the id there, " + std::to_string(ids[i]) + ", or -100 is expected"
                                      : "0 or 1 is expected"));
      all.push_back(by == &labels ? (x != -100 ? 1.0F : 0.0F) : static_cast<float>(x));
    }
    bool ones = std::all_of(all.begin(), all.end(), [](float w) { return w == 1.0F; });
    return ones ? std::vector<float>() : all;
  }
  Encode encoder(const Materials& m, const std::string& field) const {
    return [*this, size = m.tokenizer->size(), field](const Record& r, Document& d) {
      d[0] = ids(r, field, size);
      auto all = weights(r, field, d[0]);
      for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
        constexpr std::size_t most = 0xffff;  // numbers beside ids of two bytes have two as well
        while (end < all.size() && end - begin < most && all[end] == all[begin]) ++end;
        auto bits = std::bit_cast<std::uint32_t>(all[begin]);
        d[1].push_back(static_cast<std::int32_t>(end - begin));
        d[2].push_back(static_cast<std::int32_t>(bits >> 16));
        d[2].push_back(static_cast<std::int32_t>(bits & 0xffff));
      }
    };
  }
  static Sharing how(const PackSettings& pack) {
    using enum Sharing;
    return sharing_of(pack, concat, {concat, first_fit, best_fit, none}, type);
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    return learnt_shape(positions, pack, how(pack));
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    return learnt_rows(d, m, how(m.pack), Learning::weights);
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::GivenIds>>;
