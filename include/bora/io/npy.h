// npy.h -- NumPy's files: .npy (one array) and .npz (several by name).
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>
#include "bora/array/array.h"

namespace bora {
/// Writes x as a .npy file (format 1.0, row-major). bf16 is written as its bits, '<u2' ('uint16'), which NumPy has no name for. Throws
/// IoError; DtypeError for keys; TraceError inside transforms. A sharded array is gathered: every rank must ask.
void save_npy(const std::filesystem::path& file, const Array& x);
/// The array in a .npy file: bool, u8, i32, i64, u32, f32, f64; '<u2' as bf16 bits if `dtype` is bf16; big-endian numbers too. Narrower integers and f16 become i32
/// and f32, which hold them exactly; Fortran order is converted. Throws IoError for what is damaged and DtypeError for what has no dtype.
struct LoadNpy {
  std::optional<Dtype> dtype = none;  // convert to this; bf16 reads '<u2' as bits
};
Array load_npy(const std::filesystem::path& file, const LoadNpy& options = {});
struct LoadNpz {
  std::optional<Dtype> dtype = none;   // as of LoadNpy
  std::vector<std::string> only = {};  // names; empty: all that can be read
};
/// The arrays of a .npz file by name, as numpy.savez and numpy.savez_compressed write it. Entries without a dtype here (strings, records,
/// complex numbers) are left out, unless `only` asks for them: then, and where there is no other entry, DtypeError. Throws IoError for what
/// is damaged and for a name that is not there.
std::map<std::string, Array> load_npz(const std::filesystem::path& file, const LoadNpz& options = {});
void save_npz(const std::filesystem::path& file, const std::map<std::string, Array>& arrays);
}  // namespace bora
