// Rows of documents whose tokens predict the next ones.
#include <algorithm>
#include <bit>
#include <numeric>
#include "bora/base/error.h"
#include "bora/data/around.h"
#include "bora/data/pack.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
/// The weights of a document's tokens as targets.
class Weights {
 public:
  Weights(const StoredDocuments& d, std::int64_t document, Learning learning) : learning_(learning) {
    if (learning == Learning::all || learning == Learning::in_place) return;
    for (auto n : d.read(document, 1)) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + n);
    if (learning == Learning::weights) halves_ = d.read(document, 2);
  }
  float at(std::int64_t token) const {
    if (ends_.empty()) return 1.0F;
    auto part = std::upper_bound(ends_.begin(), ends_.end(), token) - ends_.begin();
    if (learning_ == Learning::parts) return part % 2 == 1 ? 1.0F : 0.0F;
    auto half = [&](std::ptrdiff_t i) { return static_cast<std::uint32_t>(halves_[static_cast<std::size_t>(i)]); };
    return std::bit_cast<float>(half(2 * part) << 16 | half(2 * part + 1));
  }

 private:
  Learning learning_;
  std::vector<std::int64_t> ends_ = {};
  std::vector<std::int32_t> halves_ = {};
};
/// Tokens [begin, begin + length] of a document at `offset` of a row: the last one is a target alone. In place there is
/// no such one.
void put(const StoredDocuments& d, Learning learning, const Segment& s, std::int32_t number, const Row& row) {
  auto to_target = learning == Learning::in_place ? 0 : 1;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(s.length + to_target));
  d.store->read(d.numbers[static_cast<std::size_t>(s.document)], 0, s.begin, s.length + to_target, ids.data());
  Weights weights(d, s.document, learning);
  for (std::int64_t i = 0; i < s.length; ++i) {
    auto at = s.offset + i;
    row.tokens[at] = ids[static_cast<std::size_t>(i)];
    row.targets[at] = ids[static_cast<std::size_t>(i + to_target)];
    row.weights[at] = weights.at(s.begin + i + to_target);
    if (row.segments) row.segments[at] = number;
    if (row.positions) row.positions[at] = static_cast<std::int32_t>(i);
  }
  *row.filled += static_cast<std::int32_t>(s.length);
}

/// Documents side by side.
struct PackedRows final : Dataset {
  PackedRows(StoredDocuments d, Packed p, Learning l) : documents(std::move(d)), packed(std::move(p)), learning(l) {}
  std::int64_t size() const override { return packed.size(); }
  std::int64_t filled() const override { return packed.tokens(); }
  void at(const Place& place, const Row& row) const override {
    std::int32_t number = 0;
    for (auto& s : packed.at(place.index)) put(documents, learning, s, ++number, row);
  }
  StoredDocuments documents;
  Packed packed;
  Learning learning;
};

/// Documents one after another.
struct Line final : Tokens {
  explicit Line(StoredDocuments d) : documents(std::move(d)) {
    ends.reserve(documents.numbers.size());
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < documents.size(); ++i) ends.push_back(n += documents.length(i));
  }
  std::int64_t size() const override { return ends.empty() ? 0 : ends.back(); }
  /// Some tokens of one document.
  struct Piece {
    std::int64_t document, begin, left;  // left: from there to its end
  };
  Piece at(std::int64_t token) const {
    auto d = std::upper_bound(ends.begin(), ends.end(), token) - ends.begin();
    auto first = d == 0 ? 0 : ends[static_cast<std::size_t>(d - 1)];
    return {d, token - first, ends[static_cast<std::size_t>(d)] - token};
  }
  void read(std::int64_t begin, std::int64_t n, std::int32_t* out) const override {
    check<ValueError>(n == 0 || size() > 0, "read: there are no tokens");
    while (n > 0) {
      auto p = at(begin % size());
      auto take = std::min(n, p.left);
      documents.store->read(documents.numbers[static_cast<std::size_t>(p.document)], 0, p.begin, take, out);
      begin += take, out += take, n -= take;
    }
  }
  StoredDocuments documents;
  std::vector<std::int64_t> ends;  // of the documents
};
/// They are cut into rows; as a ring, of which later passes begin at another token.
struct StreamRows final : Dataset {
  StreamRows(StoredDocuments d, std::int64_t p, Learning l, bool across)
      : line(std::move(d)), documents(line.documents), positions(p), learning(l), cross(across) {}
  std::int64_t size() const override { return line.size() / positions; }
  std::int64_t filled() const override { return size() * positions; }
  void at(const Place& place, const Row& row) const override {
    auto begin = place.index * positions + pass_shift(place, positions);
    std::int32_t number = 0;
    for (std::int64_t done = 0; done < positions;) {
      auto p = line.at((begin + done) % line.size());
      auto take = std::min(p.left, positions - done);
      auto inside = learning == Learning::in_place ? take : std::min(take, p.left - 1);
      put(documents, learning, {p.document, p.begin, inside, done}, ++number, row);
      if (inside < take) put_last(p.document, done + inside, number, inside, row);
      done += take;
    }
  }
  /// A document's last token, whose target is the next document's first.
  void put_last(std::int64_t d, std::int64_t at, std::int32_t number, std::int64_t place, const Row& row) const {
    auto document = static_cast<std::size_t>(d), next = (document + 1) % documents.numbers.size();
    auto& store = *documents.store;
    store.read(documents.numbers[document], 0, documents.length(d) - 1, 1, row.tokens + at);
    store.read(documents.numbers[next], 0, 0, 1, row.targets + at);
    row.weights[at] = cross ? Weights(documents, static_cast<std::int64_t>(next), learning).at(0) : 0.0F;
    if (row.segments) row.segments[at] = number;
    if (row.positions) row.positions[at] = static_cast<std::int32_t>(place);
    *row.filled += 1;
  }
  Line line;
  const StoredDocuments& documents;
  std::int64_t positions;
  Learning learning;
  bool cross;
};
}  // namespace

