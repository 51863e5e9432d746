// Text files, or a folder of them: one stream of tokens.
#include <algorithm>
#include <filesystem>
#include "bora/data/data.h"
#include "bora/data/windows.h"
#include "data/store/cache.h"
#include "shard/api/agree.h"

namespace bora::data {
namespace {
struct TextData {
  static constexpr std::string_view type = "text";
  std::string path = {};
  double hold_out = 0.05;
  static constexpr config::Meaning meanings[] = {{"path", "a text file, or a folder of text files; must be given"},
                                                 {"hold_out", "fraction of the text kept for evaluation; 0: none is"}};
  void check() const { config::domain(hold_out >= 0 && hold_out < 1, "hold_out", hold_out, "0 or more, and below 1"); }
  void check_files(std::int64_t positions) const { check_text(path, hold_out, positions + 1); }
  std::vector<std::string*> paths() { return {&path}; }
  RowShape shape(std::int64_t positions) const { return {positions}; }
  bool holds_out() const { return hold_out > 0; }
  std::vector<std::string> prints(const Opening&) const { return {print_line(find_files(path))}; }
  Datasets open(const Opening& o) const {
    std::vector<SourceFile> files;
    agree(o.crew, "data: the files", [&] { files = find_files(path); });
    (void)check_same_files(path, files, o.crew);
    auto text = open_text(path, hold_out, o.positions + 1);
    agree(o.crew, "data: memory for the tokens", [&, ranks = ranks_here(o.crew)] {
      auto bytes = text.train.size() + text.held_out.size();  // and a token of 4 bytes for each 3 of them
      if (!o.tokenizer->bytes()) check_memory(path, 0, bytes / 3 * 7 * ranks);
    });
    auto tokens = [&](const Stream& s) {
      return o.tokenizer->bytes() ? byte_tokens(s) : encoded_tokens(s, *o.tokenizer);
    };
    auto train = windows(tokens(text.train), o.positions, true);
    auto held = holds_out() ? windows(tokens(text.held_out), o.positions, false) : nullptr;
    for (auto& part : {train, holds_out() ? held : train})
      bora::check<ConfigError>(part->size() > 0, "data: ", path, " has fewer tokens than a row of ", o.positions,
                               " (model.positions) needs, in the text to train on or in the text held out");
    Part part{train, std::filesystem::path(path).filename().string(), {}};
    auto& facts = part.facts;
    facts.documents = text.documents, facts.held_out = text.held_out_documents;
    for (auto& f : files) facts.files += 1, facts.bytes += f.bytes;
    facts.tokens = facts.filled = train->filled();
    // Of tokens that are bytes only line feeds that were put in are new.
    auto ends = [](const Stream& s) { return std::ranges::all_of(s.pieces(), &Stream::Piece::line); };
    bool recut = text.recut || !o.tokenizer->bytes() || !ends(text.train) || !ends(text.held_out);
    return {TrainingRows({std::move(part)}, Mix::of({1})), held, {o.positions}, path, {}, {}, recut};
  }
};
}  // namespace
}  // namespace bora::data
template const bool bora::config::added<bora::data::DataOf<bora::data::TextData>>;
