// Sampling of images at positions that are values: pixels are rows of channels, which each corner of a position's cell takes one of.
#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

enum Padding { Zeros, Border, Reflection };

// Positions along one dimension of the image, and how they grow with the grid's values.
struct Axis {
  int64_t size;
  Value position, slope;
};

Axis axis_of(Builder& b, Value grid, int64_t which, int64_t size, int64_t padding, bool align_corners) {
  int64_t n = type_of(grid).getNumElements() / 2;
  Value c = b.reshape(b.slice(grid, 3, which, which + 1), {n}), x, slope;
  double scale = align_corners ? double(size - 1) / 2 : double(size) / 2;
  x = b.mul(b.add(c, 1), scale);
  if (!align_corners) x = b.add(x, -0.5);
  slope = b.like(scale, x);
  Value zero = b.like(0, x);
  auto negated_where = [&](Value p, Value v) { return b.select(p, b.neg(v), v); };
  if (padding == Reflection) {
    double low = align_corners ? 0 : -0.5, span = align_corners ? double(size - 1) : double(size);
    if (span == 0) return {size, zero, zero};
    Value from = b.add(x, -low), distance = b.abs(from);
    Value extra = b.create<hlo::RemOp>(distance, b.like(span, x));
    Value half = b.mul(b.floor(b.mul(distance, 1 / span)), 0.5), odd = b.compare(Direction::NE, half, b.floor(half));
    slope = negated_where(b.compare(Direction::LT, from, zero), negated_where(odd, slope));
    x = b.add(b.select(odd, b.sub(b.like(span, x), extra), extra), low);
  }
  if (padding != Zeros) {
    Value last = b.like(double(size - 1), x), inside = b.logical_and(b.compare(Direction::GT, x, zero), b.compare(Direction::LT, x, last));
    slope = b.select(inside, slope, zero);
    x = b.min(b.max(x, zero), last);
  }
  return {size, x, slope};
}

// A pixel near each position: how much it counts, and how that grows along x and y.
struct Corner {
  Value row, inside, weight, along_x, along_y;
};

std::vector<Corner> corners_of(Builder& b, const Axis& x, const Axis& y, int64_t batch, bool nearest) {
  int64_t n = shape_of(x.position)[0];
  mlir::Type i64 = b.ops.getI64Type();
  Value image = b.mul(b.div(b.iota(0, {n}, i64), b.constant(c10::Scalar(std::max<int64_t>(n / std::max<int64_t>(batch, 1), 1)), i64, {n})), b.constant(c10::Scalar(x.size * y.size), i64, {n}));
  auto corner = [&](Value px, Value py) {
    auto within = [&](Value p, int64_t size) { return b.logical_and(b.compare(Direction::GE, p, b.like(0, p)), b.compare(Direction::LE, p, b.like(double(size - 1), p))); };
    auto whole = [&](Value p, int64_t size) { return b.convert(b.min(b.max(p, b.like(0, p)), b.like(double(size - 1), p)), i64); };
    Value row = b.add(b.mul(whole(py, y.size), b.constant(c10::Scalar(x.size), i64, {n})), whole(px, x.size));
    return Corner{b.add(image, row), b.logical_and(within(px, x.size), within(py, y.size)), {}, {}, {}};
  };
  if (nearest) {
    auto round = [&](Value p) -> Value { return b.create<hlo::RoundNearestEvenOp>(p); };
    Corner only = corner(round(x.position), round(y.position));
    only.weight = b.like(1, x.position), only.along_x = only.along_y = b.like(0, x.position);
    return {only};
  }
  Value left = b.floor(x.position), top = b.floor(y.position), one = b.like(1, left);
  std::vector<Corner> corners;
  for (bool lower : {false, true})
    for (bool right : {false, true}) {
      Corner c = corner(right ? b.add(left, 1) : left, lower ? b.add(top, 1) : top);
      Value fx = b.sub(x.position, left), fy = b.sub(y.position, top);
      Value wx = right ? fx : b.sub(one, fx), wy = lower ? fy : b.sub(one, fy);
      c.weight = b.mul(wx, wy), c.along_x = right ? wy : b.neg(wy), c.along_y = lower ? wx : b.neg(wx);
      corners.push_back(c);
    }
  return corners;
}

// [n, c, h, w] as [n·h·w, c], and back.
Value rows_of(Builder& b, Value v) {
  auto s = shape_of(v);
  return b.reshape(b.transpose(b.upcast(v), {0, 2, 3, 1}), {s[0] * s[2] * s[3], s[1]});
}
Value images_of(Builder& b, Value rows, llvm::ArrayRef<int64_t> s) { return b.transpose(b.reshape(rows, {s[0], s[2], s[3], s[1]}), {0, 3, 1, 2}); }

// Of rows that lie outside, zeros, whatever stands in the row that is taken for them.
Value where_inside(Builder& b, const Corner& c, Value rows) { return b.select(b.broadcast(c.inside, shape_of(rows), {0}), rows, b.like(0, rows)); }

struct Sampling {
  Axis x, y;
  std::vector<Corner> corners;
  Sampling(Builder& b, Value input, Value grid, int64_t interpolation, int64_t padding, bool align_corners)
      : x(axis_of(b, b.upcast(grid), 0, shape_of(input)[3], padding, align_corners)), y(axis_of(b, b.upcast(grid), 1, shape_of(input)[2], padding, align_corners)),
        corners(corners_of(b, x, y, shape_of(input)[0], interpolation == 1)) {}
};

}  // namespace

Value grid_sampler_2d(Builder& b, Value input, Value grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  Sampling s(b, input, grid, interpolation_mode, padding_mode, align_corners);
  Value pixels = rows_of(b, input), sum;
  for (const Corner& c : s.corners) {
    Value v = where_inside(b, c, b.take(pixels, c.row, 0));
    v = b.mul(v, b.broadcast(c.weight, shape_of(v), {0}));
    sum = sum ? b.add(sum, v) : v;
  }
  return b.convert(images_of(b, sum, b.result_shape()), b.result_element());
}

Values grid_sampler_2d_backward(Builder& b, Value grad_output, Value input, Value grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                                const std::vector<bool>& output_mask) {
  Sampling s(b, input, grid, interpolation_mode, padding_mode, align_corners);
  Value pixels = rows_of(b, input), g = rows_of(b, grad_output), along_x, along_y;
  Values rows, updates, results(2);
  for (const Corner& c : s.corners) {
    rows.push_back(c.row);
    updates.push_back(where_inside(b, c, b.mul(g, b.broadcast(c.weight, shape_of(g), {0}))));
    Value product = b.sum(b.mul(where_inside(b, c, b.take(pixels, c.row, 0)), g), {1}), dx = b.mul(product, c.along_x), dy = b.mul(product, c.along_y);
    along_x = along_x ? b.add(along_x, dx) : dx, along_y = along_y ? b.add(along_y, dy) : dy;
  }
  if (output_mask[0]) {
    Value sum = b.scatter_rows(b.like(0, pixels), b.concatenate(rows, 0), b.concatenate(updates, 0), true);
    results[0] = b.convert(images_of(b, sum, shape_of(input)), b.result_element(0));
  }
  int64_t n = shape_of(along_x)[0];
  Value both = b.concatenate({b.reshape(b.mul(along_x, s.x.slope), {n, 1}), b.reshape(b.mul(along_y, s.y.slope), {n, 1})}, 1);
  results[1] = b.as_result(both, 1);
  return results;
}

}  // namespace cresset::lowering::aten
