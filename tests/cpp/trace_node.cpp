#include "trace/node.h"

#include <gtest/gtest.h>

namespace cresset::trace {
namespace {

Value leaf(int64_t n = 4) { return {NodeFactory::input(Buffer::allocate(size_t(n) * 4), {at::kFloat, {n}}), 0}; }
Value reshape(Value v, at::DimVector sizes) { return make_value(builtin::reshape, {v}, {}, {v.type().dtype, std::move(sizes)}); }

TEST(Node, EqualPendingNodesAreOne) {
  Value x = leaf();
  EXPECT_EQ(reshape(x, {2, 2}), reshape(x, {2, 2}));
  EXPECT_NE(reshape(x, {2, 2}), reshape(x, {4, 1}));
  EXPECT_NE(reshape(x, {2, 2}), reshape(leaf(), {2, 2}));
}

TEST(Node, AttributesTellNodesApart) {
  auto constant = [](Attribute a) { return make_value(builtin::constant, {}, {std::move(a)}, {at::kFloat, {3}}); };
  Value one = constant(1.0);
  EXPECT_EQ(one, constant(1.0));
  EXPECT_NE(one, constant(int64_t(1)));
  EXPECT_NE(one, constant(true));
  EXPECT_NE(constant(0.0), constant(-0.5));
}

TEST(Node, ADeadNodeIsMadeAnew) {
  Value x = leaf();
  std::weak_ptr<Buffer> buffer = x.node->buffer();
  { Value y = reshape(x, {2, 2}); }
  Value z = reshape(x, {2, 2});
  EXPECT_EQ(z.node->operands()[0], x);
  z = {}, x = {};
  EXPECT_TRUE(buffer.expired());
}

TEST(Node, ReleasesLongChainsWithoutTheStack) {
  Value v = leaf();
  std::weak_ptr<Buffer> buffer = v.node->buffer();
  for (int i = 0; i < 500000; ++i) v = make_value(builtin::convert, {v}, {}, {i % 2 ? at::kFloat : at::kDouble, {4}});
  v = {};
  EXPECT_TRUE(buffer.expired());
}

}  // namespace
}  // namespace cresset::trace
