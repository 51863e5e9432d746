// initial.h -- the parameters that a run begins with, where init_from says so.
#pragma once
#include <string>
#include <vector>
#include "bora/job/settings.h"
#include "bora/tree/node.h"
#include "models/api/weights.h"

namespace bora::job {
/// Fills the parameters, of a model of so many tokens, from a run's checkpoint or a folder of Hugging Face's. Returns
/// lines to say. All ranks call it, and return or throw the same error.
std::vector<std::string> read_init_from(tree::Node parameters, const Settings&, std::int64_t tokens);
/// Fills parameters of a model of so many tokens, some of which are these integers, leaf by leaf: `read` fills a tree
/// of one leaf of numbers, of dtype `stored`.
void fill_leaf_by_leaf(tree::Node parameters, const Settings&, std::int64_t tokens, Dtype stored,
                       const std::vector<models::PackedLeaf>&, const std::function<void(tree::Node)>& read);
/// Sets the leaf of this path, in its dtype and split as it is. Throws ValueError if there is none.
void set_leaf(tree::Node parameters, const std::string& path, const NamedArray&);
/// Throws what that would say of names and sizes. Needs no other rank, and reads no numbers.
void check_initial(const Settings&, std::int64_t tokens);
/// Whether init_from gives all parameters their numbers, so that none needs to be drawn.
bool fills_all(const InitFromSettings&);
}  // namespace bora::job
