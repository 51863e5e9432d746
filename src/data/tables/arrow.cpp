// Arrow's IPC formats, stream and file, which `datasets` keeps on disk (the page Columnar Format of its site): batches
// of rows, each with the columns' buffers. Only the parts of buffers that some rows need are read.
#include <algorithm>
#include <bit>
#include "base/api/file.h"
#include "bora/base/error.h"
#include "data/tables/flatbuffer.h"
#include "data/tables/table.h"

namespace bora::data::tables {
namespace {
constexpr std::int64_t kMostMetadata = 256 << 20, kMostTogether = std::int64_t{1} << 40;
constexpr std::int64_t kMostWithoutBytes = 1 << 24;  // values that no bytes of the file stand for

/// How a type's values lie in buffers.
enum class Form : std::uint8_t { fixed, bits, texts, list, fixed_list, record, nothing };
struct Field {
  Form form = Form::fixed;
  int width = 0;           // bytes of a number or an offset
  bool sign = false, real = false;
  std::int64_t length = 0;  // of lists of one length
  std::size_t node = 0, buffer = 0;  // the first of its own
  std::vector<Field> children = {};
};
/// A record batch: its metadata and, behind it, its buffers.
struct Batch {
  std::int64_t first = 0, rows = 0;  // of the file's rows
  std::int64_t metadata = 0, bytes = 0, body = 0, body_bytes = 0;
};

class ArrowSchema {
 public:
  ArrowSchema(const Flat& schema, std::vector<Type>& types, std::vector<Field>& fields) {
    expect(schema.get<std::int16_t>(0, 0) == 0, "its numbers are big-endian, which is not read");
    for (std::size_t i = 0; i < schema.count(1); ++i) {
      auto [type, field] = of(schema.table(1, i));
      for (auto& other : types)
        if (other.name == type.name) broken("it has the column '" + type.name + "' twice");
      types.push_back(std::move(type));
      fields.push_back(std::move(field));
    }
    expect(!types.empty(), "it has no columns");
  }

