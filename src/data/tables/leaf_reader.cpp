#include "data/tables/leaf_reader.h"
#include <algorithm>
#include <bit>

namespace bora::data::tables {
namespace {
constexpr std::size_t kLevels = 1024;  // decoded at once
constexpr std::int64_t kMostInDictionary = 1 << 26;
constexpr std::size_t kMostLevels = 1 << 24;  // of the rows that are read at once

int width_of(int most) { return std::bit_width(static_cast<unsigned>(most)); }
}  // namespace

LeafReader::LeafReader(const File& file, const std::string& path, const Leaf& leaf, const Piece& piece,
                       std::size_t group)
    : leaf_(leaf), pages_(file, path, leaf, piece, group) {}

bool LeafReader::next_page() {
  for (const PageHeader* h; (h = pages_.ahead());) {
    auto header = *h;
    if (header.kind == PageHeader::index) {
      pages_.skip();
      continue;
    }
    try {
      if (header.kind == PageHeader::dictionary) {
        bool plain = header.encoding == static_cast<int>(Encoding::plain) ||
                     header.encoding == static_cast<int>(Encoding::plain_dictionary);
        if (!plain) broken("the dictionary is encoded by " + encoding_name(header.encoding) + ", which is not read");
        expect(!has_dictionary_, "there is a second dictionary");
        expect(header.values <= kMostInDictionary, "the dictionary has too many values");
        auto page = pages_.take();
        dictionary_.memory.push_back(page.memory);
        auto all = decoder_of(static_cast<int>(Encoding::plain), leaf_, page.values, 0, nullptr);
        expect(all != nullptr, "the dictionary's values are not read");
        all->read(static_cast<std::size_t>(header.values), dictionary_);
        has_dictionary_ = true;
        continue;
      }
      if (header.kind != PageHeader::data && header.kind != PageHeader::data2)
        broken("it is a page of an unknown kind, " + std::to_string(header.kind));
      page_ = pages_.take();
      rep_ = Hybrid(page_.rep, width_of(leaf_.most_rep));
      def_ = Hybrid(page_.def, width_of(leaf_.most_def));
      values_ = decoder_of(header.encoding, leaf_, page_.values, static_cast<std::size_t>(header.values),
                           has_dictionary_ ? &dictionary_ : nullptr);
      if (!values_)
        broken("its values are encoded by " + encoding_name(header.encoding) +
               ", which is not read; write it with dictionaries or plain (use_dictionary=True)");
      left_ = header.values;
      said_rows_ = header.rows, said_nulls_ = header.nulls;
      rows_ = nulls_ = 0;
    } catch (const Problem& p) { pages_.failed(p.what); }
    if (left_ > 0) return true;
  }
  return false;
}
void LeafReader::fill() {
  auto n = std::min(static_cast<std::size_t>(left_), kLevels);
  auto levels = [&](Hybrid& from, int most, std::vector<std::uint32_t>& to) {
    to.resize(n);
    from.read(to.data(), n);
    for (auto x : to) expect(x <= static_cast<std::uint32_t>(most), "a level is higher than the schema allows");
  };
  levels(rep_, leaf_.most_rep, next_rep_);
  levels(def_, leaf_.most_def, next_def_);
  left_ -= static_cast<std::int64_t>(n);
  at_ = 0;
}
void LeafReader::give_values(std::size_t n, LeafRows* out) {
  Values passed;
  values_->read(n, out ? out->values : passed);
}
void LeafReader::take(std::int64_t rows, LeafRows* out) {
  bool began = false;  // a row that goes on if the next level says so
  for (bool more = true; more;) {
    if (at_ == next_def_.size()) {
      if (left_ == 0 && (rows == 0 && (leaf_.most_rep == 0 || !began))) return;
      if (left_ == 0 && !next_page()) {
        if (rows > 0) pages_.failed("the column ends " + std::to_string(rows) + " rows before its row group");
        return;
      }
      try {
        fill();
      } catch (const Problem& p) { pages_.failed(p.what); }
      if (out && std::find(out->values.memory.begin(), out->values.memory.end(), page_.memory) ==
                     out->values.memory.end())
        out->values.memory.push_back(page_.memory);
    }
    // Levels up to the end of the rows.
    auto begin = at_;
    std::size_t there = 0;
    if (said_rows_ >= 0 && rows_ == 0 && next_rep_[at_] != 0) pages_.failed("it begins inside of a row");
    for (; at_ < next_def_.size(); ++at_) {
      if (next_rep_[at_] == 0) {
        if (rows == 0) {
          more = false;
          break;
        }
        --rows;
        ++rows_;
        began = true;
      } else if (!began) pages_.failed("it begins inside of a row");
      there += next_def_[at_] == static_cast<std::uint32_t>(leaf_.most_def);
    }
    nulls_ += static_cast<std::int64_t>(at_ - begin - there);
    try {
      if (there > 0) give_values(there, out);
    } catch (const Problem& p) { pages_.failed(p.what); }
    if (at_ == next_def_.size() && left_ == 0) check_page();
    if (!out) continue;
    auto add = [&](std::vector<std::uint8_t>& to, const std::vector<std::uint32_t>& from) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                from.begin() + static_cast<std::ptrdiff_t>(at_));
    };
    if (out->rep.size() > kMostLevels) pages_.failed("a row has more than " + std::to_string(kMostLevels) + " values");
    if (leaf_.most_def > 0) add(out->def, next_def_);
    if (leaf_.most_rep > 0) add(out->rep, next_rep_);
  }
}
void LeafReader::check_page() const {
  auto same = [&](std::int64_t said, std::int64_t has, const char* what) {
    if (said >= 0 && said != has)
      pages_.failed("it says that it has " + std::to_string(said) + " " + what + ", and has " + std::to_string(has));
  };
  same(said_rows_, rows_, "rows");
  same(said_nulls_, nulls_, "nulls");
  if (!values_->used_up()) pages_.failed("it has more values than it says");
}
void LeafReader::finish() {
  if (at_ < next_def_.size() || left_ > 0 || next_page())
    pages_.failed("the column has more rows than its row group");
}
LeafRows LeafReader::read(std::int64_t rows) {
  LeafRows out;
  out.values.memory = dictionary_.memory;
  if (page_.memory) out.values.memory.push_back(page_.memory);
  take(rows, &out);
  // A dictionary may have come with the first page.
  out.values.memory.insert(out.values.memory.end(), dictionary_.memory.begin(), dictionary_.memory.end());
  return out;
}
void LeafReader::skip(std::int64_t rows) {
  while (rows > 0) {
    const PageHeader* h = nullptr;
    bool between = at_ == next_def_.size() && left_ == 0;
    if (between) h = pages_.ahead();
    bool data = h && (h->kind == PageHeader::data || h->kind == PageHeader::data2);
    // A page of the second form begins with a row; of a column without lists each value is one.
    auto of_page = !data ? 0 : leaf_.most_rep == 0 ? h->values : h->rows;
    if (data && of_page > 0 && of_page <= rows) {
      pages_.skip();
      rows -= of_page;
      continue;
    }
    auto n = std::min<std::int64_t>(rows, kLevels);
    take(n, nullptr);
    rows -= n;
  }
}

