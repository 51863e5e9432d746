// initial.h -- the parameters that a run begins with, where init_from says so.
#pragma once
#include <string>
#include <vector>
#include "bora/job/settings.h"
#include "bora/tree/node.h"

namespace bora::job {
/// Fills the parameters, of a model of so many tokens, from a run's checkpoint or a folder of Hugging Face's. Returns
/// lines to say. All ranks call it, and return or throw the same error.
std::vector<std::string> read_init_from(tree::Node parameters, const Settings&, std::int64_t tokens);
/// Throws what that would say of names and sizes. Needs no other rank, and reads no numbers.
void check_initial(const Settings&, std::int64_t tokens);
/// Whether init_from gives all parameters their numbers, so that none needs to be drawn.
bool fills_all(const InitFromSettings&);
}  // namespace bora::job
