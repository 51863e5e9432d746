#include "bora/config/config.h"
#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include "base/api/file.h"
#include "config/api/braces.h"

namespace bora::config {
namespace {
/// Insertions, deletions, changes and swaps of neighbouring letters.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}
/// Edit distance to a known word; none if a slip is unlikely: more than a third differs, and neither begins the other.
std::optional<std::size_t> distance(const std::string& written, const std::string& known) {
  auto shorter = std::min(written.size(), known.size());
  if (written.size() > 64 || (shorter < 2 && written != known)) return {};  // any letter is one slip from any other
  auto d = edit_distance(written, known);
  if (d <= std::max<std::size_t>(1, shorter / 3)) return d;
  auto begins = [](const std::string& a, const std::string& b) { return a.starts_with(b) && a[b.size()] != '.'; };
  if (shorter >= 4 && (begins(written, known) || begins(known, written))) return d;
  return {};
}
std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }
std::string first_word(const std::string& key) { return key.substr(0, key.find('.')); }

/// Calls f(key, setting) for every setting and group, those of all types of a Choice included.
void each(const Schema& s, const std::string& prefix, const std::function<void(const std::string&, const Schema&)>& f) {
  auto fields = [&](const std::vector<Schema>& list) {
    for (auto& field : list) {
      auto key = below(prefix, field.name);
      f(key, field);
      each(field, key, f);
    }
  };
  fields(s.fields);
  for (auto& [type, more] : s.types) fields(more);
}
/// The group or setting with this key; null if there is none.
const Schema* find(const Schema& root, const std::string& key) {
  const Schema* found = nullptr;
  each(root, "", [&](const std::string& k, const Schema& s) {
    if (k == key && !found) found = &s;
  });
  return found;
}
std::string members_of(const Schema& group) {
  std::string list;
  for (auto& field : group.fields) list += (list.empty() ? "" : ", ") + field.name;
  return list;
}
/// Words of other systems (transformers, Levanter, T5X, Optax) for settings, where ours are far from them.
struct Elsewhere {
  std::string_view ours, theirs;  // separated by spaces
};
constexpr Elsewhere kElsewhere[] = {
    {"steps", "num_train_steps train_steps max_steps num_steps total_steps"},
    {"batch", "train_batch_size per_device_train_batch_size global_batch_size"},
    {"accumulate", "gradient_accumulation_steps grad_accum_steps num_microbatches"},
    {"seed", "random_seed data_seed"},
    {"out", "output_dir run_dir model_dir"},
    {"optimizer.lr", "learning_rate peak_lr max_lr base_learning_rate"},
    {"optimizer.schedule.warmup", "warmup_steps num_warmup_steps warmup_ratio"},
    {"optimizer.schedule.shape", "lr_schedule lr_scheduler lr_scheduler_type"},
    {"optimizer.clip", "max_grad_norm grad_clip gradient_clip clip_norm"},
    {"optimizer.beta1", "b1 adam_beta1"},
    {"optimizer.beta2", "b2 adam_beta2"},
    {"optimizer.eps", "epsilon adam_epsilon"},
    {"precision.policy", "mp fp16 bf16 mixed_precision dtype torch_dtype"},
    {"model.checkpoint", "gradient_checkpointing remat remat_policy"},
    {"model.positions", "seq_len seq_length max_seq_len max_seq_length block_size context_length n_positions n_ctx "
                        "max_position_embeddings"},
    {"model.layers", "num_layers n_layer n_layers num_hidden_layers num_encoder_layers"},
    {"model.embed", "hidden_size hidden_dim n_embd d_model emb_dim"},
    {"model.heads", "num_heads n_head n_heads num_attention_heads"},
    {"model.kv_heads", "num_kv_heads num_key_value_heads"},
    {"model.head_size", "head_dim d_kv"},
    {"model.hidden", "intermediate_size intermediate_dim d_ff ffn_dim mlp_dim n_inner"},
    {"model.theta", "rope_theta"},
    {"model.eps", "layer_norm_epsilon layer_norm_eps rms_norm_eps"},
    {"model.tied", "tie_word_embeddings"},
    {"model.window", "sliding_window"},
    {"model.experts", "num_local_experts n_routed_experts"},
    {"model.chosen", "num_experts_per_tok"},
    {"vocabulary.size", "vocab_size"},
    {"init_from.path", "model_name_or_path pretrained_model initialize_from initialize_from_hf"},
    {"lora.rank", "lora_r r"},
    {"lora.alpha", "lora_alpha"},
    {"lora.layers", "target_modules"},
    {"loss.z_loss", "z_loss_weight"},
    {"checkpoint.every", "save_steps save_interval checkpoint_period"},
    {"checkpoint.keep.last", "save_total_limit"},
    {"eval.every", "eval_steps steps_per_eval eval_period"},
    {"eval.patience", "early_stopping_patience"},
    {"log.every", "logging_steps"},
    {"trackers", "report_to wandb"}};
struct Found {
  std::string ours = {};
  std::size_t distance = 0;  // from the word as it was written
};
/// Our key for another system's word, or for the nearest one, if these settings have it. Of short words only those
/// themselves are meant: each is near to another.
Found from_elsewhere(const std::string& word, const Schema& root) {
  Found best;
  for (auto& [ours, theirs] : kElsewhere) {
    if (!find(root, std::string(ours))) continue;
    std::istringstream words{std::string(theirs)};
    for (std::string one; words >> one;) {
      if (one == word) return {std::string(ours)};
      if (word.size() > 64 || one.size() < 6) continue;
      auto d = edit_distance(word, one);
      if (d <= one.size() / 5 && (best.ours.empty() || d < best.distance)) best = {std::string(ours), d};
    }
  }
  return best;
}
/// Advice for an unknown key: ours for a word of another system, or the nearest of keys and such words; a key is
/// compared as a whole or by its last word (written outside of its group); else, inside a group, the group's members.
std::string advice(const std::string& key, const Schema& root) {
  auto elsewhere = from_elsewhere(last_word(key), root);
  if (!elsewhere.ours.empty() && elsewhere.distance == 0) return "did you mean '" + elsewhere.ours + "'?";
  std::string best;
  auto least = static_cast<std::size_t>(-1);
  auto group_of = [](const std::string& k) { return k.substr(0, k.rfind('.') == k.npos ? 0 : k.rfind('.')); };
  each(root, "", [&](const std::string& k, const Schema&) {
    auto word = distance(last_word(key), last_word(k));
    auto mine = group_of(key), its = group_of(k);
    auto group = mine.empty() || its.empty() ? std::optional<std::size_t>(mine != its) : distance(mine, its);
    if (word && group && 2 * *word + *group < least) best = k, least = 2 * *word + *group;
  });
  std::string types;  // that have it, or a group with it
  for (auto group = group_of(key); !group.empty() && best == key; group = group_of(group))
    if (auto there = find(root, group))
      for (auto& [type, fields] : there->types)
        for (auto& field : fields)
          if ((key + ".").starts_with(below(group, field.name) + "."))
            types += (types.empty() ? "'" : ", '") + type + "'";
  if (!types.empty())
    return types.find(',') == types.npos ? "type " + types + " has it" : "types " + types + " have it";
  if (!elsewhere.ours.empty() && 2 * elsewhere.distance < least) best = elsewhere.ours;
  if (!best.empty() && best != key) return "did you mean '" + best + "'?";
  for (auto group = group_of(key); !group.empty(); group = group_of(group))
    if (auto there = find(root, group); there && there->group) return group + " has " + members_of(*there);
  return "`bora help` lists the settings";
}
}  // namespace

