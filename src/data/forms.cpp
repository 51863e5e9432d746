// Ways to write the group data of the settings.
#include <algorithm>
#include "data/sources/source.h"
#include "data/tasks/task.h"

namespace bora::data {
namespace {
using Written = config::Document;
template <class I> bool is_type(const std::string& word) {
  auto& rows = config::rows<I>();
  return std::any_of(rows.begin(), rows.end(), [&](auto& row) { return row.type == word; });
}
/// A source whose type is not said has that of its file's name.
void settle_source(Written& source) {
  auto path = source.find("path");
  if (source.form != Written::Form::group || source.find("type") || !path) return;
  std::string type(Source::initial);
  for (auto& row : config::rows<Source>())
    for (std::string packed : {"", ".gz", ".zst"})
      if (path->text.ends_with("." + std::string(row.type) + packed)) type = row.type;
  source.members.insert(source.members.begin(), {"type", config::scalar(type)});
}
/// `data: {sources: [..]}` is of type corpus. So is one source written without the list, where its type or a key of a
/// corpus shows it: `data: {type: jsonl, path: FILE, task: ..}`.
void settle_sources(Written& data) {
  auto type = data.find("type"), path = data.find("path");
  auto word = type ? type->text : "";
  if (auto sources = data.find("sources")) {
    auto list = config::parse_flow(*sources);
    for (auto& item : list.items) settle_source(item);
    if (list.form == Written::Form::list) *sources = list;
    if (type) return;
  } else {
    bool of_corpus = is_type<Source>(word) && !is_type<Data>(word);
    for (auto key : {"task", "pack", "cache", "on_error", "field"})
      of_corpus = of_corpus || (word.empty() && path && data.find(key));
    if (!of_corpus) return;
    Written source, list{.form = Written::Form::list}, rest;
    rest.where = data.where, rest.written = data.written;
    for (auto& [key, member] : data.members)
      (key == "type" || key == "path" || key == "field" ? source : rest).at(key) = member;
    settle_source(source);
    list.items.push_back(source);
    rest.at("sources") = list;
    data = rest;
  }
  data.at("type") = config::scalar("corpus");
}
/// `data=FILE` and `data.field=NAME` on the command line replace those of the file's source, if it has only one.
void settle_only_source(Written* below, Written* above) {
  auto sources = below ? below->find("sources") : nullptr;
  if (!sources || !above || above->find("type") || above->find("sources")) return;
  if (sources->items.size() != 1 || sources->items[0].form != Written::Form::group) return;
  for (auto key : {"path", "field"})
    if (auto own = above->find(key)) {
      sources->items[0].at(key) = *own;
      std::erase_if(above->members, [&](auto& m) { return m.first == key; });
    }
}
/// `pack: true` and `pack: false`, as other systems have it. The meaning of false depends on the task, which may be set
/// in the file when `pack` is set on the command line.
void settle_pack(Written& data) {
  auto pack = data.find("pack"), how = pack ? pack->find("how") : nullptr;
  if (!how || how->written != "data.pack" || (how->text != "true" && how->text != "false")) return;
  auto task = data.find("task"), type = task ? task->find("type") : nullptr;
  auto unpacked = Sharing::automatic;
  if (type && is_type<Task>(type->text)) unpacked = config::Choice<Task>(std::string_view(type->text))->unpacked();
  how->text = config::print_value(how->text == "true" ? Sharing::first_fit : unpacked);
}
}  // namespace
const config::Forms Data::forms = {settle_sources, settle_only_source, settle_pack};
}  // namespace bora::data
