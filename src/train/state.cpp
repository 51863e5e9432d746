// A training state as blocks: for checkpoints, digests and batches of arrays on a mesh.
#include <cmath>
#include <numeric>
#include "bora/array/communicator.h"
#include "bora/io/tree.h"
#include "bora/shard/mesh.h"
#include "bora/train/batch.h"
#include "bora/train/loop.h"
#include "bora/transport/transport.h"

namespace bora {
io::Place place_of(const Mesh& mesh) {
  if (mesh.size() == 1) return {mesh.shape(), mesh.rank()};
  return {mesh.shape(), mesh.rank(),
          [mesh](const std::string& mine, std::string_view what) { return mesh.exchange(mine, what); },
          [mesh](const CollectiveCall& call) {
            std::vector<int> all(static_cast<std::size_t>(mesh.size()));
            std::iota(all.begin(), all.end(), 0);
            mesh.context().run({all, "checkpoint"}, call);
          }};
}

std::string parameter_digest(tree::Node parameters, const Mesh& mesh) {
  Arrays keep;
  auto leaves = io::leaves_of(parameters, "", keep);
  MeshAxes all;
  for (auto& axis : mesh.shape().axes) all.push_back(axis.first);
  return io::digest_leaves(leaves, place_of(mesh),
                           [&](const void* in, std::int64_t n, void* out, const std::vector<std::int64_t>& counts) {
                             CollectiveCall call{.kind = CollectiveKind::all_gather,
                                                 .dtype = u8,
                                                 .in = in,
                                                 .out = out,
                                                 .send_counts = {n},
                                                 .recv_counts = counts};
                             call.describe = [] { return std::string("all_gather of parameters for the digest"); };
                             here().communicator->start(all, call)->wait();
                           });
}

BlockRange rows_of_rank(std::int64_t batch, const Mesh& mesh) {
  auto over = batch_axes(current_mapping(), mesh.shape());
  return mesh.shape().block_of_rank(batch, over, mesh.rank());
}

namespace {
constexpr std::size_t kNotes = 4;  // of StepNotes, in its order
}  // namespace
GlobalBatch make_batch(const data::Rows& rows, std::int64_t batch, const Mesh& mesh, const StepNotes& said) {
  auto over = batch_axes(current_mapping(), mesh.shape());
  MeshAxes all;  // axes of one rank split nothing
  for (auto& axis : mesh.shape().axes)
    if (axis.second > 1) all.push_back(axis.first);
  training::Example e;
  data::each_column(rows.shape, [&](const data::ColumnSpec& column, auto of) {
    if (column.axis == data::RowAxis::row && !rows.shape.padded) return;
    std::vector<Axis> axes{{"batch", batch}};
    Shape mine{rows.end - rows.begin}, whole{batch};
    if (column.axis != data::RowAxis::row) {
      axes.push_back({column.axis == data::RowAxis::input ? "input" : "position", column.size(rows.shape)});
      mine.push_back(axes[1].size), whole.push_back(axes[1].size);
    }
    auto block = from_bytes({mine, column.dtype}, of(rows).data());
    of(e) = NamedArray(from_local_block(block, whole, Spec({over})), axes);
  });
  if (auto sources = std::ssize(rows.filled_by_part); sources > 1) {
    auto mine = rows.end - rows.begin;
    std::vector<float> which(static_cast<std::size_t>(mine * sources));
    for (std::int64_t r = 0; r < mine; ++r)
      which[static_cast<std::size_t>(r * sources + rows.parts[static_cast<std::size_t>(r)])] = 1;
    auto block = from_bytes({{mine, sources}, f32}, which.data());
    e.sources = NamedArray(from_local_block(block, {batch, sources}, Spec({over})),
                           {Axis{"batch", batch}, Axis{"source", sources}});
  }
  std::vector<float> notes{said.stop, said.save, said.written, said.failed, 0};
  bool tells = true;
  for (auto& axis : mesh.shape().axes)
    tells = tells && (over.has(axis.first) || mesh.shape().coordinate(mesh.rank(), axis.first) == 0);
  for (auto filled : rows.filled_by_part) {
    notes.push_back(tells ? static_cast<float>(filled) : 0);
    notes[kNotes] += notes.back();
  }
  auto width = static_cast<std::int64_t>(notes.size());
  return {e, to_global(from_bytes({{1, width}, f32}, notes.data()), {1, width}, Spec{none, none}, all)};
}
StepResult step_result(const Array& numbers) {
  auto r = numbers.to_vector<float>();
  StepResult s{.loss = static_cast<double>(r[0]),
               .gradient_norm = static_cast<double>(r[1]),
               .learning_rate = static_cast<double>(r[2]),
               .notes = {r[3], r[4], r[5], r[6]},
               .filled = static_cast<double>(r[3 + kNotes])};
  for (auto n = r.begin() + 4 + kNotes; n != r.end(); ++n) s.by_source.push_back(std::llround(*n));
  return s;
}
}  // namespace bora