std::string below(const std::string& key, std::string_view field) {
  return key.empty() ? std::string(field) : key + "." + std::string(field);
}
void wrong_type(const Document& d, const std::string& key, std::string_view expected) {
  fail<ConfigError>(d.where, ": ", key, ": expected ", expected, ", got ", d.described());
}
void unknown_key(const Document& member, const std::string& key, const Schema& root) {
  auto full = key;  // on the command line keys are written in full
  for (auto* d = &member; d->where == kCommandLine && d->form == Document::Form::group && !d->members.empty();) {
    if (!d->members.front().first.empty()) full = below(full, d->members.front().first);
    d = &d->members.front().second;
  }
  fail<ConfigError>(member.where, ": unknown key '", full, "'; ", advice(full, root));
}
void unknown_type(const Document& d, const std::string& key, const std::string& word,
                  const std::vector<std::string>& known) {
  std::string list, best;
  auto least = static_cast<std::size_t>(-1);
  for (std::size_t i = 0; i < known.size(); ++i) {
    list += (i == 0 ? "" : i + 1 == known.size() ? " and " : ", ") + known[i];
    if (auto n = distance(word, known[i]); n && *n < least) best = known[i], least = *n;
  }
  fail<ConfigError>(d.where, ": ", key, ": unknown type '", word, "'; ",
                    best.empty() ? "" : "did you mean '" + best + "'? ", known.size() == 1 ? "there is " : "there are ",
                    list);
}

