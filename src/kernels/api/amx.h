// amx.h -- products of tiles, where the processor has AMX and the operating system lets this process have tiles.
#pragma once

namespace bora::kernels {
/// Of bf16: then these give the bits of every bf16 product of few rows (gemm/bf16.h).
bool has_bf16_tiles();
/// Of bytes.
bool has_byte_tiles();
}  // namespace bora::kernels
