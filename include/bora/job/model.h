// model.h -- the model of the settings on a mesh: in training, generating, scoring; and the loop around its training.
#pragma once
#include <functional>
#include <memory>
#include "bora/job/forward.h"

namespace bora {
class Array;
class Trainable;
struct LoopSettings;
namespace models {
class Generator;
class Scorer;
class Stepper;
struct ModelOptions;
}  // namespace models
}  // namespace bora
namespace bora::job {
/// The loop's part of the settings.
LoopSettings loop_settings(const Settings&, const MeshShape&,
                           const std::shared_ptr<const text::Tokenizer>& = nullptr);
/// The model, and how it is trained, on a mesh.
models::ModelOptions model_options(const Settings&, const text::Tokenizer&, const MeshShape&);

struct TrainableOptions {  // of trainable_of
  bool pipeline = true;    // see CompileOptions
  bool tuned = true;       // with what is frozen, and adapters beside the model, as the settings say
  bool init = false;       // with the parameters and the state that a new run begins with
  bool reads = false;      // its parameters will be read from files, and nothing trains them: they begin as zeros
  bool asks = false;       // nothing trains it: it is asked, as the reference, about pairs (models::reference_task)
};
/// The model in training that the settings describe.
std::unique_ptr<Trainable> trainable_of(const Settings&, const text::Tokenizer&, const MeshShape&,
                                        const TrainableOptions& = {});
/// Parameters are those of a new run with these settings, in their storage. choose: Generator::Choose.
std::unique_ptr<models::Generator> generator_of(const Settings&, const text::Tokenizer&, const MeshShape&,
                                                std::function<Array(const Array& scores, const Array& key)> choose);
/// For many sequences at once, with the parameters as generator_of has them.
std::unique_ptr<models::Stepper> stepper_of(const Settings&, const text::Tokenizer&, const MeshShape&);
/// For log-probabilities of texts, with the parameters as generator_of has them.
std::unique_ptr<models::Scorer> scorer_of(const Settings&, const text::Tokenizer&, const MeshShape&);
}  // namespace bora::job