namespace {
/// The field of a group; of a choice that of the type which the document names, else of the first one that has it.
const Schema* field_of(const Schema& schema, const Document& d, const std::string& key) {
  auto in = [&](const std::vector<Schema>& fields) -> const Schema* {
    for (auto& f : fields)
      if (f.name == key) return &f;
    return nullptr;
  };
  auto type = d.find("type");
  for (auto& [word, fields] : schema.types)
    if (type && type->text == word)
      if (auto found = in(fields)) return found;
  if (auto found = in(schema.fields)) return found;
  for (auto& [word, fields] : schema.types)
    if (auto found = in(fields)) return found;
  return nullptr;
}
Document* group_in(Document* d, const std::string& key) {
  auto member = d && d->form == Document::Form::group ? d->find(key) : nullptr;
  return member && member->form == Document::Form::group ? member : nullptr;
}
/// Calls f for every group of the schema that has Forms, and that one of two documents gives.
void each_of_forms(const Schema& schema, Document* d, Document* other,
                   const std::function<void(const Forms&, Document*, Document*)>& f) {
  for (auto& field : schema.fields) {
    auto *one = group_in(d, field.name), *two = group_in(other, field.name);
    if (!one && !two) continue;
    if (field.forms) f(*field.forms, one, two);
    each_of_forms(field, one, two, f);
  }
}
/// A field of a group; of a choice that of this type. Null if it has none.
const Schema* field_of_type(const Schema& group, const std::string& type, const std::string& name) {
  auto* fields = &group.fields;
  for (auto& [word, own] : group.types)
    if (word == type) fields = &own;
  for (auto& field : *fields)
    if (field.name == name) return &field;
  return nullptr;
}
/// Removes from the document below the keys that the new type lacks, if the document above chooses another type.
void drop_other_types(Document& under, const Document& above, const Schema& schema) {
  auto type_of = [](const Document& d) { return d.find("type") ? d.find("type")->text : std::string(); };
  auto before = type_of(under), now = type_of(above);
  if (schema.group && !schema.types.empty()) {  // a list of choices has the types of its items
    if (before.empty()) before = schema.fields.front().initial;
    if (now.empty()) now = before;
    if (now != before)
      std::erase_if(under.members, [&](auto& m) {
        return field_of_type(schema, before, m.first) && !field_of_type(schema, now, m.first);
      });
  }
  for (auto& [key, member] : above.members) {
    auto there = under.find(key);
    auto field = field_of_type(schema, now, key);
    if (there && field) drop_other_types(*there, member, *field);
  }
}
/// Moves what stands for a group's named field into it.
void settle_groups(Document& d, const Schema& schema, const std::string& prefix) {
  if (d.form != Document::Form::group) return;
  if (auto own = d.find(""); own && !schema.named.empty()) {
    auto value = *own;
    std::erase_if(d.members, [](auto& m) { return m.first.empty(); });
    check<ConfigError>(!d.find(schema.named), value.where, ": '", prefix, "' and '", below(prefix, schema.named),
                       "' are the same setting; give one of them");
    d.members.insert(d.members.begin(), {schema.named, value});
  }
  for (auto& [key, member] : d.members) {
    auto field = field_of(schema, d, key);
    if (!field || !field->group) continue;
    auto full = below(prefix, key);
    auto alone = member.form == Document::Form::scalar || member.form == Document::Form::list;
    if (alone && !field->named.empty()) {
      auto value = member;
      if (value.written.empty()) value.written = full;
      member = {.members = {{field->named, value}}, .where = member.where};
    }
    settle_groups(member, *field, full);
  }
}
}  // namespace
void settle_braces(Document& d, const Schema& schema, const std::string& key) {
  if (d.form != Document::Form::group) return;
  if (auto own = d.find(""); own && !key.empty())  // model={..} beside model.layers=2
    if (auto group = parse_braces(*own); group.form == Document::Form::group) {
      std::erase_if(d.members, [](auto& m) { return m.first.empty(); });
      for (auto& m : group.members) {
        check<ConfigError>(!d.find(m.first), d.where, ": '", below(key, m.first), "' is given twice, in braces too");
        d.members.push_back(m);
      }
    }
  for (auto& [name, member] : d.members) {
    auto field = field_of(schema, d, name);
    if (!field || !field->group) continue;
    member = parse_braces(member);
    settle_braces(member, *field, below(key, name));
  }
}
void settle(Document& d, const Schema& schema, const std::vector<Short>& shorts) {
  each_of_forms(schema, &d, nullptr, [](const Forms& forms, Document* group, Document*) {
    if (forms.settle && group) forms.settle(*group);
  });
  settle_groups(d, schema, "");
  for (auto& [from, to] : shorts) {
    auto* given = &d;  // a short form may itself be inside a group: model.checkpoint
    Document* owner = nullptr;
    std::string name, rest(from);
    while (given && !rest.empty()) {
      owner = given;
      name = first_word(rest);
      rest = rest.size() > name.size() ? rest.substr(name.size() + 1) : "";
      given = given->form == Document::Form::group ? given->find(name) : nullptr;
    }
    if (!given) continue;
    auto value = *given;
    value.written = from;
    std::erase_if(owner->members, [&](auto& m) { return m.first == name; });
    auto* place = &d;
    for (rest = to; !rest.empty();) {
      auto word = first_word(rest);
      rest = rest.size() > word.size() ? rest.substr(word.size() + 1) : "";
      check<ConfigError>(!rest.empty() || !place->find(word), value.where, ": '", from, "' and '", to,
                         "' are the same setting; give one of them");
      auto where = place->where;
      place = &place->at(word);
      if (place->form != Document::Form::group) *place = {.where = where};
    }
    *place = value;
  }
}