 private:
  std::pair<Type, Field> of(const Flat& f) {
    expect(++depth_ < 40, "its schema is too deep");
    Type t{.name = f.text(0)};
    Field field;
    field.node = nodes_++, field.buffer = buffers_;
    auto refuse = [&](const char* of) { t.refused = std::string("holds ") + of + ", which are not read"; };
    std::size_t own = 2;
    auto number = [&](int width, bool sign, bool real) {
      field.width = width, field.sign = sign, field.real = real;
      t.kind = real ? Kind::real : sign ? Kind::integer : Kind::natural;
    };
    auto kind = f.get<std::uint8_t>(2, 0);
    switch (kind) {
      case 1: field.form = Form::nothing, own = 0, t.kind = Kind::integer; break;
      case 2: {
        auto type = f.table(3);
        auto bits = type.get<std::int32_t>(0, 0);
        expect(bits == 8 || bits == 16 || bits == 32 || bits == 64, "an integer has an unknown width");
        number(bits / 8, type.get<std::uint8_t>(1, 0) != 0, false);
        break;
      }
      case 3: {
        auto precision = f.table(3).get<std::int16_t>(0, 0);
        if (precision == 0) refuse("16-bit floats");
        number(precision == 1 ? 4 : 8, true, true);
        break;
      }
      case 4:
      case 5: field.form = Form::texts, field.width = 4, own = 3; break;
      case 19:
      case 20: field.form = Form::texts, field.width = 8, own = 3; break;
      case 6: field.form = Form::bits, t.kind = Kind::boolean; break;
      case 7: refuse("decimals"); break;
      case 8: refuse("dates"); break;
      case 9: refuse("times"); break;
      case 10: refuse("timestamps"); break;
      case 11:
      case 18: refuse("durations"); break;
      case 15: refuse("byte strings of fixed length"); break;
      case 12:
      case 17: field.form = Form::list, field.width = 4, t.kind = Kind::list; break;
      case 21: field.form = Form::list, field.width = 8, t.kind = Kind::list; break;
      case 16:
        field.form = Form::fixed_list, own = 1, t.kind = Kind::list;
        field.length = f.table(3).get<std::int32_t>(0, 0);
        expect(field.length >= 0, "a list has a length below 0");
        break;
      case 13: field.form = Form::record, own = 1, t.kind = Kind::record; break;
      default: {
        constexpr const char* names[] = {"unions", "values in runs", "views of bytes", "views of text",
                                         "views of lists", "views of lists"};
        auto name = kind == 14 ? names[0] : kind >= 22 && kind <= 26 ? names[kind - 21] : "values of an unknown type";
        broken("the column '" + t.name + "' holds " + name +
               ", which are not read; write it as text, lists or records");
      }
    }
    if (f.has(4)) {  // indices of a dictionary
      refuse("indices of a dictionary");
      field.form = Form::fixed, own = 2;
    }
    buffers_ += own;
    auto n = f.has(4) ? 0 : f.count(5);
    bool list = field.form == Form::list || field.form == Form::fixed_list;
    expect(!list || n == 1, "a list has no type of elements");
    expect(list || n == 0 || field.form == Form::record, "a column has parts that its type does not have");
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) {
      auto [type, child] = of(f.table(5, i));
      any = any || type.refused.empty();
      t.children.push_back(std::move(type));
      field.children.push_back(std::move(child));
    }
    if (field.form == Form::record && n == 0) t.refused = "holds records without fields, which are not read";
    if (n > 0 && !any) t.refused = t.children[0].refused;
    --depth_;
    return {std::move(t), std::move(field)};
  }
  std::size_t nodes_ = 0, buffers_ = 0;
  int depth_ = 0;
};

class Arrow final : public Table {
 public:
  Arrow(const SourceFile& file, const std::vector<std::string>& names)
      : path_(file.path), bytes_(file.bytes), file_(File::open(file.path)) {
    try {
      find_batches();
    } catch (const Problem& p) { fail<IoError>(path_, ": this Arrow file is damaged or not read: ", p.what); }
    choose(path_, names);
  }
  std::int64_t rows() const override { return batches_.empty() ? 0 : batches_.back().first + batches_.back().rows; }
  Rows read(std::int64_t row) override {
    auto behind = [](std::int64_t r, const Batch& b) { return r < b.first; };
    auto& batch = *(std::upper_bound(batches_.begin(), batches_.end(), row, behind) - 1);
    auto where = [&] { return ", batch " + std::to_string(&batch - batches_.data() + 1) + ": "; };
    if (&batch != open_) metadata_ = bytes_at(batch.metadata, batch.bytes);
    open_ = &batch;
    auto of_row = std::max<std::int64_t>(batch.body_bytes / batch.rows, 1);
    auto n = std::clamp<std::int64_t>(kBytesAtOnce / of_row, 1, kRowsAtOnce);
    n = std::min(n, batch.first + batch.rows - row);
    Rows some{.size = static_cast<std::size_t>(n)};
    auto begin = row - batch.first;
    for (auto c : wanted_) {
      try {
        auto header = Flat(metadata_).table(2);
        some.columns.push_back(column(columns_[c], fields_[c], header, batch, begin, begin + n, some));
        check_sizes(columns_[c], some.columns.back(), some.size);
      } catch (const Problem& p) { fail<IoError>(path_, ": column '", columns_[c].name, "'", where(), p.what); }
    }
    return some;
  }

