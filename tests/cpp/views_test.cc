// Every operation over views of every pattern: right, the same bits whether operands lie in memory or are handed over in
// pieces, and nothing read or written beyond them (under AddressSanitizer).
#include <gtest/gtest.h>

#include <cmath>

#include "view_cases.h"
#include "view_reference.h"

namespace layernorm::test {
namespace {

class Views : public testing::TestWithParam<unsigned> {};

TEST_P(Views, AreNormalizedRightInMemoryAndInPieces) {
  for (unsigned i = 0; i < 250; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case direct = make_case(seed);
    ASSERT_EQ(check(direct.call), Status::ok) << "seed " << seed;
    run(direct.call);
    const std::vector<double> expected = reference(direct);
    const std::vector<double> y = direct.values(Operand::y, direct.call.dtype);
    for (size_t k = 0; k < y.size(); ++k) {
      const double scale = std::max(1.0, std::fabs(expected[k])) * 64;
      ASSERT_NEAR(y[k], expected[k], tolerance(direct.call.dtype) * scale) << "seed " << seed << ", element " << k;
    }

    Case pieces = make_case(seed);
    Pieces transfer(pieces);
    Call& call = pieces.call;
    call.transfer = &transfer;
    for (const auto& [operand, bytes] : pieces.memory) call.remote[static_cast<size_t>(operand)] = true;
    for (Parameter& parameter : call.parameters) parameter.data = nullptr;
    call.x = nullptr;
    call.y = call.sum = nullptr;
    call.mean = call.rstd = nullptr;
    run(call);
    ASSERT_EQ(pieces.memory, direct.memory) << "seed " << seed;
  }
}

TEST_P(Views, AreNormalizedInPartsByTheSameBits) {
  for (unsigned i = 0; i < 250; ++i) {
    const unsigned seed = GetParam() * 1000 + i;
    Case whole = make_case(seed);
    run(whole.call);
    for (const size_t most : {2, 3, 16}) {
      Case split = make_case(seed);
      const size_t parts = count_parts(split.call, most);
      ASSERT_LE(parts, most);
      for (size_t part = parts; part-- > 0;) run_part(split.call, part, parts, nullptr);
      ASSERT_EQ(split.memory, whole.memory) << "seed " << seed << ", " << parts << " parts";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Views, testing::Range(0U, 8U));

}  // namespace
}  // namespace layernorm::test
