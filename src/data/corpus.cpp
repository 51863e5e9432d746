// Records of many sources, mixed by weight: what `data: {sources: [..]}` means.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include "bora/base/text.h"
#include "data/rows/places.h"
#include "data/sources/source.h"
#include "data/store/cache.h"
#include "data/tasks/task.h"
#include "shard/api/agree.h"
#include "bora/data/data.h"

namespace bora::data {
namespace {
enum class OnError : std::uint8_t { stop, skip, replace };
/// Rows of several datasets, one dataset after another.
struct Concatenated final : Dataset {
  explicit Concatenated(std::vector<std::shared_ptr<const Dataset>> p) : parts(std::move(p)), places(joined(parts)) {}
  std::int64_t size() const override { return places.size(); }
  std::int64_t filled() const override {
    std::int64_t n = 0;
    for (auto& p : parts) n += p->filled();
    return n;
  }
  void at(const Place& place, const Row& row) const override {
    auto mine = *places.at(place.index);
    parts[static_cast<std::size_t>(mine.part)]->at({mine.index, place.pass, place.seed}, row);
  }
  static Sequence<Place> joined(const std::vector<std::shared_ptr<const Dataset>>& parts) {
    std::vector<Sequence<Place>> all;
    for (auto& p : parts) all.push_back(places_of(*p, static_cast<std::int64_t>(all.size()), 0));
    return concatenate(all);
  }
  std::vector<std::shared_ptr<const Dataset>> parts;
  Sequence<Place> places;
};

/// What stands before the first pattern in a path: news/en for news/en-*.jsonl.
std::string start_of(const std::string& path) {
  auto end = std::min(path.find_first_of("*?[\\"), path.size());
  if (end < path.size())
    while (end > 0 && std::string_view("-_./").find(path[end - 1]) != std::string_view::npos) --end;
  return path.substr(0, end);
}
/// The last word of that, which names a source's numbers: a file, or a folder of a pattern.
std::string word_of(const std::string& path) {
  auto start = std::filesystem::path(start_of(path));
  if (!start.has_filename()) start = start.parent_path();  // "texts/"
  auto word = start.filename().string();
  return word.empty() ? "data" : word;
}

struct Corpus {
  static constexpr std::string_view type = "corpus";
  std::vector<config::Choice<Source>> sources = {};
  config::Choice<Task> task = {};
  PackSettings pack = {};
  std::string cache = {};
  double hold_out = 0.05;
  OnError on_error = OnError::stop;
  static constexpr config::Meaning meanings[] = {
      {"sources", "a list of {type: text, jsonl, csv, parquet, arrow or tokens, path, field, weight, weights_at, name, "
                  "tags, train}"},
      {"task", "what is learnt from a document"},
      {"pack", "how documents share rows"},
      {"cache", "a folder that keeps the tokens for later runs; empty: they are made anew, and kept in memory"},
      {"hold_out", "fraction of each source's documents kept for evaluation; 0: none is"},
      {"on_error", "a malformed record, or text that is not UTF-8, ends the run (stop), or is left out and counted "
                   "(skip); replace: text gets U+FFFD in the place of what is not UTF-8"}};

