// fields.h -- the fields of a model's settings beside their words in config.json: one table, read in both
// directions. Private.
#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
#include "models/hf/activation.h"

namespace bora::models {
/// A size: 1 or more, or `absent`; refuses 0, by which configurations of models here mean another number.
inline std::int64_t hf_size(HfConfig& c, std::string_view field, std::optional<std::int64_t> absent = std::nullopt) {
  auto n = absent ? c.integer(field, *absent) : c.integer(field);
  if (n < 1 && c.has(field)) c.refuse(field, "1 or more is");
  return n;
}
/// A row: sizes (1 or more, or the absent one), numbers, flags and activations.
template <class C> struct HfField {
  using Member = std::variant<std::int64_t C::*, double C::*, float C::*, bool C::*, nn::Activation C::*>;
  using FromBefore = std::function<std::int64_t(const C&)>;
  using Absent = std::variant<std::monostate, std::int64_t, double, bool, std::string_view, FromBefore>;
  using Written = std::function<HfConfig::Value(const C&)>;
  HfField(std::string_view word, Member field, Absent absent = Absent(), Written written = nullptr)
      : word(word), field(field), absent(std::move(absent)), written(std::move(written)) {}
  std::string_view word;
  Member field;
  Absent absent;    // where config.json lacks the word, perhaps from the rows before; none: it must be there
  Written written;  // null: the field
};
template <class C> using HfFields = std::vector<HfField<C>>;

template <class C> void read_fields(C& c, HfConfig& hf, const HfFields<C>& table) {
  for (auto& row : table) {
    auto number = [&] {
      if (auto* x = std::get_if<double>(&row.absent)) return hf.number(row.word, *x);
      if (auto* n = std::get_if<std::int64_t>(&row.absent)) return hf.number(row.word, static_cast<double>(*n));
      return hf.number(row.word);
    };
    auto size = [&] {
      if (auto* f = std::get_if<typename HfField<C>::FromBefore>(&row.absent))
        return hf_size(hf, row.word, (*f)(c));
      if (auto* n = std::get_if<std::int64_t>(&row.absent)) return hf_size(hf, row.word, *n);
      return hf_size(hf, row.word);
    };
    std::visit(
        [&](auto member) {
          using T = std::remove_reference_t<decltype(c.*member)>;
          if constexpr (std::is_same_v<T, std::int64_t>) c.*member = size();
          else if constexpr (std::is_same_v<T, bool>) c.*member = hf.flag(row.word, std::get<bool>(row.absent));
          else if constexpr (std::is_same_v<T, nn::Activation>)
            c.*member = hf_activation(hf, row.word, std::get<std::string_view>(row.absent));
          else c.*member = static_cast<T>(number());
        },
        row.field);
  }
}
template <class C> void write_fields(const C& c, HfConfig& hf, const HfFields<C>& table) {
  for (auto& row : table)
    if (row.written) hf.set(row.word, row.written(c));
    else
      std::visit(
          [&](auto member) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(c.*member)>, nn::Activation>)
              hf.set(row.word, hf_word(c.*member));
            else hf.set(row.word, c.*member);
          },
          row.field);
}
/// The first fields of a file: {"architectures": [architecture], "model_type": type}.
inline void write_type(HfConfig& hf, const std::string& architecture, std::string_view type) {
  hf.set("architectures", std::vector<std::string>{architecture});
  hf.set("model_type", std::string(type));
}
}  // namespace bora::models
