// replicas.h -- a copy of a model on each rank of a mesh, as one model whose steps the copies share out.
#pragma once
#include "bora/models/stepper.h"

namespace bora {
class Mesh;
}  // namespace bora
namespace bora::generate {
/// The pages of allot(n) are in as many equal groups as there are ranks, those of rank 0 first, and all pages of a row
/// are of one group: its rank computes the row. Rows of a step are in the order of the ranks. Rank 0 has all scores,
/// the other ranks have none. The mesh in force, where the copies compute, has one rank.
class Replicas final : public models::Stepper {
 public:
  /// mine: the copy of this rank, which outlives this object.
  Replicas(models::Stepper& mine, const Mesh& all);
  tree::Node parameters() override;
  std::int64_t positions() const override { return mine_.positions(); }
  std::int64_t window() const override { return mine_.window(); }
  std::int64_t vocabulary() const override { return mine_.vocabulary(); }
  std::int64_t page_bytes() const override { return mine_.page_bytes(); }
  void allot(std::int64_t n) override;
  std::int64_t read(const std::vector<std::int32_t>& inputs) override { return mine_.read(inputs); }
  void forget(std::int64_t inputs) override { mine_.forget(inputs); }
  Array step(const models::Step&) override;

 private:
  models::Stepper& mine_;
  const Mesh& all_;
  std::int64_t pages_ = 0;  // of a group
};
}  // namespace bora::generate