Document settled(const std::string& yaml, const std::string& name, const std::vector<std::string>& items,
                 const Schema& schema, const std::vector<Short>& shorts) {
  auto all = parse_yaml(yaml, name), line = parse_items(items);
  settle_braces(line, schema);
  settle(all, schema, shorts);
  settle(line, schema, shorts);
  each_of_forms(schema, &all, &line, [](const Forms& forms, Document* under, Document* above) {
    if (forms.lay_over) forms.lay_over(under, above);
  });
  drop_other_types(all, line, schema);
  lay_over(all, line);
  each_of_forms(schema, &all, nullptr, [](const Forms& forms, Document* group, Document*) {
    if (forms.finish && group) forms.finish(*group);
  });
  return all;
}
std::string text_of(const std::string& path) {
  std::error_code error;
  if (path.empty()) return {};
  auto status = std::filesystem::status(path, error);  // what cannot be seen is said where it is read
  check<ConfigError>(status.type() != std::filesystem::file_type::not_found, "no configuration file at ", path);
  check<ConfigError>(!std::filesystem::is_directory(status), path,
                     ": expected a configuration file, this is a folder");
  return read_file<ConfigError>(path);
}

std::string help(const Schema& root, const std::vector<Short>& shorts, const std::string& which) {
  std::string out;
  auto pad = [](const std::string& text, std::size_t width) {
    return text + std::string(std::max(width, text.size() + 1) - text.size(), ' ');
  };
  auto short_of = [&](const std::string& key) {
    for (auto& s : shorts)
      if (s.to == key) return " (short: " + std::string(s.from) + ")";
    return std::string();
  };
  auto line = [&](const std::string& key, const Schema& s) {
    out += "  " + pad(key, 28) + pad(s.initial.empty() ? "-" : s.initial, 9) + s.words + short_of(key) + "\n";
  };
  std::function<void(const std::vector<Schema>&, const std::string&, bool)> lines =
      [&](const std::vector<Schema>& fields, const std::string& prefix, bool shown) {
        for (auto& field : fields) {
          auto key = below(prefix, field.name);
          bool mine = shown || key == which;
          if (field.group) lines(field.fields, key, mine);
          else if (mine) line(key, field);
        }
      };
  auto full = which;
  for (auto& s : shorts)
    if (s.from == which) full = s.to;
  if (full != which) return help(root, shorts, full);
  lines(root.fields, "", which.empty());
  if (!out.empty()) return out;
  std::function<void(const Schema&, const std::string&)> types = [&](const Schema& s, const std::string& key) {
    for (auto& [type, fields] : s.types)
      if (below(key, type) == which) lines(fields, key, true);
    auto deeper = [&](const std::vector<Schema>& fields) {
      for (auto& field : fields)
        if (out.empty()) types(field, below(key, field.name));
    };
    deeper(s.fields);
    for (auto& [type, fields] : s.types) deeper(fields);
  };
  types(root, "");
  if (auto found = find(root, which); found && out.empty()) {  // of a type that is not the default
    if (found->group) lines(found->fields, which, true);
    else line(which, *found);
  }
  check<ConfigError>(!out.empty(), "no setting or group '", which, "'; ", [&] { return advice(which, root); });
  return out;
}
}  // namespace bora::config
