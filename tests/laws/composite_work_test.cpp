// The law of work over functions with NumPy's names: on a batch that is split each rank computes its rows alone.
#include "laws/batch_work.h"
#include "laws/names_driver.h"

namespace bora::laws::composite_work_test {
namespace {
TEST(CompositeWork, OnASplitBatchIsSplit) {
  std::size_t turn = 0;
  int functions = names_driver().each(Takes::steps, [&](auto& name, auto& f, auto& g) {
    bool empty = g.in.empty();
    for (auto& x : g.in) empty = empty || x.size() == 0;
    if (empty) return;
    Batched b{name, [f](const Arrays& x) { return f(x); }, types_of(g.in)};
    b.smooth = names_driver().takes(name) == Takes::smooth && std::any_of(g.in.begin(), g.in.end(), [](auto& x) {
      return floating(x) && !is_complex(x.dtype());
    });
    // A loop over all elements at once, until the last one's series ends: it would send a flag each round.
    bool meets = name.starts_with("lax::random_gamma_grad/");
    for (auto& text : broken_batches(b, turn, 29))
      if (!meets || text.find("split results") == text.npos) ADD_FAILURE() << text;
  });
  EXPECT_GT(functions, 600);
}
}  // namespace
}  // namespace bora::laws::composite_work_test
