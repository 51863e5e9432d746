#include "data/tables/parquet_footer.h"
#include <algorithm>
#include <cstring>
#include "bora/base/error.h"
#include "data/tables/thrift.h"

namespace bora::data::tables {
namespace {
constexpr std::int64_t kMostInFile = std::int64_t{1} << 48;
enum Repetition : std::int32_t { required, optional, repeated };

/// A line of the schema, which is a tree in preorder.
struct Element {
  std::int32_t physical = -1, repetition = required, children = 0, converted = -1;
  std::string name = {};
  int logical = 0;      // the number of the field in LogicalType; 0: none
  bool natural = false;
};
Element read_element(Thrift& t) {
  Element e;
  t.structure([&](int field, int type) {
    switch (field) {
      case 1: return t.take(type, e.physical);
      case 3: return t.take(type, e.repetition);
      case 4: return t.take(type, e.name);
      case 5: return t.take(type, e.children);
      case 6: return t.take(type, e.converted);
      case 10:
        return t.take_structure(type, [&](int kind, int of) {
          e.logical = kind;
          constexpr int integer = 10;
          if (kind != integer) return false;
          return t.take_structure(of, [&](int f, int is) {
            bool sign = true;
            bool taken = f == 2 && t.take(is, sign);
            e.natural = e.natural || (taken && !sign);
            return taken;
          });
        });
      default: return false;
    }
  });
  if (e.converted >= 11 && e.converted <= 14) e.natural = true;
  return e;
}
/// Why values of a leaf are not read; empty if they are.
std::string refusal(const Element& e) {
  constexpr const char* converted[] = {"", "", "", "", "", "decimals", "dates", "times", "times", "timestamps",
                                       "timestamps"};
  constexpr const char* logical[] = {"", "", "", "", "", "decimals", "dates", "times", "timestamps", "", "", "", "",
                                     "BSON", "UUIDs", "16-bit floats"};
  constexpr std::string_view advice = ", which are not read";
  std::string of;
  if (e.logical > 15) of = "values of logical type " + std::to_string(e.logical);
  else if (*logical[e.logical] != '\0') of = logical[e.logical];
  else if (e.converted >= 0 && e.converted <= 10) of = converted[e.converted];
  else if (e.converted == 20) of = "BSON";
  else if (e.converted == 21) of = "intervals";
  if (of.empty() && e.physical == static_cast<int>(Physical::int96)) of = "timestamps of 96 bits";
  if (of.empty() && e.physical == static_cast<int>(Physical::fixed)) of = "byte strings of fixed length";
  return of.empty() ? "" : "holds " + of + std::string(advice);
}
Kind kind_of(const Element& e) {
  switch (static_cast<Physical>(e.physical)) {
    case Physical::boolean: return Kind::boolean;
    case Physical::float32:
    case Physical::float64: return Kind::real;
    case Physical::int32:
    case Physical::int64: return e.natural ? Kind::natural : Kind::integer;
    default: return Kind::text;
  }
}

/// Makes types, levels and leaves of the schema's lines.
class ParquetSchema {
 public:
  ParquetSchema(const std::vector<Element>& all, Footer& out) : all_(all), out_(out) {
    expect(!all.empty() && all[0].children > 0, "it has no columns");
    for (std::int32_t i = 0; i < all[0].children; ++i) {
      auto [type, levels] = of("", 0, 0, 0, false);
      for (auto& other : out.columns)
        if (other.name == type.name) broken("it has the column '" + type.name + "' twice");
      out.columns.push_back(std::move(type));
      out.levels.push_back(std::move(levels));
    }
    expect(at_ == all.size(), "its schema has lines without a place");
  }

