// The page that lists the passes has the rows of their table.
#include "compile/passes/pass_list.h"
#include "support/places.h"
#include <gtest/gtest.h>
#include <fstream>
#include <iterator>

namespace bora::pass_list_test {
namespace {
TEST(PassList, IsTheTableOfTheArchitecturePage) {
  std::ifstream file(test::source_dir() + "/docs/architecture.md");
  std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find(exec::pass_table()), std::string::npos) << "docs/architecture.md must hold\n"
                                                              << exec::pass_table();
}
}  // namespace
}  // namespace bora::pass_list_test
