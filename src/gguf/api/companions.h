// companions.h -- the files that a folder of Hugging Face's would have beside its tensors, made of a GGUF file's
// metadata. They have paths within it: "model.gguf/config.json". Nothing is written.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace bora::gguf {
class File;
/// Whether a path names a file (not a folder) with the ending .gguf.
bool is_file(const std::string& path);
/// The names that a file's companions have: config.json, generation_config.json, tokenizer_config.json, and
/// tokenizer.json or tokenizer.model, if its tokenizer is one of those that are known here.
std::vector<std::string> companions(const File&);
/// The text of a companion. Throws IoError "FILE: KEY: ..", also for a name that is none of them.
std::string companion(const File&, std::string_view name);
/// Whether a path leads into a GGUF file.
bool is_within(const std::string& path);
/// bora::is_there and bora::read_file, for paths on disk and for those within a GGUF file.
bool is_there(const std::string& path);
std::string read_file(const std::string& path);
/// The folder part of a path: a GGUF file is one.
bool is_folder(const std::string& path);

// The parts of it.
inline constexpr std::string_view kArchitectures[] = {"llama", "qwen2", "qwen3", "gemma", "gemma2", "gpt2"};
/// Whether Hugging Face's files of this architecture have GPT-2's names, and matrices as [inputs, outputs].
constexpr bool is_gpt2(std::string_view architecture) { return architecture == "gpt2"; }
/// Whether llama.cpp has another order of the rows of queries and keys than Hugging Face.
constexpr bool has_turned_rows(std::string_view architecture) { return architecture == "llama"; }
/// general.architecture. Throws IoError for others.
std::string architecture(const File&);
std::string config_json(const File&);
std::string tokenizer_json(const File&);
/// SentencePiece's .model, a protocol buffer.
std::string tokenizer_model(const File&);
std::string tokenizer_config_json(const File&);
std::string generation_config_json(const File&);
}  // namespace bora::gguf
