// Files, folders and indices of tensors; safetensors_read.h reads the numbers.
#include "bora/io/safetensors.h"
#include <filesystem>
#include <set>
#include "base/api/paths.h"
#include "blocks.h"
#include "bora/base/text.h"
#include "bora/io/tree.h"
#include "io/api/jobs.h"
#include "new_leaf.h"
#include "safetensors_read.h"
#include "shard/api/agree.h"

namespace fs = std::filesystem;
namespace bora {
struct Safetensors::State {
  struct Tensor {
    std::size_t shard;
    io::StoredTensor stored;
  };
  std::string path = {};
  std::vector<std::pair<std::string, File>> shards = {};
  std::map<std::string, Tensor> tensors = {};
  std::map<std::string, std::string> metadata = {};

  std::string where(const std::string& name) const {
    auto found = tensors.find(name);
    return (found == tensors.end() ? path : shards[found->second.shard].first) + ": " + one_line(name);
  }
  /// Adds the tensors of a file. listed: the names that the index gives it, or null.
  void add(const std::string& file, const std::set<std::string>* listed);
  void add_folder(const fs::path& folder);
  void add_index(const fs::path& index);
  const Tensor& find(const TensorPart& part) const {
    auto found = tensors.find(part.name);
    check<CheckpointError>(found != tensors.end(), [&] { return where(part.name); }, ": there is no such tensor");
    return found->second;
  }
};

namespace {
constexpr std::int64_t kPieceBytes = 16 << 20;  // of a block that one thread fills

[[noreturn]] void convert_first(const std::string& what, const fs::path& folder, const std::string& files) {
  auto quoted = [](const std::string& s) {
    std::string r = "'";
    for (char c : s) r += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
    return r + "'";
  };
  fail<IoError>(what,
                ": PyTorch's pickles are programs, which are not run here; convert it in Python: import glob, torch, "
                "safetensors.torch as s; s.save_file({k: v.contiguous().clone() for f in glob.glob(",
                quoted(files), ") for k, v in torch.load(f, 'cpu', weights_only=True).items()}, ",
                quoted((folder / "model.safetensors").string()), ", {'format': 'pt'})");
}
Dtype dtype_of_stored(const io::StoredTensor& t, const std::string& where) {
  auto d = io::stored_dtype(t.dtype)->read_as;
  check<DtypeError>(d.has_value(), where, ": its dtype ", t.dtype, " has no counterpart here; convert it first");
  return *d;
}
}  // namespace

void Safetensors::State::add(const std::string& file, const std::set<std::string>* listed) {
  auto f = File::open(file);
  auto size = f.size();
  std::string first(static_cast<std::size_t>(std::min<std::int64_t>(size, 9)), '\0');
  auto get = [&](std::int64_t at, std::string& to) {
    check<IoError>(f.read(at, to.data(), static_cast<std::int64_t>(to.size())), file,
                   ": the file became shorter while it was read");
  };
  get(0, first);
  if (first.size() == 9 && first[8] != '{' && (first.starts_with("PK\x03\x04") || first.starts_with("\x80\x02")))
    convert_first(file, fs::path(file).parent_path(), file);
  std::string json(static_cast<std::size_t>(io::header_length(first, size, file)), '\0');
  get(8, json);
  auto header = io::parse_safetensors(json, size, file);
  for (auto& [name, stored] : header.tensors) {
    auto earlier = tensors.find(name);
    check<IoError>(earlier == tensors.end(), file, ": ", one_line(name), ": the tensor is also in ",
                   [&] { return shards[earlier->second.shard].first; });
    check<IoError>(!listed || listed->contains(name), file, ": ", one_line(name),
                   ": the index does not say that the tensor is here");
    tensors[name] = {shards.size(), std::move(stored)};
  }
  if (listed)
    for (auto& name : *listed)
      check<IoError>(header.tensors.contains(name), file, ": ", one_line(name),
                     ": there is no such tensor, but the index says so");
  metadata.merge(header.metadata);
  shards.emplace_back(file, std::move(f));
}
void Safetensors::State::add_index(const fs::path& index) {
  std::map<std::string, std::set<std::string>> names;
  for (auto& [name, shard] : io::parse_safetensors_index(read_file(index.string()), index.string()))
    names[shard].insert(name);
  for (auto& [shard, listed] : names) {
    auto file = index.parent_path() / shard;
    check<IoError>(is_there(file.string()), index.string(), ": ", one_line(*listed.begin()), ": its file ",
                   one_line(shard), " is missing");
    add(file.string(), &listed);
  }
}
void Safetensors::State::add_folder(const fs::path& folder) {
  for (auto name : {"model.safetensors", "model.safetensors.index.json"})
    if (is_there((folder / name).string()))
      return std::string_view(name).ends_with(".json") ? add_index(folder / name)
                                                       : add((folder / name).string(), nullptr);
  std::error_code error;
  std::string shard;
  bool torch = false;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    auto name = it->path().filename().string();
    torch = torch || (name.starts_with("pytorch_model") && name.ends_with(".bin"));
    if (name.ends_with(".safetensors") && (shard.empty() || name < shard)) shard = name;
  }
  check<IoError>(!error, "cannot read ", path, ": ", error.message());
  check<IoError>(shard.empty(), path, ": no model.safetensors and no model.safetensors.index.json; it has ",
                 one_line(shard));
  if (torch) convert_first(path, folder, (folder / "pytorch_model*.bin").string());
  fail<IoError>(path, ": no model.safetensors and no model.safetensors.index.json");
}

