// Weights of integers in files of others.
//   compressed-tensors: X.weight_packed i32 [N, K / per], inputs from the low bits on, each plus 2^(bits - 1);
//     X.weight_scale float [N, groups]; X.weight_shape [2]; X.weight_zero_point i32 [N / per, groups], as packed;
//     X.weight_g_idx i32 [K].
//   MXFP4: models/hf/mxfp4.h.
//   GPTQ: X.qweight i32 [K / per, N], inputs from the low bits on; X.qzeros i32 [groups, N / per]; X.scales float
//     [groups, N]; X.g_idx i32 [K]. A zero point is stored less one, but for checkpoint_format gptq_v2.
// Letters: N outputs, K inputs, per = 32 / bits.
#include "models/hf/quantised.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include "base/api/file.h"
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "bora/ops/creation.h"
#include "bora/ops/indexing.h"
#include "bora/ops/manipulation.h"
#include "bora/shard/shard.h"
#include "gguf/api/companions.h"
#include "json/api/value.h"
#include "models/hf/gguf_tensors.h"
#include "models/hf/mxfp4.h"
#include "ops/api/quantized.h"
#include "ops/api/same_everywhere.h"
#include "shard/api/agree.h"

namespace bora::models {
namespace {
using I = std::int64_t;
struct Names {
  std::string_view weight, integers, scales, zeros = {}, order = {}, shape = {};
};
constexpr Names kPackedNames{".weight",        ".weight_packed", ".weight_scale", ".weight_zero_point",
                             ".weight_g_idx", ".weight_shape"};
constexpr Names kGptqNames{".weight", ".qweight", ".scales", ".qzeros", ".g_idx"};
constexpr Names kMxfp4Names{"", kMxfp4Blocks, kMxfp4Scales};
const Names& names_of(QuantisedFiles::Kind kind) {
  if (kind == QuantisedFiles::Kind::mxfp4) return kMxfp4Names;
  return kind == QuantisedFiles::Kind::gptq ? kGptqNames : kPackedNames;
}
std::string without(const std::string& name, std::string_view end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : std::string();
}
/// Fields of an object in config.json.
struct Fields {
  const json::Value& all;
  std::string place;  // "DIR/config.json: quantization_config"
  [[noreturn]] void refuse(std::string_view name, const json::Value& v, std::string_view words) const {
    fail<IoError>(place, ".", name, ": ", one_line(v.dump()), " is not supported", words.empty() ? "" : "; ", words);
  }
  const json::Value* find(std::string_view name) const {
    auto* v = all.find(name);
    return v && !v->is_null() ? v : nullptr;
  }
  std::string word(std::string_view name, std::string_view absent = {}) const {
    auto* v = find(name);
    if (!v) return std::string(absent);
    if (!v->is_text()) refuse(name, *v, "a word is");
    return v->text();
  }
  I integer(std::string_view name, I absent) const {
    auto* v = find(name);
    if (!v) return absent;
    if (!v->is_integer() || v->integer() < -1 || v->integer() > 1 << 30) refuse(name, *v, "a number is");
    return v->integer();
  }
  bool flag(std::string_view name, bool absent) const {
    auto* v = find(name);
    if (!v) return absent;
    if (!v->is_boolean()) refuse(name, *v, "true and false are");
    return v->boolean();
  }
};
void set_sizes(QuantisedFiles& r, const Fields& f, std::string_view bits, std::string_view group) {
  auto n = f.integer(bits, 0);
  if (n != 4 && n != 8) f.refuse(bits, json::Value(n), "4 and 8 are");
  r.bits = static_cast<int>(n);
  auto g = f.integer(group, -1);
  if (g == 0) f.refuse(group, json::Value(g), "1 or more is, or -1 for all inputs");
  r.group = std::max<I>(g, 0);
}
QuantisedFiles gptq(const Fields& f) {
  QuantisedFiles r{.kind = QuantisedFiles::Kind::gptq};
  set_sizes(r, f, "bits", "group_size");
  r.symmetric = f.flag("sym", true);
  r.ordered = !f.flag("desc_act", false);
  auto format = f.word("checkpoint_format", "gptq");
  if (format != "gptq" && format != "gptq_v2")
    f.refuse("checkpoint_format", json::Value(format), "gptq and gptq_v2 are");
  r.zero_minus_one = format == "gptq";
  return r;
}
QuantisedFiles compressed(const Fields& f) {
  QuantisedFiles r{.kind = QuantisedFiles::Kind::packed};
  auto format = f.word("format");
  if (format != "pack-quantized")
    f.refuse("format", json::Value(format), "of compressed-tensors pack-quantized is");
  for (std::string_view name : {"kv_cache_scheme"})
    if (auto* v = f.find(name)) f.refuse(name, *v, {});
  auto* groups = f.find("config_groups");
  check<IoError>(groups && groups->is_object() && !groups->members().empty(), f.place,
                 ".config_groups: there is none, but a layout needs one");
  bool first = true;
  for (auto& [name, group] : groups->members()) {
    Fields g{group, f.place + ".config_groups." + one_line(name)};
    for (std::string_view other : {"input_activations", "output_activations"})
      if (auto* v = g.find(other)) g.refuse(other, *v, "weights alone are quantised");
    auto* weights = g.find("weights");
    check<IoError>(weights && weights->is_object(), g.place, ".weights: there are none");
    Fields w{*weights, g.place + ".weights"};
    if (auto type = w.word("type", "int"); type != "int") w.refuse("type", json::Value(type), "int is");
    auto strategy = w.word("strategy", "group");
    if (strategy != "group" && strategy != "channel") w.refuse("strategy", json::Value(strategy), "group, channel are");
    QuantisedFiles one{.kind = r.kind};
    set_sizes(one, w, "num_bits", "group_size");
    one.symmetric = w.flag("symmetric", true);
    auto* order = w.find("actorder");
    one.ordered = !order || (order->is_text() && order->text() == "weight") ||
                  (order->is_boolean() && !order->boolean());
    check<IoError>(first || (one.bits == r.bits && one.group == r.group), w.place,
                   ": its bits and group differ from those of another group, which is not supported");
    r = one, first = false;
  }
  return r;
}
/// The numbers of an array on this rank, which has all of it.
template <class T> std::span<const T> host(const Array& x, Array& keep) {
  keep = local_block(x).block;
  return {static_cast<const T*>(keep.bytes()), at(keep.size())};
}
}  // namespace

QuantisedFiles QuantisedFiles::parse(const std::string& config, const std::string& file) {
  auto all = json::parse(config, file);
  auto* q = all.find("quantization_config");
  if (!q || q->is_null()) return {};
  Fields f{*q, file + ": quantization_config"};
  auto method = f.word("quant_method");
  check<IoError>(!method.empty(), f.place, ": ", [&] { return one_line(q->dump()); },
                 " is not supported without a quant_method; gptq, mxfp4 and compressed-tensors (pack-quantized) are");
  if (method == "gptq") return gptq(f);
  if (method == "compressed-tensors") return compressed(f);
  if (method == "mxfp4") return {.kind = Kind::mxfp4};
  f.refuse("quant_method", json::Value(method), "gptq, mxfp4 and compressed-tensors (pack-quantized) are");
}
std::string QuantisedFiles::nearest() const {
  if (kind == Kind::mxfp4) return "bf16";
  bool fits = symmetric && ordered && bits == 4 && group % 32 == 0;
  return to_string(fits ? nn::WeightFormat{4, group % 128 == 0 ? 128 : 32} : nn::WeightFormat{8, 32});
}
Array QuantisedMatrix::numbers() const {
  auto out = new_buffer({Shape{n, k}, f32});
  auto* y = static_cast<float*>(out.data);
  for (I o = 0; o < n; ++o)
    for (I i = 0; i < k; ++i)
      y[o * k + i] = scales[at(o * groups + group_of[at(i)])] * static_cast<float>(q[at(o * k + i)]);
  return out.done();
}
std::optional<Array> QuantisedMatrix::packed(const nn::WeightFormat& f) const {
  ops::LowbitShape s{{f.bits, f.group}, n, k};
  auto own = s.format.groups(k);
  std::vector<I> group(at(own), -1);
  for (I i = 0; i < k; ++i) {
    auto& g = group[at(i / f.group)];
    if (g < 0) g = group_of[at(i)];
    if (g != group_of[at(i)]) return std::nullopt;
  }
  std::vector<std::uint16_t> half(at(n * own));
  for (I o = 0; o < n; ++o)
    for (I g = 0; g < own; ++g) {
      auto scale = scales[at(o * groups + group[at(g)])];
      float16 rounded(scale);
      if (static_cast<float>(rounded) != scale) return std::nullopt;
      half[at(o * own + g)] = rounded.bits;
    }
  const int low = f.bits == 8 ? -128 : -8, high = f.bits == 8 ? 127 : 7;
  std::vector<std::int8_t> bytes(q.size());
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (q[i] < low || q[i] > high) return std::nullopt;
    bytes[i] = static_cast<std::int8_t>(q[i]);
  }
  auto out = new_buffer({s.packed(), u8});
  kernels::lowbit_pack(s.format, kernels::LowbitGiven{bytes.data(), half.data(), n, k}, out.data);
  return out.done();
}

