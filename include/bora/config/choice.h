// choice.h -- a setting that is one of several aggregates: `type` in a document says which, the other keys are the
// aggregate's fields. An interface has a registry; an aggregate joins it by one line in its source, outside of the
// namespaces below bora:
//   template const bool bora::config::added<bora::optim::OptimizerOf<bora::optim::AdamW>>;
#pragma once
#include <memory>
#include <typeinfo>
#include "bora/config/config.h"

namespace bora::config {
class Chosen;
/// A type's word, and how to make one with its defaults.
struct Row {
  std::string_view type;
  std::shared_ptr<Chosen> (*make)(const Chosen* from);  // null: defaults
};
namespace detail {
std::vector<Row>& rows(const std::type_info& interface);
bool add(const std::type_info& interface, const Row&);
}  // namespace detail
/// All types of an interface, by their words.
template <class I> const std::vector<Row>& rows() { return detail::rows(typeid(I)); }

/// The part of every interface that settings need.
class Chosen {
 public:
  virtual ~Chosen() = default;
  virtual std::string_view type() const = 0;
  void read_fields(const Document&, const std::string& key, const Schema& root);
  Document write_fields() const;
  void check_fields(const std::string& key) const;
  Schema explain_fields() const;

 protected:
  /// The aggregate, and the one that it shares with all others of the interface; null without one.
  struct Parts {
    const void* own;
    const Kind* kind;
    const void* common = nullptr;
    const Kind* common_kind = nullptr;
  };
  struct Family {
    const std::vector<Row>* rows;
    std::string_view named;  // the field that a text sets
    const Forms* forms = nullptr;
  };
  virtual Parts parts() const = 0;
  virtual Family family() const = 0;
  friend class AnyChoice;
};
/// The implementation of Interface by the aggregate T, whose `static constexpr std::string_view type` is its word. An
/// interface's template OfT<T> derives from Of<T, Interface> and forwards its own functions to `fields`. The fields of
/// an aggregate `common` of the interface stand beside those of every T.
template <class T, class I> class Of : public I {
 public:
  using Fields = T;
  using Interface = I;
  Of() = default;
  explicit Of(T x) : fields(std::move(x)) {}
  std::string_view type() const final { return T::type; }
  T fields = {};

 private:
  Chosen::Parts parts() const final {
    if constexpr (requires(const I& i) { i.common; })
      return {&fields, &kind<T>(), &this->common, &kind<std::remove_cvref_t<decltype(this->common)>>()};
    else return {&fields, &kind<T>()};
  }
  Chosen::Family family() const final {
    Chosen::Family family{&rows<I>(), "type"};
    if constexpr (requires { I::named; }) family.named = I::named;
    if constexpr (requires { I::forms; }) family.forms = &I::forms;
    return family;
  }
};
/// Adds OfT, an Of<T, Interface>, to the registry of its interface.
template <class OfT> bool add() {
  return detail::add(typeid(typename OfT::Interface),
                     {OfT::Fields::type, [](const Chosen* from) -> std::shared_ptr<Chosen> {
                        return from ? std::make_shared<OfT>(static_cast<const OfT&>(*from)) : std::make_shared<OfT>();
                      }});
}
/// An explicit instantiation adds OfT at start-up. It needs no name of its own, so that files can be compiled together.
template <class OfT> inline const bool added = add<OfT>();
/// Throws ConfigError: no type of this word; names the nearest and lists all.
[[noreturn]] void unknown_type(const Document& d, const std::string& key, const std::string& word,
                               const std::vector<std::string>& known);

/// A Choice of any interface.
class AnyChoice {
 public:
  void read(const Document& d, const std::string& key, const Schema& root);
  Document write() const;
  void check(const std::string& key) const;
  void explain(Schema& s) const;

 protected:
  /// ValueError if the registry has no such type.
  AnyChoice(const std::vector<Row>& rows, std::string_view type);
  AnyChoice(const AnyChoice&);
  AnyChoice(AnyChoice&&) noexcept = default;
  AnyChoice& operator=(const AnyChoice& other) { return *this = AnyChoice(other); }
  AnyChoice& operator=(AnyChoice&&) noexcept = default;
  ~AnyChoice() = default;
  std::shared_ptr<Chosen> held_;

 private:
  void choose(const Document& d, const std::string& key, const std::string& word);
};
/// One of the registry's aggregates, by value. To hold it, copy it and pass it on, a declaration of I is enough.
template <class I> class Choice : public AnyChoice {
 public:
  using Interface = I;
  Choice() : Choice(I::initial) {}
  /// ValueError if the registry has no such type.
  Choice(std::string_view type) : AnyChoice(rows<I>(), type) {}
  template <class T>
    requires requires { T::type; }
  Choice(T fields) : Choice(T::type) {
    *as<T>() = std::move(fields);
  }
  Choice(const char* type) : Choice(std::string_view(type)) {}
  const I* operator->() const { return static_cast<const I*>(held_.get()); }
  const I& operator*() const { return static_cast<const I&>(*held_); }
  I& edit() { return static_cast<I&>(*held_); }
  /// The aggregate, if it is a T; else null.
  template <class T> T* as() {
    auto held = dynamic_cast<Of<T, I>*>(held_.get());
    return held ? &held->fields : nullptr;
  }
  template <class T> const T* as() const { return const_cast<Choice*>(this)->as<T>(); }
};
}  // namespace bora::config
