// The geometry of a convolution, and its kernels: an implicit matrix product (convolution.cpp, its operand convolution_windows.h), for 3 x 3
// windows Winograd's (winograd.cpp, of their gradients winograd_gradient.cpp) and, for small groups, direct ones (direct.cpp; where each has one input feature, depthwise_in_place.cpp and depthwise_gradient.cpp). Of bytes,
// and of bf16 where there are tiles, whose channels are neighbours it is a product whose operands lie in memory (channels_last.cpp, band.h); depthwise ones of such images are depthwise_channels_last.cpp's.
#pragma once

#include <vector>

#include "cpu/emit/kernels.h"

namespace cresset::cpu {

/// One spatial dimension: its sizes, its strides in memory (elements), and how the window moves along it.
struct Axis {
  int64_t in = 1, window = 1, out = 1;
  int64_t in_stride = 0, window_stride = 0, out_stride = 0;
  int64_t step = 1, low = 0, dilation = 1, base_dilation = 1;
  bool reversed = false;
  int64_t out_first = 0, out_step = 1;  ///< in the whole output, of which a phase computes every so many
  int64_t reach() const { return (in - 1) * base_dilation + 1; }  ///< of the dilated input
  /// So many padded elements are touched by windows of `count` neighbouring outputs.
  int64_t extent(int64_t count) const { return (count - 1) * step + (window - 1) * dilation + 1; }
  /// Where the kernel has the weight of place i of the window.
  int64_t weight(int64_t i) const { return (reversed ? window - 1 - i : i) * window_stride; }
};

struct Geometry {
  explicit Geometry(mlir::stablehlo::ConvolutionOp op);

  llvm::SmallVector<Axis> axes;
  int64_t groups, batch_groups, images, in_features, features;  ///< features: of each group
  int64_t in_image, in_feature, out_image, out_feature, kernel_in, kernel_out;  ///< strides
  int64_t kernel_first = 0;  ///< the first element of the kernel that is used
  mlir::Type in_type, kernel_type, out_type;

  static constexpr int64_t kMostPhases = 16;  ///< each is code of its own
  /// Where the input is dilated, the outputs whose windows meet its elements at the same places: convolutions of the undilated input, if they are no more than kMostPhases.
  std::vector<Geometry> phases() const;
  /// Where much of what windows see along the first dimension is padding, as of strongly dilated ones: outputs whose windows meet the input at the same places, which are all that is left of their windows.
  std::vector<Geometry> strips() const;

  /// The last two dimensions, and the one before them, along which planes follow each other: where there are two, it has one.
  const Axis& columns() const { return axes.back(); }
  const Axis& rows() const { return axes[axes.size() - 2]; }
  Axis planes() const { return axes.size() > 2 ? axes[0] : Axis(); }

  llvm::SmallVector<int64_t> sizes(int64_t Axis::*size) const;
  /// Positions of one image of the output, places of a window.
  int64_t image_size() const { return product(sizes(&Axis::out)); }
  int64_t window_size() const { return product(sizes(&Axis::window)); }
  /// Whether the input is not.
  bool is_undilated() const {
    return llvm::all_of(axes, [](const Axis& a) { return a.base_dilation == 1; });
  }
  /// Whether the axes with these strides are one dense array.
  bool is_dense(int64_t Axis::*size, int64_t Axis::*stride) const;
};

/// Along one axis, neither dilated in the input nor reversed: the places [first, end) of the window of output `out` that meet the input, and which of its elements they see.
struct PlacesInInput {
  PlacesInInput(KernelEmitter& k, const Axis& a, IR out);
  IR element(IR place) const { return k.b.CreateSub(k.mul(place, a.dilation), above); }
  KernelEmitter& k;
  const Axis& a;
  IR above, first, end;  ///< above: so many elements before the input's first one the window begins
};

/// Which of the elements `first`, first + 1, … of a line of `size` there are; the same for load_masked.
IR lanes_within_line(KernelEmitter& k, IR first, int64_t size, int lanes);
IR mask_within_line(KernelEmitter& k, IR first, int64_t size, int lanes, mlir::Type element);

/// Takes `lanes` neighbouring positions of one feature (numbered through all groups) of one image, once each.
using StorePositions = std::function<void(IR image, IR feature, IR position, IR sum, int lanes)>;

/// Whether neither the input is dilated, nor windows are reversed, nor batches grouped.
bool is_plain(mlir::stablehlo::ConvolutionOp op);
/// Whether each channel is a group and a feature of its own.
bool is_depthwise(mlir::stablehlo::ConvolutionOp op);
/// Whether it has windows of one place that move by one.
bool is_pointwise(mlir::stablehlo::ConvolutionOp op);

/// Whether groups are so small that emit_direct does it, or emit_depthwise_in_place.
bool is_direct(const Geometry& g, const Target& target);
void emit_direct(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store);
/// Whether emit_depthwise_in_place does it, which pads nothing: some images of two dimensions and three.
bool is_depthwise_in_place(const Geometry& g, const Target& target);
void emit_depthwise_in_place(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store);
/// Whether emit_depthwise_gradient does it: the gradient of such a convolution's kernel, features first.
bool is_depthwise_gradient(const Geometry& g, const Target& target);
void emit_depthwise_gradient(KernelContext& c, const Geometry& g, IR input, IR kernel);

/// On a convolution of bf16 that emit_channels_last is to do, by tiles: as below, whose input features are whole steps of tiles and whose window has no more places than a word has bits.
inline constexpr const char* kChannelsLast = "cresset.channels_last";
inline constexpr int64_t kFeaturesOfStep = 32, kMostPlacesOfWindow = 64;
/// Whether emit_channels_last does it: of [images, …, features] by a kernel [features, …, input features], neither dilated input nor reversed, and of bf16 that are marked, or of what is converted from bytes, summed in i32 and without padding.
bool is_channels_last(mlir::stablehlo::ConvolutionOp op);
void emit_channels_last(KernelContext& c, mlir::stablehlo::ConvolutionOp op, const Geometry& g);
/// Whether it is one of [images, …, features] within each of these by a kernel [1, …, features] of floats, whose places come first, summed in f32: emit_depthwise_channels_last, for emit_channels_last.
bool is_depthwise_channels_last(mlir::stablehlo::ConvolutionOp op);
void emit_depthwise_channels_last(KernelContext& c, mlir::stablehlo::ConvolutionOp op, const Geometry& g);

/// Features and elements of a window from which on products of f32s are those of parts, by tiles: windows are packed, and split then.
inline constexpr int64_t kLeastSplitConvolution = 128;
/// Whether emit_winograd does it, and faster than the implicit product.
bool is_winograd(const Geometry& g, KernelEmitter& k);
void emit_winograd(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store);
/// Whether emit_winograd_gradient does it, faster: the gradient of such windows, features first.
bool is_winograd_gradient(const Geometry& g, KernelEmitter& k);
void emit_winograd_gradient(KernelContext& c, const Geometry& g, IR input, IR gradient);

}  // namespace cresset::cpu
