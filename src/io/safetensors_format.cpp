// Files are untrusted: every length, size and offset is checked before it is used.
#include "safetensors_format.h"
#include <algorithm>
#include <cstring>
#include "bora/base/text.h"
#include "json/api/events.h"

namespace bora::io {
namespace {
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kMostDims = 64;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // no disk has as many; times ranks no overflow
constexpr std::string_view kOfOneByte[] = {"F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
/// The dtypes that both the format and the library have, and those of the format alone.
const std::vector<StoredDtype>& stored_dtypes() {
  static const auto rows = [] {
    std::vector<StoredDtype> r;
    for (std::size_t k = 0; k < kDtypes; ++k)
      if (auto& d = dtype_table[k]; !d.safetensors.empty())
        r.push_back({d.safetensors, static_cast<std::int64_t>(d.size), static_cast<Dtype>(k)});
    for (auto name : kOfOneByte) r.push_back({name, 1, none});
    return r;
  }();
  return rows;
}

json::Value written(std::vector<json::Value::Member> members) {
  return json::Value::object(std::move(members), json::Order::as_written);
}
json::Value texts(const std::map<std::string, std::string>& all) { return written({all.begin(), all.end()}); }
std::string in_quotes(const std::string& name) { return "'" + one_line(name) + "'"; }

struct HeaderReader : json::Events {
  using Events::Events;
  SafetensorsHeader header = {};
  struct Entry {
    std::string dtype = {};
    std::vector<std::uint64_t> shape = {}, offsets = {};
    bool has_shape = false, has_offsets = false;
  } entry = {};
  std::map<std::string, Entry> entries = {};

  std::string where() const override { return path().empty() ? file_ : file_ + ": " + one_line(path()[0]); }
  template <class... Parts> void need(bool ok, const Parts&... parts) const {
    check<IoError>(ok, [&] { return where(); }, ": ", parts...);
  }
  bool in_metadata() const { return path()[0] == kMetadata; }

  void opened(bool list) override {
    if (path().size() < 2) need(!list, "the header has a list where an object is expected");
    else if (in_metadata()) need(false, in_quotes(path()[1]), " is not text");
    else {
      need(list && path().size() == 2, in_quotes(path()[1]), " is an object, or within a list");
      need(path()[1] == "shape" ? !entry.has_shape : path()[1] == "data_offsets" && !entry.has_offsets,
           in_quotes(path()[1]), " is a list, which this format does not have here");
      (path()[1] == "shape" ? entry.has_shape : entry.has_offsets) = true;
    }
    if (path().size() == 1) entry = {};
  }
  void value(const json::Value& v, bool in_list) override {
    need(path().size() == 2, "an object is expected, not ", json::words_of(v));
    auto& name = path()[1];
    if (in_metadata()) {
      need(v.is_text(), in_quotes(name), " is ", json::words_of(v), ", not text");
      header.metadata[name] = v.text();
    } else if (name == "dtype") {
      need(v.is_text() && !in_list, "its dtype is ", json::words_of(v), ", not text");
      entry.dtype = v.text();
    } else {
      need(name == "shape" || name == "data_offsets", in_quotes(name), " is not known to this format");
      need(in_list && v.is_natural() && v.natural() <= kMostBytes, in_quotes(name),
           " is not a list of sizes up to 2^50");
      auto& list = name == "shape" ? entry.shape : entry.offsets;
      list.push_back(v.natural());
      need(list.size() <= kMostDims, in_quotes(name), " has more than ", kMostDims, " numbers");
    }
  }
  void closed(bool list) override {
    if (!list && path().size() == 1 && !in_metadata()) finish();
  }
  void finish() {
    need(!entry.dtype.empty(), "'dtype' is missing");
    need(entry.has_shape, "'shape' is missing");
    need(entry.has_offsets && entry.offsets.size() == 2, "'data_offsets' is not a list of two numbers");
    auto dtype = stored_dtype(entry.dtype);
    need(dtype, "its dtype ", in_quotes(entry.dtype), " is not known; known are ", [] {
      std::string all;
      for (auto& d : stored_dtypes()) all += (all.empty() ? "" : " ") + std::string(d.name);
      return all;
    });
    StoredTensor t{entry.dtype};
    auto bytes = static_cast<std::uint64_t>(dtype->size);
    for (auto n : entry.shape) {
      t.shape.push_back(static_cast<std::int64_t>(n));
      if (n == 0) continue;  // the other sizes are bounded nevertheless
      need(!__builtin_mul_overflow(bytes, n, &bytes) && bytes <= kMostBytes, "its shape has more bytes than any disk");
    }
    if (std::find(entry.shape.begin(), entry.shape.end(), 0u) != entry.shape.end()) bytes = 0;
    auto begin = entry.offsets[0], end = entry.offsets[1];
    need(begin <= end && end - begin == bytes, "its data_offsets ", begin, ":", end, " do not hold the ", bytes,
         " bytes of ", entry.dtype, t.shape);
    t.offset = static_cast<std::int64_t>(begin), t.bytes = static_cast<std::int64_t>(bytes);
    header.tensors[path()[0]] = std::move(t);
  }
};

/// Any other member than weight_map is for people.
struct IndexReader : json::Events {
  using Events::Events;
  std::map<std::string, std::string> files = {};
  bool found = false;
  bool in_map() const { return !path().empty() && path()[0] == "weight_map"; }
  void opened(bool list) override {
    check<IoError>(!path().empty() || !list, file_, ": a list, an object is expected");
    if (!in_map()) return;
    check<IoError>(path().size() == 1 && !list, file_, ": weight_map is not an object of texts");
    found = true;
  }
  void closed(bool) override {}
  void value(const json::Value& v, bool) override {
    check<IoError>(!path().empty(), file_, ": an object is expected, not ", json::words_of(v));
    if (!in_map()) return;
    check<IoError>(path().size() == 2, file_, ": weight_map is ", json::words_of(v), ", not an object");
    auto& name = path()[1];
    check<IoError>(v.is_text(), file_, ": ", one_line(name), ": its file is ", json::words_of(v), ", not text");
    auto& shard = v.text();
    check<IoError>(!shard.empty() && shard != "." && shard != ".." && shard.find('/') == shard.npos &&
                       shard.find('\0') == shard.npos,
                   file_, ": ", one_line(name), ": ", in_quotes(shard), " is not the name of a file in this folder");
    files[name] = shard;
  }
};
}  // namespace

const StoredDtype* stored_dtype(std::string_view name) {
  for (auto& row : stored_dtypes())
    if (row.name == name) return &row;
  return nullptr;
}
std::string_view stored_name(Dtype d) {
  check<DtypeError>(!info(d).safetensors.empty(), "save_safetensors: the format has no dtype for ", d, "; save ",
                    d == Dtype::key ? "the bits of random keys" : "real(x) and imag(x), or cast to complex64");
  return info(d).safetensors;
}

std::int64_t header_length(std::string_view first, std::int64_t file_bytes, const std::string& file) {
  check<IoError>(first.size() >= 8, file, ": no safetensors file: it has ", first.size(), " bytes");
  std::uint64_t n;
  std::memcpy(&n, first.data(), sizeof n);
  check<IoError>(n <= static_cast<std::uint64_t>(kMostHeader), file, ": no safetensors file: its header would have ", n,
                 " bytes, the limit is ", kMostHeader);
  auto length = static_cast<std::int64_t>(n);
  check<IoError>(length <= file_bytes - 8, file, ": truncated: its header has ", length, " bytes, the file ",
                 file_bytes);
  return length;
}
SafetensorsHeader parse_safetensors(std::string_view json, std::int64_t file_bytes, const std::string& file) {
  check<IoError>(!json.empty() && json[0] == '{', file, ": no safetensors file: its header is no JSON object");
  HeaderReader reader(file);
  reader.parse(json);
  auto& tensors = reader.header.tensors;
  std::vector<std::pair<const std::string, StoredTensor>*> order;
  for (auto& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {  // empty tensors before others at the same place
    auto end = [](auto* t) { return t->second.offset + t->second.bytes; };
    return std::pair(a->second.offset, end(a)) < std::pair(b->second.offset, end(b));
  });
  auto start = 8 + static_cast<std::int64_t>(json.size()), at = std::int64_t{0};
  const std::string* before = nullptr;
  for (auto* t : order) {
    auto& name = t->first;
    auto& x = t->second;
    auto where = [&] { return file + ": " + one_line(name); };
    check<IoError>(x.offset >= at, where, ": its bytes overlap those of ", [&] { return in_quotes(*before); });
    check<IoError>(x.offset == at, where, ": ", x.offset - at, " bytes before it belong to no tensor");
    at += x.bytes;
    check<IoError>(at <= file_bytes - start, where, ": truncated: it ends ", at, " bytes behind the header, the file ",
                   file_bytes - start);
    x.offset += start;
    before = &name;
  }
  check<IoError>(at == file_bytes - start, file, ": ", file_bytes - start - at,
                 " bytes at its end belong to no tensor");
  return std::move(reader.header);
}
std::map<std::string, std::string> parse_safetensors_index(std::string_view json, const std::string& file) {
  IndexReader reader(file);
  reader.parse(json);
  check<IoError>(reader.found, file, ": it has no weight_map");
  return std::move(reader.files);
}

std::string safetensors_header(const std::vector<std::pair<std::string, StoredTensor>>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  try {
    std::vector<json::Value::Member> header;
    if (!metadata.empty()) header.emplace_back(kMetadata, texts(metadata));
    std::int64_t at = 0;
    for (auto& [name, t] : tensors) {
      check<ConfigError>(name != kMetadata, "save_safetensors: no tensor can be named '", kMetadata, "'");
      header.emplace_back(name, written({{"dtype", t.dtype},
                                         {"shape", t.shape.dims()},
                                         {"data_offsets", json::Value::List{at, at + t.bytes}}}));
      at += t.bytes;
    }
    auto text = written(std::move(header)).dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    check<ConfigError>(text.size() <= static_cast<std::size_t>(kMostHeader), "save_safetensors: the header has ",
                       text.size(), " bytes, the limit is ", kMostHeader);
    std::uint64_t n = text.size();
    return std::string(reinterpret_cast<const char*>(&n), sizeof n) + text;
  } catch (const ValueError& e) {
    fail<ConfigError>("save_safetensors: a name or a text of metadata is not UTF-8: ", one_line(e.text()));
  }
}
std::string safetensors_index(const std::map<std::string, std::string>& files, std::int64_t bytes) {
  auto metadata = written({{"total_size", bytes}});
  return written({{"metadata", metadata}, {"weight_map", texts(files)}}).dump(2) + "\n";
}
}  // namespace bora::io
