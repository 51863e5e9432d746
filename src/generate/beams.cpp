#include "bora/generate/beams.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include "bora/array/array.h"
#include "bora/base/error.h"
#include "bora/models/stepper.h"
#include "generate/api/choosing_steps.h"
#include "generate/row.h"

namespace bora::generate {
namespace {
using Early = BeamOptions::Early;
using Ids = std::vector<std::int32_t>;
constexpr auto kPage = models::Stepper::kPagePositions;
constexpr float kOut = -1e9F;  // of what may not be, in the sums of `transformers`

/// Pages, each with the number of those that use it.
class Pages {
 public:
  explicit Pages(Ids free) : free_(std::move(free)) {}
  std::int32_t take() {
    bora::check<ValueError>(!free_.empty(), "beams: there are too few pages; beam_pages() says how many are needed");
    auto page = free_.back();
    free_.pop_back();
    users_[page] = 1;
    return page;
  }
  void share(std::int32_t page) { ++users_[page]; }
  void release(const Ids& pages) {
    for (auto page : pages)
      if (--users_[page] == 0) free_.push_back(page);
  }

 private:
  Ids free_;
  std::unordered_map<std::int32_t, std::int64_t> users_ = {};
};
/// A continuation that goes on.
struct Running {
  Ids tokens = {};  // with the prompt
  float score = 0;
  Ids pages = {};
  std::int64_t seen = 0;  // tokens whose keys and values are in them
};
/// One that goes on or ends, of a Running and a token.
struct Candidate {
  float score;
  std::size_t parent;
  std::int32_t id;
  bool hits = false;  // it is at its end
};
struct Done {
  Ids tokens = {};
  float score = kOut;
  bool finished = false;
};
float power(std::int64_t length, double penalty) {
  return static_cast<float>(std::pow(static_cast<double>(length), penalty));
}

class BeamSearch {
 public:
  BeamSearch(models::Stepper& model, std::span<const std::int32_t> prompt, const BeamOptions& how, Ids pages)
      : model_(model), how_(how), prompt_(std::ssize(prompt)), pages_(std::move(pages)),
        done_(static_cast<std::size_t>(how.beams)) {
    for (auto& step : choosing_steps())
      if (step.acts(how.choosing) && !step.draws) steps_.push_back(step);
    // The others never win against the first one, whose tokens they have too.
    running_.assign(done_.size(), {{prompt.begin(), prompt.end()}, kOut});
    running_[0].score = 0;
  }
  std::vector<Beam> run() {
    bool may_improve = true;
    for (std::int64_t length = 1;; ++length) {  // of the candidates' continuations
      auto found = candidates(length);
      finish(found, length, may_improve);
      go_on(found);
      may_improve = may_improve && improvable(length);
      bool full = std::all_of(done_.begin(), done_.end(), [](auto& d) { return d.finished; });
      bool stuck = std::all_of(found.begin(), found.end(), [](auto& c) { return c.hits; });
      if (!may_improve || (full && how_.early_stopping == Early::yes) || stuck) break;
    }
    std::vector<Beam> best;
    for (std::int64_t k = 0; k < how_.returned; ++k) {
      auto& d = done_[static_cast<std::size_t>(k)];
      if (!d.finished) break;
      Ids tokens(d.tokens.begin() + prompt_, d.tokens.end());
      best.push_back({tokens, static_cast<double>(d.score), is_end(tokens.back())});
    }
    return best;
  }

