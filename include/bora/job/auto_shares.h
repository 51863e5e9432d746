// auto_shares.h -- shares of the ranks for `mesh.shares: auto`, by their speed.
#pragma once
#include <string>
#include <vector>
#include "bora/array/mesh.h"

namespace bora::transport {
class Context;
}
namespace bora::job {
struct Job;
/// The time of a step on a rank: some of it whatever its rows are, and some for each row. Seconds.
struct RankSpeed {
  double fixed = 0, row = 0;
};
/// Shares, 1 or more each and `units` in all (as many as ranks at least), with which ranks of these speeds end a step
/// of `rows` rows as nearly together as units can say. Equal ones where these are less than 5 % slower.
std::vector<int> shares_for(const std::vector<RankSpeed>&, std::int64_t rows, std::int64_t units);

/// A mesh with shares that were measured, and what is kept of them beside the run's config.
struct SharesRecord {
  MeshShape mesh = {};
  std::string text = {};  // of the file shares.yaml
  std::string said = {};  // a line to print
};
/// The mesh with the shares of axis data: those that the run in settings.out was begun with, if it goes on on the same
/// hosts and mesh, else as the kernels of a step are measured now on all ranks at once. Every rank calls it, and gets
/// the same. Throws the errors of settings that do not fit.
SharesRecord settled_shares(const Job&, const MeshShape&, transport::Context&);
/// Writes shares.yaml into the folder of a run.
void write_shares(const std::string& folder, const SharesRecord&);
}  // namespace bora::job