 private:
  using Both = std::pair<Type, Levels>;
  /// The next line and those below it. single: a line that is repeated stands for the elements, not for their list.
  Both of(const std::string& above, int def, int rep, int slot, bool single) {
    expect(at_ < all_.size() && ++depth_ < 40, "its schema is broken");
    auto& e = all_[at_];
    expect(e.repetition >= required && e.repetition <= repeated && e.children >= 0, "its schema is broken");
    auto path = above.empty() ? e.name : above + "." + e.name;
    Both both;
    if (e.repetition == repeated && !single) {  // a list without a group around it
      both = list(e.name, def, rep, slot, [&] { return of(above, def + 1, rep + 1, def + 1, true); });
    } else if (e.children == 0) {
      both = leaf(e, path, def + (e.repetition == optional), rep, slot);
    } else {
      both = group(e, path, def + (e.repetition == optional), rep, slot);
    }
    --depth_;
    return both;
  }
  template <class F> Both list(const std::string& name, int def, int rep, int slot, const F& elements) {
    Both both{{.name = name, .kind = Kind::list}, {.def = def, .rep = rep, .slot = slot, .element_def = def + 1}};
    auto [type, levels] = elements();
    both.first.refused = type.refused;
    both.first.children.push_back(std::move(type));
    both.second.children.push_back(std::move(levels));
    return both;
  }
  Both leaf(const Element& e, const std::string& path, int def, int rep, int slot) {
    expect(e.physical >= 0 && e.physical <= static_cast<int>(Physical::fixed), "a column has an unknown type");
    ++at_;
    auto n = out_.leaves.size();
    out_.leaves.push_back({path, static_cast<Physical>(e.physical), e.natural, def, rep});
    return {{.name = e.name, .kind = kind_of(e), .refused = refusal(e)},
            {.def = def, .rep = rep, .slot = slot, .leaf = n}};
  }
  Both group(const Element& e, const std::string& path, int def, int rep, int slot) {
    constexpr int map = 1, map_entries = 2, list_form = 3;
    bool is_map = e.logical == 2 || e.converted == map || e.converted == map_entries;
    bool is_list = e.logical == 3 || e.converted == list_form;
    ++at_;
    bool one = e.children == 1 && at_ < all_.size() && all_[at_].repetition == repeated;
    if ((is_list || is_map) && one) {
      auto& inner = all_[at_];
      // The rules of the format for lists that older writers made: the repeated group is the element itself, unless it
      // has the one field that is.
      bool wraps = !is_map && inner.children == 1 && inner.name != "array" && inner.name != e.name + "_tuple" &&
                   at_ + 1 < all_.size() && all_[at_ + 1].repetition != repeated;
      return list(e.name, def, rep, slot, [&] {
        if (!wraps) return of(path, def + 1, rep + 1, def + 1, true);
        ++at_;
        return of(path + "." + inner.name, def + 1, rep + 1, def + 1, false);
      });
    }
    Both both{{.name = e.name, .kind = Kind::record}, {.def = def, .rep = rep, .slot = slot}};
    bool any = false;
    for (std::int32_t i = 0; i < e.children; ++i) {
      auto [type, levels] = of(path, def, rep, slot, false);
      any = any || type.refused.empty();
      both.first.children.push_back(std::move(type));
      both.second.children.push_back(std::move(levels));
    }
    if (!any) both.first.refused = both.first.children[0].refused;
    return both;
  }
  const std::vector<Element>& all_;
  Footer& out_;
  std::size_t at_ = 1;
  int depth_ = 0;
};

struct Encryption {};
struct Elsewhere {};
Piece read_piece(Thrift& t, std::int64_t end) {
  Piece p;
  std::int64_t data = 0, dictionary = 0;
  std::int32_t codec = 0;
  bool there = false;
  t.structure([&](int field, int type) {
    if (field == 1 && type == 8) throw Elsewhere();
    if (field == 8) throw Encryption();
    if (field != 3) return false;
    there = true;
    return t.take_structure(type, [&](int f, int is) {
      switch (f) {
        case 4: return t.take(is, codec);
        case 5: return t.take(is, p.values);
        case 6: return t.take(is, p.unpacked);
        case 7: return t.take(is, p.bytes);
        case 9: return t.take(is, data);
        case 11: return t.take(is, dictionary);
        default: return false;
      }
    });
  });
  expect(there && codec >= 0 && codec < 256, "a piece of a column is not described");
  p.codec = static_cast<Codec>(codec);
  p.start = dictionary > 0 && dictionary < data ? dictionary : data;
  bool inside = p.start >= 4 && p.bytes >= 0 && p.start <= end && p.bytes <= end - p.start && p.values >= 0;
  expect(inside, "a piece of a column lies outside of the file");
  return p;
}
RowGroup read_group(Thrift& t, std::int64_t end) {
  RowGroup g;
  t.structure([&](int field, int type) {
    if (field == 3) return t.take(type, g.rows);
    if (field != 1) return false;
    return t.take_list(type, [&](int of) {
      expect(of == 12, "a row group is not described");
      g.pieces.push_back(read_piece(t, end));
    });
  });
  return g;
}
}  // namespace

std::string codec_name(std::int64_t n) {
  constexpr const char* names[] = {"none", "snappy", "gzip", "LZO", "Brotli", "LZ4", "zstd", "LZ4 (raw)"};
  return n >= 0 && n < 8 ? names[n] : "codec " + std::to_string(n);
}
std::string encoding_name(std::int64_t n) {
  constexpr const char* names[] = {"PLAIN", "1", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED",
                                   "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY",
                                   "BYTE_STREAM_SPLIT"};
  return n >= 0 && n < 10 ? names[n] : std::to_string(n);
}
Footer read_footer(const SourceFile& file, const File& opened) {
  char head[4] = {}, tail[8] = {};
  bool there = file.bytes >= 12 && opened.read(0, head, 4) && opened.read(file.bytes - 8, tail, 8);
  std::string_view begin(head, 4), end(tail + 4, 4);
  check<ConfigError>(!there || end != "PARE", file.path, ": its footer is encrypted, which is not read");
  check<IoError>(there && begin == "PAR1", file.path, " is not a Parquet file: it does not begin with PAR1");
  check<IoError>(end == "PAR1", file.path, ": it does not end with PAR1; the file is incomplete");
  std::uint32_t n = 0;
  std::memcpy(&n, tail, 4);
  check<IoError>(n <= file.bytes - 12, file.path, ": the length of its footer, ", n, ", is more than the file has");
  std::string bytes(n, '\0');
  auto start = file.bytes - 8 - static_cast<std::int64_t>(n);
  check<IoError>(opened.read(start, bytes.data(), n), file.path, ": it became shorter while it was read");
  Footer f;
  try {
    std::vector<Element> elements;
    Thrift t(bytes);
    t.structure([&](int field, int type) {
      if (field == 2) return t.take_list(type, [&](int of) {
        expect(of == 12, "its schema is broken");
        elements.push_back(read_element(t));
      });
      if (field == 4) return t.take_list(type, [&](int of) {
        expect(of == 12, "a row group is not described");
        f.groups.push_back(read_group(t, start));
      });
      return false;
    });
    ParquetSchema(elements, f);
    for (auto& g : f.groups) {
      expect(g.pieces.size() == f.leaves.size(), "a row group has another number of columns than the schema");
      expect(g.rows >= 0 && g.rows < kMostInFile - f.rows, "a row group has no number of rows");
      g.first = f.rows;
      f.rows += g.rows;
    }
    std::erase_if(f.groups, [](auto& g) { return g.rows == 0; });
  } catch (const Problem& p) {
    fail<IoError>(file.path, ": the footer of this Parquet file is damaged: ", p.what);
  } catch (const Encryption&) {
    fail<ConfigError>(file.path, ": its columns are encrypted, which is not read");
  } catch (const Elsewhere&) {
    fail<ConfigError>(file.path, ": its columns lie in other files, which is not read; name those");
  }
  return f;
}
}  // namespace bora::data::tables