 private:
  bool is_end(std::int32_t id) const { return std::find(how_.ends.begin(), how_.ends.end(), id) != how_.ends.end(); }
  /// Gives a row the pages that it needs for all of its tokens, and adds it to a step.
  void add(models::Step& step, Running& r, std::int64_t count, std::int64_t wanted) {
    while (std::ssize(r.pages) * kPage < r.seen + count) r.pages.push_back(pages_.take());
    step.rows.push_back({r.seen, count, r.pages, wanted, how_.inputs});
    auto begin = r.tokens.begin() + r.seen;
    step.tokens.insert(step.tokens.end(), begin, begin + count);
    r.seen += count;
  }
  /// The scores after the tokens of `rows` of the running ones.
  std::vector<float> scores(std::size_t rows) {
    auto& first = running_[0];
    for (auto n = how_.step_tokens; std::ssize(first.tokens) - first.seen > n;) {
      models::Step part;
      add(part, first, n, 0);
      (void)model_.step(part);
    }
    models::Step step;
    for (std::size_t k = 0; k < rows; ++k) {
      auto& r = running_[k];
      add(step, r, std::ssize(r.tokens) - r.seen, 1);
    }
    auto x = model_.step(step).concrete();
    std::vector<float> all(rows * static_cast<std::size_t>(model_.vocabulary()));
    std::memcpy(all.data(), x.bytes(), all.size() * sizeof(float));
    return all;
  }
  /// The best ways to go on with one token, the best first: enough of them that as many do not end as there are beams.
  std::vector<Candidate> candidates(std::int64_t length) {
    auto rows = length == 1 ? 1 : running_.size();
    auto all = scores(rows);
    auto vocabulary = all.size() / rows;
    auto tokens = how_.tokens > 0 ? std::min(vocabulary, static_cast<std::size_t>(how_.tokens)) : vocabulary;
    auto keep = std::max<std::int64_t>(2, 1 + std::ssize(how_.ends)) * how_.beams;
    std::vector<Candidate> found;
    for (std::size_t k = 0; k < running_.size(); ++k) {
      auto from = all.begin() + static_cast<std::ptrdiff_t>(std::min(k, rows - 1) * vocabulary);
      Row row{{from, from + static_cast<std::ptrdiff_t>(tokens)}};
      auto most = rows::largest(row.scores);
      bora::check<ValueError>(std::isfinite(most), "beams: the scores of the next token are not finite");
      auto sum = most + static_cast<float>(std::log(rows::exponential_sum(row.scores, most)));
      for (auto& score : row.scores) score -= sum;
      for (auto& step : steps_) step.apply(row, how_.choosing, before(running_[k]));
      for (auto& score : row.scores) score += running_[k].score;
      for (auto& b : rows::best(row.scores, keep)) found.push_back({b.score, k, b.place});
    }
    std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.score > b.score; });
    bora::check<ValueError>(std::ssize(found) >= keep, "beams: ", how_.beams, " beams need ", keep / how_.beams,
                      " tokens or more, the model has ", tokens);
    found.resize(static_cast<std::size_t>(keep));
    for (auto& c : found) c.hits = length == how_.max_tokens || is_end(c.id);
    return found;
  }
  Before before(const Running& r) const {
    Before b{.ends = how_.ends, .given = std::ssize(r.tokens) - prompt_};
    for (std::size_t k = 0; k < r.tokens.size(); ++k) b.tokens[r.tokens[k]] += std::cmp_greater_equal(k, prompt_);
    return b;
  }
  /// Keeps the best of those that had ended and those that end now.
  void finish(const std::vector<Candidate>& found, std::int64_t length, bool may_improve) {
    bool full = std::all_of(done_.begin(), done_.end(), [](auto& d) { return d.finished; });
    auto all = done_;
    for (std::size_t k = 0; k < found.size(); ++k) {
      auto& c = found[k];
      bool ends = c.hits && k < done_.size();  // the others are spare
      Done d{running_[c.parent].tokens, c.score / power(length, how_.length_penalty), ends};
      d.tokens.push_back(c.id);
      if (full && how_.early_stopping == Early::yes) d.score += kOut;
      if (!may_improve) d.score += kOut;
      if (!ends) d.score += kOut;
      all.push_back(std::move(d));
    }
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.score > b.score; });
    all.resize(done_.size());
    done_ = std::move(all);
  }
  /// Makes the best candidates that have not ended the running ones.
  void go_on(const std::vector<Candidate>& found) {
    auto next = found;
    for (auto& c : next)
      if (c.hits) c.score += kOut;
    std::stable_sort(next.begin(), next.end(), [](auto& a, auto& b) { return a.score > b.score; });
    std::vector<Running> children;
    std::vector<bool> taken(running_.size());  // whether a child has the page that is not full
    for (std::size_t k = 0; k < running_.size(); ++k) {
      auto& c = next[k];
      auto& parent = running_[c.parent];
      Running r{parent.tokens, c.score, parent.pages, parent.seen};
      r.tokens.push_back(c.id);
      if (parent.seen % kPage != 0 && taken[c.parent]) {  // it computes that part again, in a page of its own
        r.pages.pop_back();
        r.seen -= parent.seen % kPage;
      }
      taken[c.parent] = true;
      for (auto page : r.pages) pages_.share(page);
      children.push_back(std::move(r));
    }
    for (auto& r : running_) pages_.release(r.pages);
    running_ = std::move(children);
  }
  /// Whether the best running one may become better than the worst that has ended. length: of the running ones.
  bool improvable(std::int64_t length) const {
    bool longest = how_.early_stopping == Early::never && how_.length_penalty > 0;
    auto best = running_[0].score / power(longest ? how_.max_tokens : length, how_.length_penalty);
    auto worst = done_.back().score;
    return std::any_of(done_.begin(), done_.end(), [&](auto& d) { return best > (d.finished ? worst : kOut); });
  }
  models::Stepper& model_;
  const BeamOptions& how_;
  std::int64_t prompt_;
  Pages pages_;
  std::vector<ChoosingStep> steps_ = {};
  std::vector<Running> running_ = {};  // the best one first
  std::vector<Done> done_;             // the same
};
}  // namespace

void check(const BeamOptions& o) {
  auto from_one = [](const char* name, std::int64_t n, std::int64_t most) {
    bora::check<ValueError>(n >= 1 && n <= most, name, ": must be from 1 to ", most, ", got ", n);
  };
  from_one("beams", o.beams, 256);
  from_one("returned", o.returned, o.beams);
  from_one("max_tokens", o.max_tokens, std::int64_t{1} << 40);
  from_one("step_tokens", o.step_tokens, std::int64_t{1} << 40);
  bora::check<ValueError>(std::isfinite(o.length_penalty), "length_penalty: must be a number, got ", o.length_penalty);
  check(o.choosing);
  bora::check<ValueError>(!o.choosing.grammar, "grammar: beams follow none; leave it out");
  for (auto& step : choosing_steps())
    bora::check<ValueError>(!step.draws || !step.acts(o.choosing) || (step.name == "temperature" &&
                            o.choosing.temperature == 0), step.name, ": beams draw no tokens; leave it out");
}
std::int64_t beam_pages(std::int64_t prompt, const BeamOptions& o) {
  auto own = prompt % kPage + o.max_tokens;  // the last token is never read
  return prompt / kPage + o.beams * ((own + kPage - 1) / kPage);
}
std::vector<Beam> beams(models::Stepper& model, std::span<const std::int32_t> prompt, const BeamOptions& o,
                        std::vector<std::int32_t> pages) {
  check(o);
  bora::check<ValueError>(!prompt.empty(), "beams: the prompt has no token");
  bora::check<ValueError>(std::ssize(prompt) + o.max_tokens <= model.positions() + 1, "beams: ", prompt.size(),
                          " tokens of the prompt and ", o.max_tokens, " of the answer exceed the model's ",
                          model.positions(), " positions");
  return BeamSearch(model, prompt, o, std::move(pages)).run();
}
}  // namespace bora::generate