namespace {
/// The first leaf below that is read: any of them has the levels of the lists and records around it.
std::size_t some_leaf(const Type& t, const Levels& l) {
  if (t.children.empty()) return l.leaf;
  std::size_t f = 0;
  while (!t.children[f].refused.empty()) ++f;
  return some_leaf(t.children[f], l.children[f]);
}
}  // namespace

Column assemble(const Type& t, const Levels& l, std::vector<LeafRows>& leaves, std::size_t rows) {
  Column c;
  auto& leaf = leaves[some_leaf(t, l)];
  bool flat = leaf.def.empty();  // without levels, every row has a value
  auto n = flat ? rows : leaf.def.size();
  expect(leaf.rep.empty() || leaf.rep.size() == n, "its levels have different numbers");
  auto def = [&](std::size_t i) { return flat ? 0 : leaf.def[i]; };
  auto rep = [&](std::size_t i) { return leaf.rep.empty() ? 0 : leaf.rep[i]; };
  bool nullable = l.def > l.slot;
  auto add = [&](bool there) {
    ++c.size;
    if (nullable) c.valid.push_back(there);
  };
  if (t.kind == Kind::list) {
    for (std::size_t i = 0; i < n; ++i) {
      if (def(i) < l.slot || rep(i) > l.rep + 1) continue;  // of a list around it, or inside of an element
      bool element = def(i) >= l.element_def;
      if (rep(i) == l.rep + 1) {
        expect(element && !c.ends.empty(), "a list goes on that did not begin");
        ++c.ends.back();
      } else {
        add(def(i) >= l.def);
        c.ends.push_back((c.ends.empty() ? 0 : c.ends.back()) + element);
      }
    }
    c.children.push_back(assemble(t.children[0], l.children[0], leaves, rows));
    return c;
  }
  if (t.kind == Kind::record) {
    for (std::size_t i = 0; i < n; ++i)
      if (def(i) >= l.slot && rep(i) <= l.rep) add(def(i) >= l.def);
    for (std::size_t k = 0; k < t.children.size(); ++k)
      c.children.push_back(t.children[k].refused.empty() ? assemble(t.children[k], l.children[k], leaves, rows)
                                                         : Column{});
    return c;
  }
  auto& texts = leaf.values.texts;
  auto& numbers = leaf.values.numbers;
  bool text = t.kind == Kind::text;
  auto values = text ? texts.size() : numbers.size();
  if (!nullable || static_cast<std::size_t>(std::count(leaf.def.begin(), leaf.def.end(), l.def)) == n) {
    std::size_t slots = flat ? n : static_cast<std::size_t>(std::count_if(leaf.def.begin(), leaf.def.end(),
                                                                        [&](int d) { return d >= l.slot; }));
    expect(slots == values, "it has another number of values than its levels say");
    c.size = values;
    c.texts = std::move(texts);
    c.numbers = std::move(numbers);
    return c;
  }
  for (std::size_t i = 0, next = 0; i < n; ++i) {
    if (def(i) < l.slot) continue;
    bool there = def(i) >= l.def;
    expect(!there || next < values, "it has another number of values than its levels say");
    add(there);
    if (text) c.texts.push_back(there ? texts[next] : std::string_view());
    else c.numbers.push_back(there ? numbers[next] : 0);
    next += there;
  }
  return c;
}
}  // namespace bora::data::tables