FolderTensors FolderTensors::open(const std::string& folder) {
  FolderTensors t;
  if (gguf::is_file(folder)) {
    agree<IoError>(io::place_here(), "gguf: open", [&] { t.gguf_ = std::make_shared<GgufTensors>(folder); });
    t.names_ = t.gguf_->names();
    return t;
  }
  t.files_ = Safetensors::open(folder);
  std::error_code error;
  if (auto file = folder + "/config.json"; std::filesystem::exists(file, error))
    t.how_ = QuantisedFiles::parse(read_file(file), file);
  if (t.how_.kind == QuantisedFiles::Kind::none) {
    t.names_ = t.files_->names();
    return t;
  }
  auto& ends = names_of(t.how_.kind);
  std::set<std::string> hidden;
  for (auto& name : t.files_->names())
    if (auto layer = without(name, ends.integers); !layer.empty()) {
      t.names_.push_back(layer + std::string(ends.weight));
      for (auto end : {ends.integers, ends.scales, ends.zeros, ends.order, ends.shape})
        if (!end.empty()) hidden.insert(layer + std::string(end));
    }
  for (auto& name : t.files_->names())
    if (!hidden.contains(name)) t.names_.push_back(name);
  std::sort(t.names_.begin(), t.names_.end());
  auto twice = std::adjacent_find(t.names_.begin(), t.names_.end());
  check<CheckpointError>(twice == t.names_.end(), folder, ": ", [&] { return *twice; },
                         ": the files have it both as numbers and as integers");
  return t;
}
bool FolderTensors::is_quantised(const std::string& name) const {
  if (gguf_) return gguf_->is_quantised(name);
  auto& ends = names_of(how_.kind);
  auto layer = how_.kind == QuantisedFiles::Kind::none ? std::string() : without(name, ends.weight);
  return !layer.empty() && files().has(layer + std::string(ends.integers));
}
bool FolderTensors::has_matrix(const std::string& name) const {
  return is_quantised(name) && how_.kind != QuantisedFiles::Kind::mxfp4;
}
bool FolderTensors::has(const std::string& name) const {
  return gguf_ ? gguf_->has(name) : is_quantised(name) || files().has(name);
}
std::string FolderTensors::where(const std::string& name) const {
  if (gguf_) return gguf_->where(name);
  if (!is_quantised(name)) return files().where(name);
  auto& ends = names_of(how_.kind);
  return files().where(without(name, ends.weight) + std::string(ends.integers));
}
namespace {
/// The tensors of one weight, whose shapes fit each other.
struct Stored {
  I n = 0, k = 0, groups = 0, per = 8;
  std::string integers = {}, scales = {}, zeros = {}, order = {};  // names; empty: there is none
};
Stored stored_of(const Safetensors& files, const QuantisedFiles& how, const std::string& layer) {
  auto& ends = names_of(how.kind);
  bool gptq = how.kind == QuantisedFiles::Kind::gptq;
  Stored s{.per = 32 / how.bits};
  auto name = [&](std::string_view end) { return layer + std::string(end); };
  auto check_type = [&](const std::string& tensor, const Shape& shape, bool integers) {
    auto t = files.type(tensor);
    bool kind = integers ? t.dtype == i32 || t.dtype == i64 : is_float(t.dtype);
    check<CheckpointError>(kind && t.shape == shape, files.where(tensor), ": it is ", t, ", ",
                           Type{shape, integers ? i32 : f16}, " is wanted");
  };
  auto needed = [&](const std::string& tensor) {
    check<CheckpointError>(files.has(tensor), files.where(s.integers), ": there is no ", tensor, " beside it");
  };
  s.integers = name(ends.integers), s.scales = name(ends.scales);
  needed(s.scales);
  auto q = files.type(s.integers), scales = files.type(s.scales);
  check<CheckpointError>(q.dtype == i32 && q.ndim() == 2 && q.shape[0] > 0 && q.shape[1] > 0, files.where(s.integers),
                         ": it is ", q, ", but integers of weights are i32 and have two dimensions");
  check<CheckpointError>(is_float(scales.dtype) && scales.ndim() == 2, files.where(s.scales), ": it is ", scales,
                         ", but scales are floating and have two dimensions");
  s.n = gptq ? q.shape[1] : q.shape[0];
  s.k = (gptq ? q.shape[0] : q.shape[1]) * s.per;
  s.groups = gptq ? scales.shape[0] : scales.shape[1];
  if (!gptq) {  // inputs that do not fill the last integer
    auto shape = name(ends.shape);
    needed(shape);
    check_type(shape, {2}, true);
    Array keep;
    auto numbers = host<I>(files.read(shape).astype(i64), keep);
    check<CheckpointError>(numbers[0] == s.n && numbers[1] <= s.k && numbers[1] > s.k - s.per, files.where(shape),
                           ": it says [", numbers[0], ", ", numbers[1], "], but the integers are ", q);
    s.k = numbers[1];
  }
  check_type(s.scales, gptq ? Shape{s.groups, s.n} : Shape{s.n, s.groups}, false);
  auto group = how.group > 0 ? how.group : s.k;
  check<CheckpointError>(s.groups == (s.k + group - 1) / group, files.where(s.scales), ": it is ", scales, ", but ",
                         s.k, " inputs in groups of ", group, " have ", (s.k + group - 1) / group, " scales");
  auto units = (s.n + s.per - 1) / s.per;
  if (auto zeros = name(ends.zeros); files.has(zeros)) {
    s.zeros = zeros;
    check_type(zeros, gptq ? Shape{s.groups, units} : Shape{units, s.groups}, true);
  } else {
    check<CheckpointError>(how.symmetric, files.where(s.integers), ": there is no ", zeros, " beside it");
  }
  if (auto order = name(ends.order); files.has(order)) {
    s.order = order;
    check_type(order, {s.k}, true);
  } else {
    check<CheckpointError>(how.ordered, files.where(s.integers), ": there is no ", order, " beside it");
  }
  return s;
}
}  // namespace