Safetensors Safetensors::open(const std::string& path) {
  auto s = std::make_shared<State>();
  s->path = path;
  agree<IoError>(io::place_here(), "safetensors: open", [&] {
    std::error_code error;
    if (fs::is_directory(path, error)) s->add_folder(path);
    else if (path.ends_with(".json")) s->add_index(path);
    else s->add(path, nullptr);
  });
  return Safetensors(std::move(s));
}
std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> r;
  for (auto& t : state_->tensors) r.push_back(t.first);
  return r;
}
bool Safetensors::has(const std::string& name) const { return state_->tensors.contains(name); }
std::string Safetensors::where(const std::string& name) const { return state_->where(name); }
Type Safetensors::type(const TensorPart& part) const {
  auto& t = state_->find(part);
  auto where = state_->where(part.name);
  auto shape = io::resolve(part, t.stored, where).shape;
  return {shape, dtype_of_stored(t.stored, where)};
}
Type Safetensors::type(const std::string& name) const { return type(TensorPart{name}); }
const std::map<std::string, std::string>& Safetensors::metadata() const { return state_->metadata; }

/// Lists the pieces of a leaf, each a job.
void Safetensors::list(const io::Leaf& leaf, const std::vector<TensorPart>& parts, const io::Place& place,
                       std::vector<io::Job>& jobs) const {
  auto box = io::block_of_rank(leaf.type, leaf.spec, place.mesh, place.rank);
  auto* out = static_cast<char*>(leaf.data);
  auto item = static_cast<std::int64_t>(dtype_size(leaf.type.dtype));
  auto add = [&](const TensorPart& part, const Shape& shape, const io::Box& block) {
    auto& t = state_->find(part);
    auto where = state_->where(part.name);
    auto resolved = io::resolve(part, t.stored, where);
    auto have = dtype_of_stored(t.stored, where);
    check<CheckpointError>(
        resolved.shape == shape && (have == leaf.type.dtype || (is_float(have) && is_float(leaf.type.dtype)) ||
                                    (is_integer(have) && is_integer(leaf.type.dtype) &&
                                     promote(have, leaf.type.dtype) == leaf.type.dtype)), where,
        ": it is ", Type{resolved.shape, have}, ", ", Type{shape, leaf.type.dtype}, " is wanted for '", leaf.path, "'");
    // A block whose rows follow each other in the file is read in several pieces.
    auto whole = !block.empty() && resolved.order[0] != 0;
    for (auto& piece : whole ? std::vector<io::Box>{block} : io::pieces(block, kPieceBytes / item)) {
      jobs.push_back({io::elements(piece) * item, [this, &t, &leaf, resolved, where, piece, out] {
                        io::read_part(state_->shards[t.shard].second, t.stored, resolved, piece, leaf.type.dtype, out,
                                      where);
                      }});
      out += io::elements(piece) * item;
    }
  };
  auto first = parts.empty() ? 0 : type(parts[0]).shape.size();
  if (parts.size() == 1 && first == leaf.type.shape.size()) return add(parts[0], leaf.type.shape, box);
  auto shape = leaf.type.shape;
  auto given = static_cast<std::int64_t>(parts.size());
  auto lead = first < shape.size() ? shape.size() - first : 1;
  std::int64_t wanted = shape.empty() ? 0 : 1;
  for (std::size_t d = 0; d < std::min(lead, shape.size()); ++d) wanted *= shape[d];
  if (given != wanted && !shape.empty()) lead = 1, wanted = shape[0];  // parts of other sizes: one of them is named
  check<CheckpointError>(!shape.empty() && given == wanted, state_->path, ": ", given, " tensors are given for '",
                         leaf.path, "', ", leaf.type);
  for (std::size_t d = 0; d < lead; ++d) shape.erase(0);
  auto cut = box.begin() + static_cast<std::ptrdiff_t>(lead);
  io::Box stacked(box.begin(), cut), rest(cut, box.end());
  Dims at;
  for (auto& range : stacked) {
    if (range.size() == 0) return;
    at.push_back(range.begin);
  }
  for (auto d = lead; d > 0;) {
    std::int64_t i = 0;
    for (std::size_t k = 0; k < lead; ++k) i = i * leaf.type.shape[k] + at[k];
    add(parts[static_cast<std::size_t>(i)], shape, rest);
    for (d = lead; d > 0 && ++at[d - 1] == stacked[d - 1].end; --d) at[d - 1] = stacked[d - 1].begin;
  }
}
void Safetensors::fill(const io::Leaf& leaf, const std::vector<TensorPart>& parts, const io::Place& place) const {
  io::run_jobs([&](std::vector<io::Job>& jobs) { list(leaf, parts, place, jobs); });
}