void add_part(std::vector<std::int32_t>& parts, std::int64_t n, bool learnt) {
  constexpr std::int64_t most = 0xffff;
  do {
    if (parts.size() % 2 != (learnt ? 1U : 0U)) parts.push_back(0);
    parts.push_back(static_cast<std::int32_t>(std::min(n, most)));
  } while ((n -= parts.back()) > 0);
}
std::int64_t tokens_given(const std::vector<std::int32_t>& parts) {
  std::int64_t n = 0;
  for (std::size_t k = 0; k < parts.size() && (k % 2 == 0 || parts[k] == 0); ++k) n += parts[k];
  return n;
}
std::shared_ptr<const Tokens> stream_of(const StoredDocuments& d) { return std::make_shared<Line>(d); }
void put_decoder(const Row& row, std::span<const std::int32_t> ids, std::int32_t start, std::int64_t given,
                 bool right) {
  auto n = static_cast<std::int64_t>(ids.size()), at = right ? row.shape.positions - n : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    row.tokens[at + i] = i == 0 ? start : ids[static_cast<std::size_t>(i - 1)];
    row.targets[at + i] = ids[static_cast<std::size_t>(i)];
    row.weights[at + i] = i >= given ? 1.0F : 0.0F;
    if (row.segments) row.segments[at + i] = 1;
    if (row.positions) row.positions[at + i] = static_cast<std::int32_t>(i);
  }
  *row.filled += static_cast<std::int32_t>(n);
}
void put_encoder(const Row& row, std::span<const std::int32_t> ids, bool right) {
  auto n = static_cast<std::int64_t>(ids.size()), at = right ? row.shape.inputs - n : 0;
  std::copy(ids.begin(), ids.end(), row.inputs + at);
  std::fill(row.input_mask + at, row.input_mask + at + n, 1);
}
Around::Around(const text::Tokenizer& t) {
  auto both = t.encode("");
  if (!both.empty()) {  // a text shows which of them stand before it
    auto one = t.encode("a");
    auto n = static_cast<std::ptrdiff_t>(both.size());
    while (n > 0 && !(std::equal(both.begin(), both.begin() + n, one.begin()) &&
                      std::equal(both.begin() + n, both.end(), one.end() - (both.end() - both.begin() - n))))
      --n;
    before_.assign(both.begin(), both.begin() + n);
    after_.assign(both.begin() + n, both.end());
  }
  if (auto end = t.end_of_text()) end_ = {*end};
  else end_ = without_begin(without_end(t.encode("\n")));
  between_ = t.between();
  if (between_.empty()) between_ = after_.empty() ? end_ : after_;
  if (!after_.empty() && end_ == std::vector{after_.back()}) end_.clear();
}
std::vector<std::int32_t> Around::without_begin(std::vector<std::int32_t> ids) const {
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before_.size()));
  return ids;
}
std::vector<std::int32_t> Around::without_end(std::vector<std::int32_t> ids) const {
  ids.resize(ids.size() - after_.size());
  return ids;
}
void Around::append_end(std::vector<std::int32_t>& ids) const { ids.insert(ids.end(), end_.begin(), end_.end()); }
Encode text_encoder(const Materials& m, const std::string& field) {
  return [tokenizer = m.tokenizer, around = Around(*m.tokenizer), field](const Record& r, Document& d) {
    d[0] = tokenizer->encode(r.text(field));
    around.append_end(d[0]);
  };
}
Sharing sharing_of(const PackSettings& pack, Sharing automatic, std::initializer_list<Sharing> possible,
                   std::string_view task) {
  auto how = pack.how == Sharing::automatic ? automatic : pack.how;
  std::string list;
  for (auto p : possible) list += (list.empty() ? "" : ", ") + config::print_value(p);
  check<ConfigError>(std::find(possible.begin(), possible.end(), how) != possible.end(), "data.pack: the task ", task,
                     " cannot use ", config::print_value(how), "; there are ", list);
  auto shares = how == Sharing::first_fit || how == Sharing::best_fit;
  check<ConfigError>(shares || pack.max_documents == 0, "data.pack.max_documents: ", pack.max_documents,
                     " is for first_fit and best_fit, but rows of the task ", task, " are made by ",
                     config::print_value(how), "; leave it out, or choose data.pack.how");
  check<ConfigError>(how != Sharing::none || !pack.cross_documents, "data.pack.cross_documents: rows of the task ",
                     task, " hold a document each (data.pack.how is none), so there is no other one to cross to; leave "
                     "it out, or choose data.pack.how");
  bool one_text = how == Sharing::concat && possible.size() == 1;
  check<ConfigError>(!one_text || !pack.restart_positions, "data.pack.restart_positions: rows of the task ", task,
                     " are pieces of one text, whose positions count from each row's begin; leave it out");
  return how;
}
RowShape learnt_shape(std::int64_t positions, const PackSettings& pack, Sharing how) {
  bool several = how != Sharing::none;
  bool segments = several && !pack.cross_documents;
  return {.positions = positions,
          .segments = segments,
          .restart_positions = several && pack.restart_positions,
          .padded = !segments && how != Sharing::concat};
}
std::shared_ptr<const Dataset> learnt_rows(const StoredDocuments& d, const Materials& m, Sharing how,
                                           Learning learning, TooLongRow too_long) {
  auto positions = m.positions;
  bool parts = learning == Learning::parts;
  auto last = learning == Learning::in_place ? 0 : 1;  // a target alone
  auto name_of = [&](std::int64_t i) {
    return "data: document " + std::to_string(d.numbers[static_cast<std::size_t>(i)] + 1) + " of " + d.name;
  };
  // Positions that a document takes in a row.
  auto length = [&](std::int64_t i) -> std::int64_t {
    auto n = std::max<std::int64_t>(0, d.length(i) - last);
    if (!parts || n <= positions) return n;
    check<ConfigError>(too_long != TooLongRow::error, name_of(i), " has ", n + 1, " tokens, more than a row of ",
                       positions, " (model.positions) holds; raise it, or set data.task.too_long to truncate or drop");
    if (too_long == TooLongRow::drop) return 0;
    auto prompt = tokens_given(d.read(i, 1));
    check<ConfigError>(prompt <= positions, name_of(i), ": its first ", prompt,
                       " tokens are not learnt and leave none of a row of ", positions,
                       " (model.positions) to those that are; shorten it, raise model.positions, or set "
                       "data.task.too_long=drop");
    return positions;
  };
  StoredDocuments kept{d.store, {}, d.name};
  for (std::int64_t i = 0; i < d.size(); ++i)
    if (how == Sharing::concat ? d.length(i) > 0 : length(i) > 0)
      kept.numbers.push_back(d.numbers[static_cast<std::size_t>(i)]);
  if (how == Sharing::concat)
    return std::make_shared<StreamRows>(std::move(kept), positions, learning, m.pack.cross_documents);
  PackOptions options{.capacity = positions,
                      .packing = how == Sharing::best_fit ? Packing::best_fit : Packing::first_fit,
                      .too_long = TooLong::cut,
                      .max_segments = how == Sharing::none ? 1 : m.pack.max_documents};
  auto of_kept = [&](std::int64_t i) {
    auto n = kept.length(i) - last;
    return parts ? std::min(n, positions) : n;
  };
  auto packed = pack(kept.size(), of_kept, options);
  return std::make_shared<PackedRows>(std::move(kept), std::move(packed), learning);
}
}  // namespace bora::data