 private:
  std::string bytes_at(std::int64_t at, std::int64_t n) const {
    if (at < 0 || n < 0 || at > bytes_ || n > bytes_ - at) throw Problem{"it ends in the middle of a message", true};
    std::string out(static_cast<std::size_t>(n), '\0');
    check<IoError>(file_.read(at, out.data(), n), path_, ": it became shorter while it was read");
    return out;
  }
  void find_batches() {
    constexpr std::string_view magic = "ARROW1";
    std::int64_t at = 0, end = bytes_;
    if (bytes_ >= 8 && bytes_at(0, 6) == magic) {
      bool whole = bytes_ >= 18 && bytes_at(bytes_ - 6, 6) == magic;
      check<IoError>(whole, path_, ": it does not end with ARROW1; the file is incomplete");
      at = 8, end = bytes_ - 10;
    }
    bool schema = false, ended = false;
    while (at < end && !ended) {
      auto head = bytes_at(at, std::min<std::int64_t>(8, end - at));
      std::uint32_t words[2] = {};
      std::memcpy(words, head.data(), head.size());
      constexpr std::uint32_t goes_on = 0xffffffff;
      bool marked = words[0] == goes_on;  // versions before 0.15 have the size alone
      expect(head.size() >= (marked ? 8U : 4U), "it ends in the middle of a message");
      std::int64_t n = marked ? words[1] : words[0];
      at += marked ? 8 : 4;
      ended = n == 0;
      if (ended) break;
      expect(n <= kMostMetadata && n <= end - at, "a message ends behind the file");
      auto bytes = bytes_at(at, n);
      Flat message(bytes);
      auto kind = message.get<std::uint8_t>(1, 0);
      auto body = message.get<std::int64_t>(3, 0);
      expect(body >= 0 && body <= end - at - n, "a message ends behind the file");
      if (kind == 1) {
        expect(!schema, "it has two schemas");
        schema = true;
        ArrowSchema(message.table(2), columns_, fields_);
      } else if (kind == 3) {
        expect(schema, "it has rows before a schema");
        auto header = message.table(2);
        if (header.has(3)) {
          auto codec = header.table(3).get<std::int8_t>(0, 0);
          fail<ConfigError>(path_, ": its batches are compressed by ", codec == 0 ? "LZ4" : "zstd",
                            ", which is not read in Arrow files; write it without (compression=None), or as Parquet");
        }
        auto rows = header.get<std::int64_t>(0, 0);
        expect(rows >= 0 && rows <= kMostTogether - this->rows(), "a batch has no number of rows");
        if (rows > 0) batches_.push_back({this->rows(), rows, at, n, at + n, body});
      }
      at += n + body;
    }
    expect(schema, "it has no schema");
  }
  /// Bytes [begin, end) of a buffer.
  std::string_view buffer(const Flat& header, const Batch& batch, std::size_t i, std::int64_t begin, std::int64_t end,
                          Rows& some) const {
    auto at = header.in_list<std::int64_t>(2, i, 16, 0), n = header.in_list<std::int64_t>(2, i, 16, 8);
    expect(at >= 0 && n >= 0 && at <= batch.body_bytes && n <= batch.body_bytes - at,
           "a buffer lies outside of its batch");
    expect(0 <= begin && begin <= end && end <= n, "a buffer ends before its last value");
    auto held = std::make_shared<const std::string>(bytes_at(batch.body + at + begin, end - begin));
    some.memory.push_back(held);
    return *held;
  }
  std::vector<std::uint8_t> bits(const Flat& header, const Batch& batch, std::size_t i, std::int64_t begin,
                                 std::int64_t end) const {
    Rows room;
    std::vector<std::uint8_t> out;
    if (begin == end) return out;
    auto bytes = buffer(header, batch, i, begin / 8, (end + 7) / 8, room);
    out.reserve(static_cast<std::size_t>(end - begin));
    for (auto k = begin; k < end; ++k)
      out.push_back(static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(k / 8 - begin / 8)]) >> k % 8 & 1);
    return out;
  }
  /// Offsets begin .. end of lists or texts, which have one more than values.
  std::vector<std::int64_t> offsets(const Flat& header, const Batch& batch, const Field& f, std::int64_t begin,
                                    std::int64_t end) const {
    if (begin == end) return {0};  // of no values there may be no offset either
    Rows room;
    auto width = static_cast<std::int64_t>(f.width);
    auto bytes = buffer(header, batch, f.buffer + 1, begin * width, (end + 1) * width, room);
    std::vector<std::int64_t> out(static_cast<std::size_t>(end - begin + 1));
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (width == 8) std::memcpy(&out[k], bytes.data() + 8 * k, 8);
      else {
        std::int32_t x = 0;
        std::memcpy(&x, bytes.data() + 4 * k, 4);
        out[k] = x;
      }
      expect(out[k] >= (k == 0 ? 0 : out[k - 1]) && out[k] < kMostTogether, "its offsets do not ascend");
    }
    return out;
  }
  static std::uint64_t number_at(const Field& f, const char* at) {
    auto as = [&](auto zero) {
      std::memcpy(&zero, at, sizeof zero);
      if constexpr (std::is_floating_point_v<decltype(zero)>)
        return std::bit_cast<std::uint64_t>(static_cast<double>(zero));
      else return static_cast<std::uint64_t>(zero);
    };
    if (f.real) return f.width == 4 ? as(0.0F) : as(0.0);
    switch (f.width) {
      case 1: return f.sign ? as(std::int8_t{}) : as(std::uint8_t{});
      case 2: return f.sign ? as(std::int16_t{}) : as(std::uint16_t{});
      case 4: return f.sign ? as(std::int32_t{}) : as(std::uint32_t{});
      default: return as(std::uint64_t{});
    }
  }
  Column column(const Type& t, const Field& f, const Flat& header, const Batch& batch, std::int64_t begin,
                std::int64_t end, Rows& some) const {
    Column c{.size = static_cast<std::size_t>(end - begin)};
    auto length = header.in_list<std::int64_t>(1, f.node, 16, 0);
    auto nulls = header.in_list<std::int64_t>(1, f.node, 16, 8);
    expect(end <= length, "it has fewer values than rows");
    if (f.form == Form::nothing) {
      expect(end - begin <= kMostWithoutBytes, "it has too many nulls in a few rows");
      c.valid.resize(c.size);
      c.numbers.resize(c.size);
      return c;
    }
    if (nulls != 0) c.valid = bits(header, batch, f.buffer, begin, end);
    switch (f.form) {
      case Form::fixed: {
        auto width = static_cast<std::int64_t>(f.width);
        Rows room;
        auto bytes = buffer(header, batch, f.buffer + 1, begin * width, end * width, room);
        for (std::size_t i = 0; i < c.size; ++i)
          c.numbers.push_back(number_at(f, bytes.data() + i * static_cast<std::size_t>(width)));
        break;
      }
      case Form::bits: {
        auto all = bits(header, batch, f.buffer + 1, begin, end);
        c.numbers.assign(all.begin(), all.end());
        break;
      }
      case Form::texts: {
        auto at = offsets(header, batch, f, begin, end);
        auto bytes = buffer(header, batch, f.buffer + 2, at.front(), at.back(), some);
        for (std::size_t i = 0; i < c.size; ++i)
          c.texts.push_back(bytes.substr(static_cast<std::size_t>(at[i] - at.front()),
                                         static_cast<std::size_t>(at[i + 1] - at[i])));
        break;
      }
      case Form::list: {
        auto at = offsets(header, batch, f, begin, end);
        for (std::size_t i = 1; i < at.size(); ++i) c.ends.push_back(static_cast<std::uint64_t>(at[i] - at.front()));
        c.children.push_back(column(t.children[0], f.children[0], header, batch, at.front(), at.back(), some));
        break;
      }
      case Form::fixed_list: {
        expect(f.length == 0 || (end <= kMostTogether / f.length && end - begin <= kMostWithoutBytes / f.length),
               "its lists are too long together");
        for (std::size_t i = 1; i <= c.size; ++i) c.ends.push_back(i * static_cast<std::uint64_t>(f.length));
        c.children.push_back(
            column(t.children[0], f.children[0], header, batch, begin * f.length, end * f.length, some));
        break;
      }
      case Form::record:
        for (std::size_t k = 0; k < t.children.size(); ++k)
          c.children.push_back(t.children[k].refused.empty()
                                   ? column(t.children[k], f.children[k], header, batch, begin, end, some)
                                   : Column{});
        break;
      case Form::nothing: break;
    }
    return c;
  }
  std::string path_;
  std::int64_t bytes_;
  File file_;
  std::vector<Field> fields_ = {};
  std::vector<Batch> batches_ = {};
  const Batch* open_ = nullptr;
  std::string metadata_ = {};  // of open_
};
}  // namespace

std::unique_ptr<Table> open_arrow(const SourceFile& file, const std::vector<std::string>& columns) {
  return std::make_unique<Arrow>(file, columns);
}
}  // namespace bora::data::tables
