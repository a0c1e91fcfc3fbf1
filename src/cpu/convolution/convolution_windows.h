// The windows of a convolution as B of an implicit matrix product, and the ways of packing panels of it straight from the input.
#pragma once

#include "cpu/convolution/convolution.h"
#include "cpu/matmul/panels.h"

namespace cresset::cpu {

/// B[window, positions] of each group: positions of the output are numbered through all images, elements of a window through all channels. Says where these lie
/// in the input and reads vectors of them. What lies in the padding is masked, so the input itself is never padded.
class Windows {
 public:
  /// `pairs`: products are of pairs of bf16.
  Windows(KernelEmitter& k, const Geometry& g, IR input, bool pairs);

  /// Whether each column is one place in each channel.
  bool is_pointwise() const;

 protected:
  /// A vector of positions: where their windows begin.
  struct Lanes {
    IR n;                 ///< the first
    IR exists, image;     ///< which there are, offsets of their images
    IRs origin;           ///< in the dilated, unpadded input
    IR inside = nullptr;  ///< whether all of all windows lies in the image
    IR run = nullptr;     ///< whether those that there are lie as far apart as neighbours in a row
    IR offset = nullptr;  ///< of each lane's window
    IR first = nullptr;   ///< and of the first one's
  };
  Lanes lanes_at(IR group, IR n, int lanes) const;

  /// An element of the input as an offset.
  IR pixel(IR group, IR channel, IR n) const;
  IR element_of_window(IR group, IR k, IR n) const;
  IR channel_base(IR group, IR channel) const;

  /// Whether positions n … n + lanes - 1 (as far as they exist) belong to one image.
  IR within_image(IR n, int64_t lanes) const;
  /// Whether positions n … n + count - 1 of a panel of `width` exist and belong to one image. The last panel may have whole vectors beyond the last position.
  IR all_within_image(IR n, int64_t count, int64_t width) const;

  /// Whether neighbouring positions, or places of the window, read neighbouring elements: they are one apart, and a row ends where the input's does.
  bool is_flat(int64_t Axis::*row = &Axis::out, int64_t Axis::*step = &Axis::step) const;
  /// Whether windows move by a few, and some vectors of them may lie inside the image.
  bool can_be_inside() const;

  /// Whether lanes in one row, some elements apart, are read as whole vectors, of which lanes are kept, instead of a gather.
  bool reads_lanes(int64_t Axis::*step) const;
  /// For each of the vectors that are read.
  IRs spread_masks(IR valid, int64_t step) const;
  /// Whether the lanes of each vector read the end of one row and the beginning of another, wherever that is.
  bool reads_two_rows(int64_t Axis::*row, int64_t Axis::*step, int lanes) const;
  /// The lanes that are neighbours of the first one, and those of the last one.
  IRs masks_of_rows(IR valid, IR offset, int lanes, int64_t step) const;
  IR load_two_rows(IR base, IR first, IR last, llvm::ArrayRef<IR> masks, int lanes, int64_t step) const;
  /// 0 elsewhere. Lanes that are gathered are valid offsets before and valid elements after: outside the image the first one is read and thrown away.
  IR where(IR valid, IR v) const;
  /// Where products are of pairs, what is not packed as such is packed as it lies, and paired then.
  IR convert(IR v) const { return k_.widened(g_.in_type, v, packed_); }
  void put(IR v, IR panel, IR at) const { b_.CreateAlignedStore(convert(v), b_.CreateInBoundsGEP(packed_, panel, at), llvm::Align(4)); }

  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  IR input_;
  mlir::Type read_;     ///< as which an element of the input is read,
  llvm::Type* packed_;  ///< and as which panels hold it until they are paired
  llvm::SmallVector<int64_t> window_, positions_;
  int64_t image_size_, window_size_;
};

/// The ways of packing panels of B. Each sets in the spec what it needs.
void pack_pixels(const Windows& windows, MatmulSpec& spec);   ///< of windows that are pointwise
void pack_windows(const Windows& windows, MatmulSpec& spec);  ///< any, by vectors of positions at one place of the window
void pack_pairs(const Windows& windows, MatmulSpec& spec);    ///< of bf16, neighbours along K, of an input that is not dilated
/// Of windows along a line that move by one, in f32: rows of panels that overlap. Each image is a batch of its own, behind those of its group.
bool is_line(const Geometry& g, KernelEmitter& k);
void pack_lines(const Windows& windows, MatmulSpec& spec);
/// Vectors along the window, which is longer than the row of positions: the gradient of a kernel.
bool is_large_window(const Geometry& g);
void pack_large_windows(const Windows& windows, MatmulSpec& spec);

}  // namespace cresset::cpu
