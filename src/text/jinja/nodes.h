// nodes.h -- the tree of a template. A tree is constant: several threads render it at a time.
#pragma once
#include <memory>
#include <string>
#include <vector>
#include "text/jinja/run.h"

namespace bora::text::jinja {
using ScopePtr = std::shared_ptr<Scope>;
struct Expression {
  int line = 1;
  virtual ~Expression() = default;
  Value of(Run& run, const ScopePtr& scope) const {
    Run::Deeper deeper(run);
    return result(run, scope);
  }

 protected:
  virtual Value result(Run&, const ScopePtr&) const = 0;
};
using ExpressionPtr = std::unique_ptr<Expression>;
struct Argument {
  enum class How { at, named, all, all_named } how = How::at;  // .., name=.., *.., **..
  std::string name = {};
  ExpressionPtr value;
};
using Arguments = std::vector<Argument>;
Args values_of(const Arguments&, Run&, const ScopePtr&);

template <class T> std::unique_ptr<T> made(T node) { return std::make_unique<T>(std::move(node)); }

/// How a statement ends.
enum class Flow { next, leave, again };
struct Statement {
  int line = 1;
  virtual ~Statement() = default;
  virtual Flow run(Run&, const ScopePtr&, Marked& out) const = 0;
};
using StatementPtr = std::unique_ptr<Statement>;
struct Body {
  std::vector<StatementPtr> statements;
  Flow run(Run&, const ScopePtr&, Marked& out) const;
};
/// What a value is assigned to: a name, the member of a namespace, or several of them.
struct Target {
  std::string name = {}, member = {};
  std::vector<Target> several = {};
  void set(Run&, const ScopePtr&, Value) const;
};
struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null: undefined
};
struct Callable {  // of a macro or a call block
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
};

// Expressions.
ExpressionPtr constant(Value);
ExpressionPtr variable(std::string name);
ExpressionPtr list_of(std::vector<ExpressionPtr>, bool tuple);
ExpressionPtr dict_of(std::vector<std::pair<ExpressionPtr, ExpressionPtr>>);
ExpressionPtr unary(char sign, ExpressionPtr);  // + - and ! for not
ExpressionPtr binary(std::string sign, ExpressionPtr, ExpressionPtr);  // also and, or
/// a < b < ..: signs, and `in`, `not in`.
ExpressionPtr comparison(ExpressionPtr, std::vector<std::pair<std::string, ExpressionPtr>>);
ExpressionPtr choice(ExpressionPtr test, ExpressionPtr then, ExpressionPtr otherwise);  // otherwise may be null
ExpressionPtr attribute(ExpressionPtr, std::string name);
ExpressionPtr item(ExpressionPtr, ExpressionPtr key);
ExpressionPtr slice(ExpressionPtr, ExpressionPtr from, ExpressionPtr to, ExpressionPtr step);  // each may be null
ExpressionPtr call(ExpressionPtr, Arguments);
/// x: null in a filter block, whose text it is.
ExpressionPtr filtered(ExpressionPtr x, const std::string& name, Arguments);
ExpressionPtr tested(ExpressionPtr, const std::string& name, Arguments, bool negated);
/// The text of a filter block, for the filters upon it.
ExpressionPtr block_text();

// Statements.
StatementPtr data(std::string text);
StatementPtr output(ExpressionPtr);
struct Branch {
  ExpressionPtr test;  // null: else
  Body body;
};
StatementPtr choose(std::vector<Branch>);
struct Loop {
  Target target;
  ExpressionPtr items, filter;  // the filter may be null
  Body body, otherwise;
  bool recursive = false;
};
StatementPtr loop(Loop);
StatementPtr leave(Flow);
StatementPtr assign(Target, ExpressionPtr);
StatementPtr assign_block(Target, ExpressionPtr filters, Body);
StatementPtr filter_block(ExpressionPtr filters, Body);
StatementPtr with_block(std::vector<std::pair<Target, ExpressionPtr>>, Body);
StatementPtr generation(Body);
StatementPtr macro(Callable);
StatementPtr call_block(ExpressionPtr call, Callable);
/// Calls a call with one more argument by name.
Value call_with(const Expression& call, Run&, const ScopePtr&, const std::string& name, Value);

/// Throws ValueError "LINE: ..".
Body parse(std::string_view source);
}  // namespace bora::text::jinja
