// task.h -- what is learnt from a source's records: a task of the settings is one file in tasks/ with an aggregate of
// its keys and
//   static constexpr std::size_t fields_stored;          of a document; perhaps token_fields: those with tokens (1)
//   static constexpr Sharing unpacked;                   the meaning of `pack: false`, if it is not automatic
//   std::string encoding() const;                        the keys that decide documents; empty if none does
//   void need(const Record&, const std::string& field) const;        ConfigError for a record that lacks what it reads
//   std::vector<std::string> reads(const std::string& field) const;  the fields that it reads; without it, all of them
//   Encode encoder(const Materials&, const std::string& field) const;
//   RowShape shape(std::int64_t positions, const PackSettings&) const;
//   std::shared_ptr<const Dataset> rows(const StoredDocuments&, const Materials&) const;
// and the line that adds it to the registry.
#pragma once
#include <array>
#include <span>
#include "bora/data/data.h"
#include "bora/data/philox.h"
#include "bora/data/windows.h"
#include "data/api/records.h"
#include "data/store/token_store.h"

namespace bora::data {
/// How documents share rows. automatic: as the task says.
enum class Sharing : std::uint8_t { automatic, none, concat, first_fit, best_fit };
struct PackSettings {
  Sharing how = Sharing::automatic;
  bool cross_documents = false, restart_positions = false;
  std::int64_t max_documents = 0;
  static constexpr std::string_view named = "how";
  static constexpr config::Meaning meanings[] = {
      {"how",
       "none: a document a row; concat: one after another, cut into rows; first_fit, best_fit: whole documents "
       "side by side; automatic: as the task has it"},
      {"cross_documents", "attention and targets cross from one document to the next"},
      {"restart_positions", "positions begin anew with each document"},
      {"max_documents", "most documents in a row of first_fit and best_fit; 0: any number"}};
  void check() const { config::domain(max_documents >= 0, "max_documents", max_documents, "0 or more"); }
};
/// Some documents of a store, in order.
struct StoredDocuments {
  std::shared_ptr<const Store> store;
  std::vector<std::uint32_t> numbers;
  std::string name;  // in messages
  std::int64_t size() const { return static_cast<std::int64_t>(numbers.size()); }
  std::int64_t length(std::int64_t i, std::size_t field = 0) const {
    return store->length(numbers[static_cast<std::size_t>(i)], field);
  }
  std::vector<std::int32_t> read(std::int64_t i, std::size_t field = 0) const {
    return store->read(numbers[static_cast<std::size_t>(i)], field);
  }
};
struct Materials {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::int64_t positions;  // of the model
  PackSettings pack;
  std::vector<std::string> labels = {};  // the classes that the model tells apart
};
/// Adds a part of n tokens to the lengths of a document's parts, of which every second one is learnt, the first is not.
/// A length takes two bytes beside ids that do (token_store.h): longer parts are several, with empty ones between them.
void add_part(std::vector<std::int32_t>& parts, std::int64_t n, bool learnt);
/// Tokens before the first one that is learnt.
std::int64_t tokens_given(const std::vector<std::int32_t>& parts);
/// Fills in the fields of an empty document. ConfigError "FILE:LINE: .."; called by many threads.
using Encode = std::function<void(const Record&, Document&)>;
struct Task : config::Chosen {
  static constexpr std::string_view initial = "lm";
  virtual std::size_t stored() const = 0;        // fields of a document
  virtual std::size_t token_fields() const = 0;  // those of them that have tokens: the first ones
  virtual std::string encoding() const = 0;
  virtual void need(const Record&, const std::string& field) const = 0;
  virtual std::vector<std::string> reads(const std::string& field) const = 0;  // of tables; empty: all
  virtual bool takes_ids() const = 0;  // records have ids of tokens instead of text
  virtual Encode encoder(const Materials&, const std::string& field) const = 0;
  virtual Sharing unpacked() const = 0;  // `pack: false`
  virtual RowShape shape(std::int64_t positions, const PackSettings&) const = 0;
  virtual std::shared_ptr<const Dataset> rows(const StoredDocuments&, const Materials&) const = 0;
};
template <class T> struct TaskOf final : config::Of<T, Task> {
  using config::Of<T, Task>::Of;
  std::size_t stored() const override { return T::fields_stored; }
  std::size_t token_fields() const override {
    if constexpr (requires { T::token_fields; }) return T::token_fields;
    else return 1;
  }
  std::string encoding() const override { return this->fields.encoding(); }
  void need(const Record& r, const std::string& field) const override { this->fields.need(r, field); }
  std::vector<std::string> reads(const std::string& field) const override {
    if constexpr (requires { this->fields.reads(field); }) return this->fields.reads(field);
    else return {};
  }
  bool takes_ids() const override {
    if constexpr (requires { T::takes_ids; }) return T::takes_ids;
    else return false;
  }
  Encode encoder(const Materials& m, const std::string& field) const override { return this->fields.encoder(m, field); }
  Sharing unpacked() const override {
    if constexpr (requires { T::unpacked; }) return T::unpacked;
    else return Sharing::automatic;
  }
  RowShape shape(std::int64_t p, const PackSettings& k) const override { return this->fields.shape(p, k); }
  std::shared_ptr<const Dataset> rows(const StoredDocuments& d, const Materials& m) const override {
    return this->fields.rows(d, m);
  }
};

/// A record's text and its end as field 0: what tasks store whose encoding() is "text".
Encode text_encoder(const Materials&, const std::string& field);
/// ConfigError unless the pack settings choose one of these.
Sharing sharing_of(const PackSettings&, Sharing automatic, std::initializer_list<Sharing> possible,
                   std::string_view task);

/// The documents one after another, as a ring.
std::shared_ptr<const Tokens> stream_of(const StoredDocuments&);
/// A generator for a row: of (seed, pass, index) alone.
inline Philox draws_of(const Place& p) {
  auto seed = static_cast<std::uint64_t>(p.seed) ^ static_cast<std::uint64_t>(p.pass) << 32;
  return {Philox::key(seed), static_cast<std::uint64_t>(p.index)};
}
/// Fills in what a decoder learns: `ids` as targets, each predicted from those before it. The first `given` ones have
/// no weight. ids are at most the row's positions; right: they stand at its end.
void put_decoder(const Row&, std::span<const std::int32_t> ids, std::int32_t start, std::int64_t given = 0,
                 bool right = false);
/// Fills in what an encoder sees.
void put_encoder(const Row&, std::span<const std::int32_t> ids, bool right = false);
/// The token in front of a decoder's first target: the one that fills rows, or 0.
inline std::int32_t start_of(const text::Tokenizer& t) { return t.padding().value_or(0); }

/// A document of a decoder is longer than a row: its first tokens are kept, it is left out, it is an error.
enum class TooLongRow : std::uint8_t { truncate, drop, error };
/// What is learnt of a document, whose tokens are field 0: all of them; of its parts, whose lengths are field 1, every
/// second one; each part with a weight, whose bits are two numbers of field 2, the upper half first; or each token
/// where it stands (RowShape::in_place).
enum class Learning : std::uint8_t { all, parts, weights, in_place };
/// Rows of documents whose tokens predict the next ones. Documents that are longer than a row are cut into several,
/// unless they have parts that are not learnt. A document of n tokens takes n - 1 positions, or n in place.
std::shared_ptr<const Dataset> learnt_rows(const StoredDocuments&, const Materials&, Sharing, Learning,
                                           TooLongRow = TooLongRow::truncate);
inline std::shared_ptr<const Dataset> learnt_rows(const StoredDocuments& d, const Materials& m, Sharing how, bool parts,
                                                  TooLongRow too_long) {
  return learnt_rows(d, m, how, parts ? Learning::parts : Learning::all, too_long);
}
RowShape learnt_shape(std::int64_t positions, const PackSettings&, Sharing);
}  // namespace bora::data
