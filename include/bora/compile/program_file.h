// program_file.h -- Programs as files: magic, version, checksum, then types, instructions and their parameters.
#pragma once
#include "bora/compile/stage.h"

namespace bora {
/// The Program and the values of its last inputs, in one file, whole or not at all. Throws IoError, TraceError for a
/// value without numbers, and ValueError that names the operation for one that holds a function of this process
/// (custom_op, callbacks, debug::print). If one of the values is sharded, every rank must call it: rank 0 writes, and
/// an error of it is one of all ranks.
void write_program(const std::string& path, const Staged&);
/// The Program that write_program wrote; every instruction is checked. Throws IoError for a file that is damaged, of a
/// later version, or with operations that this library lacks. Files are trusted as programs are: read none from
/// strangers.
Staged read_program(const std::string& path);
}  // namespace bora