  void check() const {
    bora::check<ConfigError>(!sources.empty(), "sources: there is none; give a list of {type, path}");
    config::domain(hold_out >= 0 && hold_out < 1, "hold_out", hold_out, "0 or more, and below 1");
    bora::check<ConfigError>(std::any_of(sources.begin(), sources.end(), [](auto& s) { return s->train(); }),
                             "sources: none is to train on; remove train: false from one");
    for (auto& s : sources) {
      auto of = " (" + s->path() + ")";
      bora::check<ConfigError>(!s->path().empty(), "sources: a source of type ", s->type(), " has no path");
      auto weight = [&](double w) {
        bora::check<ConfigError>(w > 0 && std::isfinite(w), "sources: weight must be above 0, got ", w, of);
      };
      weight(s->weight());
      auto& name = s->name();
      auto same = std::count_if(sources.begin(), sources.end(), [&](auto& other) { return other->name() == name; });
      auto odd = [](unsigned char c) { return c <= 0x20 || c == 0x7f; };
      bora::check<ConfigError>(name.empty() || same == 1, "sources: the name '", name, "' is given twice", of);
      bora::check<ConfigError>(std::none_of(name.begin(), name.end(), odd) && !name.starts_with("tag/"),
                               "sources: the name '", name, "' has a blank or begins with tag/; it stands in "
                               "eval/NAME/loss", of);
      std::int64_t before = 0;
      for (auto& w : s->weights_at()) {
        weight(w.weight);
        bora::check<ConfigError>(w.step > before, "sources: the steps of weights_at must ascend from 1 on, got ",
                                 w.step, " after ", before, of);
        before = w.step;
      }
    }
  }
  std::vector<std::string*> paths() {
    std::vector<std::string*> all;
    for (auto& s : sources) all.push_back(&s.edit().path());
    return all;
  }
  RowShape shape(std::int64_t positions) const { return task->shape(positions, pack); }

