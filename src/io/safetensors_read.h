// safetensors_read.h -- the numbers of a part of a tensor, from its file to a block in memory.
#pragma once
#include "base/api/file.h"
#include "bora/io/safetensors.h"
#include "safetensors_format.h"

namespace bora::io {
/// A part that was checked against its tensor.
struct ResolvedPart {
  Shape shape;         // of the result
  Dims begin, order;   // as TensorPart has them; begin: of the view, or 0 where it is split
  Dims strides;        // of the view's dimensions, or of those that they are split into
  std::int64_t first;  // element of the tensor
};
/// CheckpointError, beginning with `where`.
ResolvedPart resolve(const TensorPart&, const StoredTensor&, const std::string& where);
/// Fills `out` with the block `box` of the result, as `dtype`. At most 1 MiB of memory beside it.
void read_part(const File&, const StoredTensor&, const ResolvedPart&, const Box& box, Dtype dtype, char* out,
               const std::string& where);
}  // namespace bora::io
