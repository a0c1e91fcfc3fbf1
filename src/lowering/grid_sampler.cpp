// Sampling of images at positions that are values: of each corner of a position's cell one pixel is taken, in all channels.
#include "generated/lowerings.h"

namespace cresset::lowering::aten {
namespace {

enum Padding { Zeros, Border, Reflection };

// Positions [images, positions] along one dimension of the image, and how they grow with the grid's values.
struct Axis {
  int64_t size;
  Value position, slope;
};

Axis axis_of(Builder& b, Value grid, int64_t which, int64_t size, int64_t padding, bool align_corners) {
  auto shape = shape_of(grid);
  Value c = b.reshape(b.slice(grid, 3, which, which + 1), {shape[0], shape[1] * shape[2]}), x, slope;
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
    x = b.select(b.compare(Direction::GT, x, zero), b.min(x, last), zero);  // what is no number counts as 0
  }
  return {size, x, slope};
}

// A pixel of the image near each position: how much it counts, and how that grows along x and y.
struct Corner {
  Value pixel, inside, weight, along_x, along_y;
};

std::vector<Corner> corners_of(Builder& b, const Axis& x, const Axis& y, bool nearest) {
  mlir::Type i32 = b.ops.getI32Type();
  auto corner = [&](Value px, Value py) {
    auto within = [&](Value p, int64_t size) { return b.logical_and(b.compare(Direction::GE, p, b.like(0, p)), b.compare(Direction::LE, p, b.like(double(size - 1), p))); };
    auto whole = [&](Value p, int64_t size) { return b.convert(b.min(b.max(p, b.like(0, p)), b.like(double(size - 1), p)), i32); };
    Value pixel = b.add(b.mul(whole(py, y.size), b.constant(c10::Scalar(x.size), i32, shape_of(py))), whole(px, x.size));
    return Corner{pixel, b.logical_and(within(px, x.size), within(py, y.size)), {}, {}, {}};
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

// [n, c, h, w] as [n, c, h·w]
Value in_lines(Builder& b, Value v) {
  auto s = shape_of(v);
  return b.reshape(b.upcast(v), {s[0], s[1], s[2] * s[3]});
}
// Of [images, positions] in each channel.
Value in_channels(Builder& b, Value v, Value like) { return b.broadcast(v, shape_of(like), {0, 2}); }

// The corner's pixels of images in lines, some others where it lies outside.
Value taken(Builder& b, Value images, const Corner& c) {
  Dims shape(shape_of(images));
  shape[2] = shape_of(c.pixel)[1];
  auto numbers = hlo::GatherDimensionNumbersAttr::get(b.ops.getContext(), {1}, {2}, {0}, {0}, {2}, 2);
  return b.create<hlo::GatherOp>(mlir::RankedTensorType::get(shape, element_of(images)), images, c.pixel, numbers, b.ops.getDenseI64ArrayAttr({1, shape[1], 1}), b.ops.getBoolAttr(false));
}

// The same for rows of channels, of the positions of all images.
Value rows_of(Builder& b, Value images) {
  auto s = shape_of(images);
  return b.reshape(b.transpose(images, {0, 2, 1}), {s[0] * s[2], s[1]});
}
Value in_rows(Builder& b, Value v, Value like) { return b.broadcast(b.flat(v), shape_of(like), {0}); }
Value where_inside(Builder& b, const Corner& c, Value rows) { return b.select(in_rows(b, c.inside, rows), rows, b.like(0, rows)); }
// The row of the corner's pixel among those of all images.
Value row_of(Builder& b, const Corner& c, int64_t pixels) {
  mlir::Type i64 = b.ops.getI64Type();
  auto shape = shape_of(c.pixel);
  Value image = b.mul(b.iota(0, shape, i64), b.constant(c10::Scalar(pixels), i64, shape));
  return b.flat(b.add(image, b.convert(c.pixel, i64)));
}

struct Sampling {
  Axis x, y;
  std::vector<Corner> corners;
  Sampling(Builder& b, Value input, Value grid, int64_t interpolation, int64_t padding, bool align_corners)
      : x(axis_of(b, b.upcast(grid), 0, shape_of(input)[3], padding, align_corners)), y(axis_of(b, b.upcast(grid), 1, shape_of(input)[2], padding, align_corners)),
        corners(corners_of(b, x, y, interpolation == 1)) {}
};

}  // namespace

Value grid_sampler_2d(Builder& b, Value input, Value grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners) {
  Sampling s(b, input, grid, interpolation_mode, padding_mode, align_corners);
  Value images = in_lines(b, input), sum;
  for (const Corner& c : s.corners) {
    // Nothing of what lies outside, not even if it is infinite: its weight says so. A weight that is no number counts.
    Value counts = b.logical_or(c.inside, b.compare(Direction::NE, c.weight, c.weight));
    Value v = taken(b, images, c), weight = in_channels(b, b.select(counts, c.weight, b.like(-1, c.weight)), v);
    v = b.select(b.compare(Direction::LT, weight, b.like(0, weight)), b.like(0, v), b.mul(v, weight));
    sum = sum ? b.add(sum, v) : v;
  }
  return b.convert(b.reshape(sum, b.result_shape()), b.result_element());
}

Values grid_sampler_2d_backward(Builder& b, Value grad_output, Value input, Value grid, int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                                const std::vector<bool>& output_mask) {
  Sampling s(b, input, grid, interpolation_mode, padding_mode, align_corners);
  Value images = in_lines(b, input), pixels = rows_of(b, images), g = rows_of(b, in_lines(b, grad_output)), along_x, along_y;
  Values rows, updates, results(2);
  for (const Corner& c : s.corners) {
    rows.push_back(row_of(b, c, shape_of(images)[2]));
    updates.push_back(where_inside(b, c, b.mul(g, in_rows(b, c.weight, g))));
    Value product = b.sum(b.mul(where_inside(b, c, b.take(pixels, rows.back(), 0)), g), {1}), dx = b.mul(product, b.flat(c.along_x)), dy = b.mul(product, b.flat(c.along_y));
    along_x = along_x ? b.add(along_x, dx) : dx, along_y = along_y ? b.add(along_y, dy) : dy;
  }
  if (output_mask[0]) {
    auto shape = shape_of(images);
    Value sum = b.scatter_rows(b.like(0, pixels), b.concatenate(rows, 0), b.concatenate(updates, 0), true);
    sum = b.transpose(b.reshape(sum, {shape[0], shape[2], shape[1]}), {0, 2, 1});
    results[0] = b.convert(b.reshape(sum, shape_of(input)), b.result_element(0));
  }
  int64_t n = type_of(along_x).getNumElements();
  Value both = b.concatenate({b.reshape(b.mul(along_x, b.flat(s.x.slope)), {n, 1}), b.reshape(b.mul(along_y, b.flat(s.y.slope)), {n, 1})}, 1);
  results[1] = b.as_result(both, 1);
  return results;
}

}  // namespace cresset::lowering::aten