  /// Files of a source. By their names they must not be of another type; of folders with tables that are picked.
  static std::vector<SourceFile> files_of(const Source& s) {
    auto files = s.picks() ? find_files(s.path()) : list_files(s.path());
    if (s.picks() && !(files.size() == 1 && files[0].path == s.path())) {
      // `datasets` keeps what it derives from a table beside it.
      std::erase_if(files, [&](auto& f) {
        return !format_of(f.path) || s.format(f.path) != format_of(f.path) ||
               std::filesystem::path(f.path).filename().string().starts_with("cache-");
      });
      bora::check<ConfigError>(!files.empty(), "data: no file of ", s.path(), " has the name of a source of type ",
                               s.type());
    }
    for (auto& f : files) {
      auto own = s.format(f.path), named = format_of(f.path);
      bora::check<ConfigError>(own.has_value(), "data: ", f.path, " has no ids by its name (.bin, .npy, .jsonl, "
                               ".parquet, .arrow)");
      bool lines = named == Format::jsonl || named == Format::csv;  // of which other formats may be made
      bool fits = !named || named == own || (lines && own != Format::text);
      bora::check<ConfigError>(fits, "data: ", f.path, " is a source of type ", s.type(), "; give it type: ",
                               source_type_of(f.path));
    }
    return files;
  }
  /// What is read of the files of a source. Documents of ids end as the tokenizer has it.
  Selection selection(const Source& s, const text::Tokenizer* tokenizer) const {
    return {.columns = task->reads(s.field()),
            .end = tokenizer ? tokenizer->end_of_text() : std::nullopt,
            .wide = s.wide_ids()};
  }
  void check_files(std::int64_t positions) const {
    (void)shape(positions);
    (void)Mix(stages());
    for (auto& s : sources) {
      auto files = files_of(*s);
      bool reads = !cache.empty() && would_read(s->path(), cache, {"data-1/plan.json", "data-1/00000-00000.docs"});
      bora::check<ConfigError>(!reads, "data.cache: ", cache, " lies in the folder of the text, ", s->path(),
                               ": its own files would become text; choose another");
      for (auto& f : files) {  // the first record
        RecordReader reader(f, *s->format(f.path), {}, {}, selection(*s, nullptr));
        Raw raw;
        try {
          if (!reader.next(raw)) continue;
          task->need(Record(*reader.layout(), raw, rule(true)), s->field());
        } catch (const ConfigError&) {
          if (on_error != OnError::skip) throw;
        }
        break;
      }
    }
  }
  /// bytes: of a text that need not be UTF-8.
  TextRule rule(bool bytes) const {
    return {on_error == OnError::replace, bytes, "; mend it, or set data.on_error to skip or replace"};
  }
  Making making(const Source& s, const Materials& m) const {
    Making made;
    made.name = s.path();
    made.recipe = {.files = files_of(s),
                   .selection = selection(s, m.tokenizer.get()),
                   .fields = task->stored(),
                   .vocabulary = m.tokenizer->size(),
                   .skip = on_error == OnError::skip,
                   .rule = rule(m.tokenizer->bytes()),
                   .encode = task->encoder(m, s.field())};
    for (auto& f : made.recipe.files) made.recipe.formats.push_back(*s.format(f.path));
    made.identity = std::string(s.type()) + (s.wide_ids() ? " u32" : "") + "\n" + s.field() + "\n" +
                    task->encoding() + "\n" + m.tokenizer->identity() + "\n" + config::print_value(on_error) +
                    "\nrows " + std::string(rows_form);
    for (auto& label : m.labels) made.identity += "\nlabel " + label;
    return made;
  }
  bool holds_out() const {
    return hold_out > 0 || std::any_of(sources.begin(), sources.end(), [](auto& s) { return !s->train(); });
  }
  /// Every 1/hold_out-th document is held out.
  std::pair<StoredDocuments, StoredDocuments> split(const std::shared_ptr<const Store>& store, const std::string& name,
                                                    bool trains) const {
    StoredDocuments train{store, {}, name}, held{store, {}, name};
    auto count = [&](std::int64_t n) { return std::floor(static_cast<double>(n) * hold_out + 0.5); };
    bora::check<ConfigError>(store->size() < std::int64_t{1} << 32, "data: ", name, " has more than 2^32 documents");
    for (std::int64_t i = 0; i < store->size(); ++i)
      (!trains || count(i + 1) > count(i) ? held : train).numbers.push_back(static_cast<std::uint32_t>(i));
    return {std::move(train), std::move(held)};
  }
  /// A line about a source without a row to evaluate: nothing else would say that the losses lack it.
  std::string not_evaluated(const Source& s, std::int64_t documents, std::int64_t held,
                            std::int64_t positions) const {
    std::string tags;
    for (auto& tag : s.tags()) tags += (tags.empty() ? " (tags " : ", ") + tag;
    auto counted = std::to_string(held) + " of its " + std::to_string(documents) + " documents are held out";
    return "data: " + s.path() + (tags.empty() ? "" : tags + ")") + " is not evaluated: " + counted +
           (held > 0 ? ", too few for one row of " + std::to_string(positions) + " (model.positions)" : "") +
           "; raise data.hold_out (" + config::print_value(hold_out) + ")" +
           (held > 0 ? or_shared(positions) : "");
  }
  /// Advice, if the task can do it: documents that are too short for a row may share one.
  std::string or_shared(std::int64_t positions) const {
    auto shared = pack;
    shared.how = Sharing::first_fit;
    if (pack.how == Sharing::first_fit || pack.how == Sharing::best_fit) return "";
    try {
      (void)task->shape(positions, shared);
    } catch (const ConfigError&) { return ""; }
    return ", or set data.pack=first_fit";
  }
  /// The weights from given steps on.
  std::vector<Mix::Stage> stages() const {
    std::set<std::int64_t> steps{0};
    for (auto& s : sources)
      for (auto& w : s->weights_at()) steps.insert(w.step);
    std::vector<Mix::Stage> stages;
    for (auto step : steps) {
      stages.push_back({step, {}});
      for (auto& s : sources) {
        if (!s->train()) continue;
        auto weight = s->weight();
        for (auto& w : s->weights_at())
          if (w.step <= step) weight = w.weight;
        stages.back().weights.push_back(weight);
      }
    }
    return stages;
  }
  std::vector<std::string> prints(const Opening& o) const {
    std::vector<std::string> lines;
    for (auto& s : sources) {
      auto made = making(*s, {o.tokenizer, o.positions, pack, o.labels});
      lines.push_back(print_line(made.recipe.files, made.identity));
    }
    return lines;
  }
  Datasets open(const Opening& o) const {
    Materials materials{o.tokenizer, o.positions, pack, o.labels};
    std::vector<Part> parts;
    std::vector<std::shared_ptr<const Dataset>> held_out;
    std::vector<HeldOut> sets;
    std::vector<std::string> unseen;
    std::string names;
    bool recut = false, named = false;
    for (auto& s : sources) {
      Making made;
      agree(o.crew, "data: the files", [&] { made = making(*s, materials); });
      auto store = open_store(made, cache, o.crew);
      auto alone = [&](auto name_of) {
        return std::count_if(sources.begin(), sources.end(),
                             [&](auto& other) { return name_of(other->path()) == name_of(s->path()); }) == 1;
      };
      auto name = !s->name().empty() ? s->name()
                  : alone(word_of)   ? word_of(s->path())
                  : alone(start_of) ? start_of(s->path())
                                    : s->path();
      if (store->skipped() > 0)
        o.crew.say("data: " + s->path() + ": " + std::to_string(store->skipped()) + " malformed records were left out");
      auto files = static_cast<std::int64_t>(made.recipe.files.size());
      bool texts = made.recipe.formats[0] == Format::text;
      recut = recut || (texts && store->size() != files) || store->skipped() > 0;
      auto [train, held] = split(store, s->path(), s->train());
      Part part{nullptr, name, {.documents = store->size(), .held_out = held.size(), .skipped = store->skipped()}};
      for (auto& f : made.recipe.files) part.facts.files += 1, part.facts.bytes += f.bytes;
      for (std::int64_t i = 0; i < train.size(); ++i)
        for (std::size_t f = 0; f < task->token_fields(); ++f) part.facts.tokens += train.length(i, f);
      auto rest = task->rows(held, materials);
      named = named || !s->name().empty();
      if (rest->size() > 0) held_out.push_back(rest), sets.push_back({rest, name, s->tags()});
      else if (hold_out > 0) unseen.push_back(not_evaluated(*s, store->size(), held.size(), o.positions));
      names += (names.empty() ? "" : ", ") + s->path();
      if (!s->train()) {
        bora::check<ConfigError>(rest->size() > 0, "data: ", s->path(), " has too few documents for one row of ",
                                 o.positions, " (model.positions)");
        continue;
      }
      part.rows = task->rows(train, materials);
      bora::check<ConfigError>(part.rows->size() > 0, "data: ", s->path(), " has ", part.facts.documents,
                               " documents, from which no row of ", o.positions,
                               " tokens (model.positions) can be made to train on; give more text, set "
                               "model.positions",
                               or_shared(o.positions));
      part.facts.filled = part.rows->filled();
      parts.push_back(std::move(part));
    }
    bora::check<ConfigError>(!held_out.empty() || !holds_out(),
                             "data: too few documents are held out for one row of ", o.positions,
                             " (model.positions); raise data.hold_out (", hold_out, ")", or_shared(o.positions));
    for (auto& line : unseen) o.crew.say(line);
    auto held = held_out.empty()       ? nullptr
                : held_out.size() == 1 ? held_out[0]
                                       : std::make_shared<Concatenated>(std::move(held_out));
    if (!named && std::all_of(sets.begin(), sets.end(), [](auto& set) { return set.tags.empty(); })) sets.clear();
    using RowsBefore = std::function<std::int64_t(std::int64_t step)>;
    auto mix = [by_step = stages()](const RowsBefore& rows_before) {
      auto stages = by_step;
      for (auto& s : stages) s.from = rows_before(s.from);
      return Mix(std::move(stages));
    };
    auto first = mix([&](std::int64_t step) { return step * o.batch; });
    return {TrainingRows(std::move(parts), std::move(first)), held, shape(o.positions), names, std::move(sets), mix,
            recut};
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::DataOf<bora::data::Corpus>>;
