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
  std::string type(source_type_of(path->text));
  source.members.insert(source.members.begin(), {"type", config::scalar(type)});
}
bool has_ids(const Written* type) {
  return type && is_type<Source>(type->text) && config::Choice<Source>(std::string_view(type->text))->has_ids();
}
/// A file that is no text can be nothing but a source.
bool only_source(const Written* path) {
  if (!path) return false;
  auto format = format_of(path->text).value_or(Format::csv);
  return format != Format::jsonl && format != Format::csv;
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
    bool of_corpus = (is_type<Source>(word) && !is_type<Data>(word)) || (word.empty() && only_source(path));
    for (auto key : {"task", "pack", "cache", "on_error", "field", "width"})
      of_corpus = of_corpus || (word.empty() && path && data.find(key));
    if (!of_corpus) return;
    Written source, list{.form = Written::Form::list}, rest;
    rest.where = data.where, rest.written = data.written;
    for (auto& [key, member] : data.members)
      (key == "type" || key == "path" || key == "field" || key == "width" ? source : rest).at(key) = member;
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
      auto type = sources->items[0].find("type");
      bool names = key == std::string_view("path") && format_of(own->text);
      if (names && type && !has_ids(type)) type->text = source_type_of(own->text);
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
/// Sources of ids are learnt by the task that takes ids, unless another one is asked for.
void settle_ids(Written& data) {
  auto sources = data.find("sources"), task = data.find("task");
  if (!sources || (task && (task->form != Written::Form::group || task->find("type")))) return;
  bool ids = std::any_of(sources->items.begin(), sources->items.end(),
                         [](auto& s) { return s.form == Written::Form::group && has_ids(s.find("type")); });
  for (auto& row : config::rows<Task>())
    if (ids && config::Choice<Task>(std::string_view(row.type))->takes_ids())
      data.at("task").at("type") = config::scalar(std::string(row.type));
}
void settle_whole(Written& data) {
  if (!data.find("type") && !data.find("sources") && only_source(data.find("path"))) settle_sources(data);
  settle_ids(data);
  settle_pack(data);
}
}  // namespace
const config::Forms Data::forms = {settle_sources, settle_only_source, settle_whole};
}  // namespace bora::data