Type FolderTensors::type(const std::string& name) const {
  if (gguf_) return gguf_->type(name);
  if (!is_quantised(name)) return files().type(name);
  if (how_.kind == QuantisedFiles::Kind::mxfp4) return mxfp4_type(files(), name);
  auto s = stored_of(files(), how_, without(name, names_of(how_.kind).weight));
  return {Shape{s.n, s.k}, f32};
}
Type FolderTensors::type(const TensorPart& part) const {
  if (!gguf_ && !is_quantised(part.name)) return files().type(part);
  auto t = type(part.name);
  auto view = part.view.value_or(t.shape);
  check<CheckpointError>(volume(view) == t.size(), where(part.name), ": it stands for ", t, ", ", view, " is wanted");
  auto shape = view;
  for (std::size_t d = 0; d < part.begin.size(); ++d) shape[d] = part.end.at(d) - part.begin[d];
  if (part.begin.empty())
    for (std::size_t d = 0; d < part.end.size(); ++d) shape[d] = part.end[d];
  if (part.split) {
    check<CheckpointError>(volume(*part.split) == volume(shape), where(part.name), ": a block of ", shape,
                           " is wanted as ", *part.split);
    shape = *part.split;
  }
  auto r = shape;
  for (std::size_t d = 0; d < part.order.size(); ++d) r[d] = shape[at(part.order[d])];
  return {r, t.dtype};
}
QuantisedMatrix FolderTensors::matrix(const std::string& name) const {
  if (gguf_) return gguf_->matrix(name);
  auto s = stored_of(files(), how_, without(name, names_of(how_.kind).weight));
  bool gptq = how_.kind == QuantisedFiles::Kind::gptq;
  QuantisedMatrix m{.n = s.n, .k = s.k, .groups = s.groups};
  const int bits = how_.bits;
  const auto mask = (1u << bits) - 1;
  auto part = [&](std::int32_t word, I i) {
    return static_cast<int>(static_cast<std::uint32_t>(word) >> static_cast<unsigned>(i % s.per * bits) & mask);
  };
  Array keep;
  auto scales = host<float>(files().read(s.scales).astype(f32), keep);
  m.scales.resize(at(s.n * s.groups));
  for (I o = 0; o < s.n; ++o)
    for (I g = 0; g < s.groups; ++g) {
      auto scale = scales[at(gptq ? g * s.n + o : o * s.groups + g)];
      check<CheckpointError>(std::isfinite(scale), files().where(s.scales), ": the scale of output ", o, ", group ", g,
                             " is not finite");
      m.scales[at(o * s.groups + g)] = scale;
    }
  m.group_of.resize(at(s.k));
  if (s.order.empty()) {
    auto group = how_.group > 0 ? how_.group : s.k;
    for (I i = 0; i < s.k; ++i) m.group_of[at(i)] = static_cast<std::int32_t>(i / group);
  } else {
    auto order = host<I>(files().read(s.order).astype(i64), keep);
    for (I i = 0; i < s.k; ++i) {
      check<CheckpointError>(order[at(i)] >= 0 && order[at(i)] < s.groups, files().where(s.order), ": ", order[at(i)],
                             " at ", i, " is no group; there are ", s.groups);
      m.group_of[at(i)] = static_cast<std::int32_t>(order[at(i)]);
    }
  }
  std::vector<std::int16_t> zeros(at(s.n * s.groups), static_cast<std::int16_t>(1 << (bits - 1)));
  if (!s.zeros.empty()) {
    auto units = (s.n + s.per - 1) / s.per;
    auto words = host<std::int32_t>(files().read(s.zeros).astype(i32), keep);
    for (I o = 0; o < s.n; ++o)
      for (I g = 0; g < s.groups; ++g) {
        auto z = part(words[at(gptq ? g * units + o / s.per : o / s.per * s.groups + g)], o);
        if (gptq && how_.zero_minus_one) z += 1;
        zeros[at(o * s.groups + g)] = static_cast<std::int16_t>(z);
      }
  }
  auto words = host<std::int32_t>(files().read(s.integers), keep);
  auto row = (s.k + s.per - 1) / s.per;
  m.q.resize(at(s.n * s.k));
  for (I o = 0; o < s.n; ++o)
    for (I i = 0; i < s.k; ++i) {
      auto word = words[at(gptq ? i / s.per * s.n + o : o * row + i / s.per)];
      m.q[at(o * s.k + i)] =
          static_cast<std::int16_t>(part(word, i) - zeros[at(o * s.groups + m.group_of[at(i)])]);
    }
  return m;
}
Array FolderTensors::read(const TensorPart& p, const Spec& spec) const {
  if (!gguf_ && !is_quantised(p.name)) return files().read(p, spec);
  auto x = gguf_                 ? gguf_->numbers(p.name)
           : has_matrix(p.name) ? matrix(p.name).numbers()
                                : mxfp4_numbers(files(), p.name);
  if (p.view) x = reshape(x, *p.view);
  auto n = static_cast<I>(x.ndim());
  for (I d = 0; d < n; ++d) {
    auto begin = p.begin.empty() ? 0 : p.begin[at(d)], end = p.end.empty() ? x.shape(d) : p.end[at(d)];
    if (begin != 0 || end != x.shape(d)) x = slice_in_dim(x, d, begin, end);
  }
  if (p.split) x = reshape(x, *p.split);
  if (!p.order.empty()) x = transpose(x, p.order);
  return here().mesh ? ops::constrained(x, spec) : x;
}
}  // namespace bora::models
