// npy.h -- NumPy's files: .npy (one array) and .npz (several by name, not compressed).
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include "bora/array/array.h"

namespace bora {
/// Writes x as a .npy file (format 1.0, row-major). bf16 is written as its bits, '<u2' ('uint16'), which NumPy has no name for. Throws
/// IoError; DtypeError for keys; TraceError inside transforms. A sharded array is gathered: every rank must ask.
void save_npy(const std::filesystem::path& file, const Array& x);
/// The array in a .npy file: bool, u8, i32, i64, u32, f32, f64; '<u2' as bf16 bits if `dtype` is bf16. Narrower integers and f16 become i32
/// and f32, which hold them exactly; Fortran order is converted. Throws IoError for what is damaged and DtypeError for what has no dtype.
struct LoadNpy {
  std::optional<Dtype> dtype = none;  // convert to this; bf16 reads '<u2' as bits
};
Array load_npy(const std::filesystem::path& file, const LoadNpy& options = {});
/// The arrays of a .npz file by name, as numpy.savez writes it. Throws IoError for compressed entries (numpy.savez_compressed).
std::map<std::string, Array> load_npz(const std::filesystem::path& file, const LoadNpy& options = {});
void save_npz(const std::filesystem::path& file, const std::map<std::string, Array>& arrays);
}  // namespace bora
