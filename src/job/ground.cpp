#include "job/ground.h"
#include <sstream>
#include <vector>
#include "bora/base/text.h"
#include "bora/data/data.h"
#include "bora/models/model.h"
#include "bora/text/tokenizer.h"
#include "bora/train/membership.h"
#include "bora/transport/join.h"

namespace bora::job {
namespace {
std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line); found.push_back(line))
    if (auto tab = line.find('\t'); tab != line.npos) line.replace(tab, 1, ": ");  // between a name and its value
  return found;
}
/// The first line in which they differ.
std::string difference(const std::string& theirs, const std::string& mine) {
  auto a = lines(theirs), b = lines(mine);
  auto [at, and_at] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto words = [](auto line, auto end) { return line == end ? "nothing" : "'" + one_line(*line) + "'"; };
  return "they have " + words(at, a.end()) + ", and here is " + words(and_at, b.end());
}
}  // namespace

std::string common_settings(const Job& job) {
  return "version of bora\t" BORA_VERSION "\ncommand\t" + job.purpose + "\ntokenizer\t" + job.tokenizer->identity() +
         "\n" + shared_settings(job.settings);
}
std::string ground_of(const Job& job, const transport::Config& config) {
  auto& s = job.settings;
  auto text = common_settings(job) + transport::common_terms(config);
  for (auto& line : s.data->prints({.tokenizer = job.tokenizer, .positions = s.model->positions(), .batch = s.batch}))
    text += "data: " + line + "\n";
  return text;
}
bool may_join(const Job& job) {
  auto* membership = job.context.membership;
  if (!membership || (membership->ground().empty() && !membership->waits())) return true;
  auto config = transport_of(job);
  auto theirs = membership->ground(), mine = ground_of(job, config);
  check<ConfigError>(theirs.empty() || theirs == mine, "it does not fit the other ranks of the job: ",
                     [&] { return difference(theirs, mine); });
  if (!membership->waits()) return true;  // it meets them now
  transport::rehearse(config);
  return membership->next_generation({}, -1);
}
transport::Config transport_of(const Job& job) {
  auto config = transport::with_options(transport::config_from_environment(), options_in(job.settings));
  return transport::with_options(config, job.context.transport);
}
}  // namespace bora::job
