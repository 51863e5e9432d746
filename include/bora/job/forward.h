// forward.h -- names of other layers, and Settings, that declarations of this layer need; the sources include the rest.
#pragma once

namespace bora {
class Mesh;
struct MeshLinks;
struct MeshShape;
namespace text {
class Tokenizer;
}  // namespace text
}  // namespace bora
namespace bora::job {
struct Settings;
}  // namespace bora::job
