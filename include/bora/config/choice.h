// choice.h -- a setting that is one of several aggregates: `type` in a document says which, the other keys are the
// aggregate's fields. An interface has a registry; an aggregate joins it by one line beside its definition:
//   const auto row = config::add<OptimizerOf<AdamW>>();
#pragma once
#include <algorithm>
#include <memory>
#include "bora/config/config.h"

namespace bora::config {
/// The part of every interface that settings need.
class Chosen {
 public:
  virtual ~Chosen() = default;
  virtual std::string_view type() const = 0;
  virtual void read_fields(const Document&, const std::string& key, const Schema& root) = 0;
  virtual Document write_fields() const = 0;
  virtual void check_fields(const std::string& key) const = 0;
  virtual Schema explain_fields() const = 0;
};
/// The implementation of Interface by the aggregate T, whose `static constexpr std::string_view type` is its word. An
/// interface's template OfT<T> derives from Of<T, Interface> and forwards its own functions to `fields`. The fields of
/// an aggregate `common` of the interface stand beside those of every T.
template <class T, class I> class Of : public I {
  static constexpr bool shares = requires(I& i) { i.common; };

 public:
  using Fields = T;
  using Interface = I;
  Of() = default;
  explicit Of(T x) : fields(std::move(x)) {}
  std::string_view type() const final { return T::type; }
  void read_fields(const Document& d, const std::string& key, const Schema& root) final {
    if constexpr (shares) {
      auto own = d, shared = d;
      auto is_shared = [&](auto& member) {
        bool found = false;
        bora::fields::for_each(this->common, [&](std::string_view f, auto&) { found = found || f == member.first; });
        return found;
      };
      std::erase_if(own.members, is_shared);
      std::erase_if(shared.members, [&](auto& member) { return !is_shared(member); });
      read(shared, this->common, key, root);
      read(own, fields, key, root);
    } else read(d, fields, key, root);
  }
  Document write_fields() const final {
    auto d = write(fields);
    if constexpr (shares)
      for (auto& member : write(this->common).members) d.members.push_back(member);
    return d;
  }
  void check_fields(const std::string& key) const final {
    check_all(fields, key);
    if constexpr (shares) check_all(this->common, key);
  }
  Schema explain_fields() const final {
    auto s = schema(fields);
    if constexpr (shares)
      for (auto& field : schema(this->common).fields) s.fields.push_back(field);
    return s;
  }
  T fields = {};
};
/// A type's word, and how to make one with its defaults.
template <class Interface> struct Row {
  std::string_view type;
  std::shared_ptr<Interface> (*make)(const Interface* from);  // null: defaults
};
/// All types of an interface, by their words.
template <class Interface> std::vector<Row<Interface>>& rows() {
  static std::vector<Row<Interface>> all;
  return all;
}
/// Adds OfT, an Of<T, Interface>, to the registry of its interface.
template <class OfT> bool add() {
  using Interface = typename OfT::Interface;
  auto& all = rows<Interface>();
  Row<Interface> row{OfT::Fields::type, [](const Interface* from) -> std::shared_ptr<Interface> {
                       return from ? std::make_shared<OfT>(static_cast<const OfT&>(*from)) : std::make_shared<OfT>();
                     }};
  all.insert(std::upper_bound(all.begin(), all.end(), row, [](auto& a, auto& b) { return a.type < b.type; }), row);
  return true;
}
/// Throws ConfigError: no type of this word; names the nearest and lists all.
[[noreturn]] void unknown_type(const Document& d, const std::string& key, const std::string& word,
                               const std::vector<std::string>& known);

/// One of the registry's aggregates, by value.
template <class I> class Choice {
 public:
  using Interface = I;
  Choice() : Choice(I::initial) {}
  /// ValueError if the registry has no such type.
  Choice(std::string_view type) {
    auto found = row(type);
    bora::check<ValueError>(found != nullptr, "there is no type '", type, "'");
    held_ = found->make(nullptr);
  }
  template <class T>
    requires requires { T::type; }
  Choice(T fields) : Choice(T::type) {
    *as<T>() = std::move(fields);
  }
  Choice(const char* type) : Choice(std::string_view(type)) {}
  Choice(const Choice& other) : held_(row(other->type())->make(other.held_.get())) {}
  Choice(Choice&&) noexcept = default;
  Choice& operator=(Choice other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  const I* operator->() const { return held_.get(); }
  const I& operator*() const { return *held_; }
  I& edit() { return *held_; }
  /// The aggregate, if it is a T; else null.
  template <class T> T* as() {
    auto held = dynamic_cast<Of<T, I>*>(held_.get());
    return held ? &held->fields : nullptr;
  }
  template <class T> const T* as() const { return const_cast<Choice*>(this)->as<T>(); }

  void read(const Document& d, const std::string& key, const Schema& root) {
    if (d.form == Document::Form::null) return;
    if (d.form == Document::Form::scalar) return choose(d, key, d.text);
    if (d.form != Document::Form::group) wrong_type(d, key, "a type, or keys below it");
    if (auto type = d.find("type")) {
      if (type->form != Document::Form::scalar) wrong_type(*type, below(key, "type"), "a word");
      choose(*type, below(key, "type"), type->text);
    }
    auto rest = d;
    std::erase_if(rest.members, [](auto& m) { return m.first == "type"; });
    held_->read_fields(rest, key, root);
  }
  Document write() const {
    auto d = held_->write_fields();
    d.members.insert(d.members.begin(), {"type", scalar(std::string(held_->type()))});
    return d;
  }
  void check(const std::string& key) const { held_->check_fields(key); }
  void explain(Schema& s) const {
    s.group = true;
    s.named = "type";
    if constexpr (requires { I::named; }) s.named = I::named;
    std::string words;
    for (auto& r : rows<I>()) {
      s.types.emplace_back(r.type, (r.type == held_->type() ? *held_ : *r.make(nullptr)).explain_fields().fields);
      words += (words.empty() ? "" : ", ") + std::string(r.type);
    }
    s.fields = held_->explain_fields().fields;
    s.fields.insert(s.fields.begin(), Schema{"type", words, std::string(held_->type())});
  }

 private:
  static const Row<I>* row(std::string_view type) {
    for (auto& r : rows<I>())
      if (r.type == type) return &r;
    return nullptr;
  }
  void choose(const Document& d, const std::string& key, const std::string& word) {
    if (word == held_->type()) return;
    auto found = row(word);
    if (!found) {
      std::vector<std::string> known;
      for (auto& r : rows<I>()) known.emplace_back(r.type);
      unknown_type(d, key, word, known);
    }
    held_ = found->make(nullptr);
  }
  std::shared_ptr<I> held_;
};
}  // namespace bora::config
