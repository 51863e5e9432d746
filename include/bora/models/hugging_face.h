// hugging_face.h -- the seam between a model and Hugging Face's folders: the fields of config.json, and which tensor
// holds which leaf. A model that can be read from such folders has these static members, in its one source file:
//   static constexpr std::string_view hf_types[] = {"llama", "mistral"};   // model_type of config.json
//   static constexpr std::string_view hf_prefix = "model.";   // of the base model; the files may lack it
//   static constexpr std::string_view hf_ignored[] = {"inv_freq"};   // buffers in the files that are no leaves: names
//                                                    // that are this text, or end with "." and this text
//   static Config from_hf(HfConfig&);                 // reads, or refuses, all that changes the result
//   static void to_hf(const Config&, HfConfig&);      // model_type, architectures, what from_hf reads
//   static std::vector<HfWeight> hf_weights(const Config&);
// hf_prefix and hf_ignored may be absent. vocab_size, torch_dtype and ids of special tokens are not the model's.
#pragma once
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include "bora/base/shape.h"

namespace bora::json {
class Value;
}
namespace bora::models {
/// A leaf of the model as a block of a tensor of the files. One table serves both directions: import reads leaves from
/// tensors; export makes each tensor of the leaves that name it, which are put together along the one dimension of the
/// view in which their blocks differ.
struct HfWeight {
  std::string leaf;    // its path in the tree of parameters: "blocks.layer.attn.q.weight"
  std::string tensor;  // may contain {}, the number of the layer ({+1}: of those behind the first): then the leaf is
                       // stacked along its first dimension; and a second {}, of the expert: along its first two
  std::optional<Shape> view = std::nullopt;  // of the tensor, as many elements; none: its own shape
  Dims begin = {}, end = {};                 // the block in each dimension of the view; empty: all of it
  Dims order = {};    // dimension d of the leaf (of one layer) is dimension order[d] of the view; empty: d
  std::optional<Shape> split = std::nullopt;  // of the block: each dimension of the view as one or more, a last one of
                                              // 1 as none, which are the view's for `order` (queries behind keys, in
                                              // groups; gates and ups in turn)
  bool copy = false;  // another name of a tensor that is given above: read where that one is missing, never written
};

/// The names that belong to a model in such folders.
struct HfNames {
  std::vector<std::string_view> types = {};  // no type: the model is in none
  std::string_view prefix = {};
  std::vector<std::string_view> ignored = {};
};
/// The static members of M.
template <class M> HfNames hf_names() {
  HfNames names;
  if constexpr (requires { M::hf_types; }) names.types.assign(std::begin(M::hf_types), std::end(M::hf_types));
  if constexpr (requires { M::hf_prefix; }) names.prefix = M::hf_prefix;
  if constexpr (requires { M::hf_ignored; }) names.ignored.assign(std::begin(M::hf_ignored), std::end(M::hf_ignored));
  return names;
}

/// The fields of a config.json, read or written one by one. done() refuses fields that nothing has read, so a model
/// reads, expects or ignores every field that it knows. All errors are IoErrors "DIR/config.json: FIELD: ..".
class HfConfig {
 public:
  /// Without a value: null.
  using Value = std::variant<std::monostate, bool, std::int64_t, double, float, std::string, std::vector<std::int64_t>,
                             std::vector<double>, std::vector<std::string>>;
  /// Without fields, to be written.
  HfConfig();
  /// `file`: its name in errors. Throws for broken JSON and for a field that is given twice.
  static HfConfig parse(std::string_view json, const std::string& file);

  /// Whether the field is present and not null. Does not count as reading it.
  bool has(std::string_view name) const;
  bool is_null(std::string_view name) const;  // present, but null
  // Without a default the field must be there; null counts as absent. Values of another type throw.
  std::int64_t integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t absent);
  double number(std::string_view name);
  double number(std::string_view name, double absent);
  bool flag(std::string_view name);
  bool flag(std::string_view name, bool absent);
  std::string word(std::string_view name);
  std::string word(std::string_view name, std::string_view absent);
  /// Lists; empty if the field is absent.
  std::vector<std::int64_t> integers(std::string_view name);
  std::vector<double> numbers(std::string_view name);
  std::vector<std::string> words(std::string_view name);
  /// The fields of a nested object, which is made if it is absent while writing, and else must be there.
  HfConfig group(std::string_view name);
  /// Refuses the field unless it is absent, null or equal to `value`.
  void expect(std::string_view name, const Value& value);
  /// These fields, if present, do not change the result.
  void ignore(std::initializer_list<std::string_view> names);
  /// Throws "FIELD: VALUE is not supported; WORDS".
  [[noreturn]] void refuse(std::string_view name, std::string_view words = {}) const;
  /// Throws for the first field that is not read, expected or ignored. Fields that all of Hugging Face's models have
  /// and that change no scores need not be named.
  void done() const;

  /// Whether the files beside config.json have a tensor: for options that only they tell. False unless set_has_tensor
  /// was called, when the folder is opened.
  bool has_tensor(const std::string& name) const;
  void set_has_tensor(std::function<bool(const std::string& name)>);

  /// Sets a field. A float is written with the digits that give the same float, not the same double.
  void set(std::string_view name, const Value& value);
  /// Sets those of these fields that another file has, and this one lacks.
  void take(const HfConfig& from, std::initializer_list<std::string_view> names);
  /// The whole file, as JSON.
  std::string text() const;

 private:
  struct State;
  json::Value& fields() const;  // of this group
  const json::Value* find(std::string_view name) const;  // its value; null if it is absent or null
  const json::Value* read(std::string_view name);
  const json::Value& need(std::string_view name);
  [[noreturn]] void wrong(std::string_view name, std::string_view expected) const;
  std::string place(std::string_view name) const;
  std::shared_ptr<State> state_;
  std::vector<std::string> path_ = {};  // of this group
};
}  // namespace bora::models