namespace io {
void load_tensors(tree::Node t, const Safetensors& files, const LoadSafetensorsOptions& options) {
  auto place = place_here();
  std::vector<std::vector<TensorPart>> parts;
  std::vector<tree::Slot> slots;
  std::vector<NewLeaf> made;
  agree<CheckpointError>(place, "safetensors: names", [&] {
    std::set<std::string> used;
    for (auto& slot : tree::slots(t)) {
      if (!slot.leaf.defined()) continue;
      auto type = slot.leaf.get().type();
      auto from = options.from ? options.from(slot.path, type) : std::vector{TensorPart{slot.path}};
      if (from.empty()) continue;
      for (auto& p : from) used.insert(p.name), (void)files.type(p);
      parts.push_back(std::move(from));
      slots.push_back(slot);
    }
    if (options.others) return;
    for (auto& name : files.names())
      check<CheckpointError>(used.contains(name), [&] { return files.where(name); }, ": no leaf takes this tensor");
  });
  for (auto& slot : slots) made.push_back(in_place_of(slot, slot.path));
  agree<CheckpointError>(place, "safetensors: read", [&] {
    run_jobs([&](std::vector<Job>& jobs) {
      for (std::size_t i = 0; i < made.size(); ++i) files.list(made[i].leaf, parts[i], place, jobs);
    });
  });
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i].leaf.set(made[i].done());
}
}  // namespace io

Array Safetensors::read(const TensorPart& part, const Spec& spec) const {
  auto place = io::place_here();
  std::optional<io::NewLeaf> block;
  agree<CheckpointError>(place, "safetensors: read", [&] {
    auto t = type(part);
    auto whole = here().mesh ? spec : Spec();
    whole.resize(std::max(spec.size(), t.shape.size()));
    block.emplace(part.name, t, whole);
    fill(block->leaf, {part}, place);
  });
  return block->done();
}
}  // namespace bora
