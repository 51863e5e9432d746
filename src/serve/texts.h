// texts.h -- ways to a text: with an engine, by beams, in a window that moves. Private.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>
#include "bora/generate/beams.h"
#include "bora/generate/engine.h"
#include "bora/job/sampling.h"
#include "bora/job/served_model.h"
#include "bora/job/trained_run.h"
#include "serve/api/lines.h"
#include "serve/api/texts.h"

namespace bora::serve {
/// Where texts come from and go to.
struct Texts {
  const job::TrainedRun& words;
  const job::Settings& settings;
  const TextOptions& options;
  const TextStreams& streams;
  const Mesh& mesh;
  std::shared_ptr<const Model> model;

  void write(const std::string& text) const;  // on rank 0
};
/// Every rank calls these functions.
/// Writes the answer as it comes, and a newline; returns it, on rank 0.
std::string write_answer(const Texts&, job::ServedModel&, generate::Engine&, const generate::Request&);
/// Writes a line of JSON for each call.
void write_lines(const Texts&, job::ServedModel&, generate::Engine&, std::vector<Call>);
/// Throws ConfigError for requests that beams cannot answer.
void check_beams(const Texts&, const std::vector<Call>&);
/// The best texts of each prompt, as lines or, behind `before`, as a text.
void write_beams(const Texts&, job::ServedModel&, const std::vector<Call>&, const std::string& before);

/// A text that goes on when it has left the model's window, with all of the window computed for each token.
class Shifting {
 public:
  explicit Shifting(const Texts&);
  ~Shifting();
  void read(const std::vector<std::int32_t>& inputs);
  /// Writes what follows these tokens, up to `until`, which may be empty, and a newline. Returns it.
  std::string write(std::vector<std::int32_t> ids, const std::string& until);

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace bora::serve
