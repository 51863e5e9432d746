// Words with a class each: an encoder predicts it at the first token of each word.
#include "data/tasks/labelled.h"

namespace bora::data {
namespace {
struct TaggedRows final : Dataset {
  TaggedRows(StoredDocuments d, Around a, std::int64_t p) : documents(std::move(d)), around(std::move(a)), room(p) {
    room -= std::ssize(around.before()) + std::ssize(around.after());
  }
  std::int64_t size() const override { return documents.size(); }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < size(); ++i)
      n += std::min(documents.length(i), room) + std::ssize(around.before()) + std::ssize(around.after());
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    auto ids = documents.read(place.index, 0), tags = documents.read(place.index, 1);
    auto n = static_cast<std::size_t>(std::min(std::ssize(ids), room));
    auto first = put_tokens(row, 0, around.before(), 0);
    put_tokens(row, put_tokens(row, first, std::span(ids).first(n), 0), around.after(), 0);
    for (std::size_t i = 0; i < n; ++i) {
      if (tags[i] == 0) continue;
      row.targets[first + static_cast<std::int64_t>(i)] = tags[i] - 1;
      row.weights[first + static_cast<std::int64_t>(i)] = 1;
    }
  }
  StoredDocuments documents;
  Around around;
  std::int64_t room;
};
struct Tag {
  static constexpr std::string_view type = "tag";
  static constexpr std::size_t fields_stored = 2;  // tokens; the class of each from 1 on, 0: it has none
  std::string words = "tokens", tags = "tags";
  static constexpr config::Meaning meanings[] = {
      {"words", "the field with a list of words"},
      {"tags",
       "the field with a list of their classes: words of model.labels, or their numbers from 0 on; -100: none"}};

  std::string encoding() const { return "tag\t" + words + "\t" + tags; }
  void need(const Record& r, const std::string&) const { (void)r.words(words), (void)r.words(tags); }
  std::vector<std::string> reads(const std::string&) const { return {words, tags}; }
  Encode encoder(const Materials& m, const std::string&) const {
    return [*this, labels = m.labels, tokenizer = m.tokenizer, around = Around(*m.tokenizer)](const Record& r,
                                                                                              Document& d) {
      auto all = r.words(words), classes = r.words(tags);
      if (all.size() != classes.size())
        r.failed("the field '" + words + "' has " + std::to_string(all.size()) + " words, and '" + tags + "' " +
                 std::to_string(classes.size()) + " classes");
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto text = d[0].empty() ? all[i] : " " + all[i];  // as behind the word before it
        auto ids = around.without_end(around.without_begin(tokenizer->encode(text)));
        auto tag = classes[i] == "-100" ? 0 : class_of(classes[i], labels, r) + 1;
        for (auto id : ids) {
          d[0].push_back(id);
          d[1].push_back(std::exchange(tag, 0));
        }
      }
      if (d[0].empty()) r.failed("the field '" + words + "' has no token");
    };
  }
  RowShape shape(std::int64_t positions, const PackSettings& pack) const {
    (void)sharing_of(pack, Sharing::none, {Sharing::none}, type);
    return {.positions = positions, .padded = true, .in_place = true, .prediction = Prediction::classes};
  }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const {
    auto made = std::make_shared<TaggedRows>(d, Around(*m.tokenizer), m.positions);
    bora::check<ConfigError>(made->room > 0, "model.positions: the tokens around a text leave none of ", m.positions,
                             " to its words; raise it");
    return made;
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::TaskOf<bora::data::Tag>>;
