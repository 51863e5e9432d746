// facts.h -- facts about a run that its groups of settings check themselves against.
//
// A rule that concerns two groups stands with the group that it restricts, in groups/: the function check_group of this
// group, which throws a ConfigError that begins with the group's name. check_groups calls all of them.
#pragma once
#include <optional>
#include "bora/job/settings.h"
#include "bora/models/model.h"
#include "bora/train/local_settings.h"
#include "bora/train/placement.h"

namespace bora::job {
struct Facts {
  /// Facts of the settings alone: rules about ranks are left out.
  explicit Facts(const Settings& s) : all(s) {}
  /// Facts of a job on this many ranks. Throws ConfigError if the mesh does not fit them, or the vocabulary not the
  /// tokenizer.
  Facts(const Settings&, const text::Tokenizer&, int ranks, std::string_view purpose);

  const Settings& all;
  // Filled for a job only, in this order:
  std::string_view purpose = {};  // train, eval, ..
  std::optional<MeshShape> mesh = {};
  LayoutMappings mappings = {};    // on this mesh
  MeshAxes batch_axes = {};        // that split the rows of a step
  std::int64_t stages = 1;         // that the mesh cuts the layers into
  std::int64_t vocabulary = 0;     // tokens of the model
  std::int64_t rows = 0;           // of a part of the batch
  /// Whether these axes have shares, or get some that are measured.
  bool has_shares(const MeshAxes&) const;
};
void check_groups(const Facts&);

void check_group(const bora::training::MeshSettings&, const Facts&);
void check_group(const models::PreferenceSettings&, const Facts&);
void check_group(const models::LoraSettings&, const Facts&);
void check_group(const config::Choice<bora::training::LocalKind>&, const Facts&);
void check_group(const ReproducibleSettings&, const Facts&);
void check_group(const ElasticSettings&, const Facts&);
void check_group(const bora::training::WireSettings&, const Facts&);
void check_group(const bora::training::CheckpointSettings&, const Facts&);
void check_group(const bora::training::PageSettings&, const Facts&);
void check_group(const bora::training::NormSettings&, const Facts&);
}  // namespace bora::job
