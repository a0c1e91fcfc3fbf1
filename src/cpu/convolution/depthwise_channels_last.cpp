// Depthwise convolution of images whose channels are neighbours: vectors lie along the channels. The positions of a tile, neighbours in a row, share what is read of the input, and converted if
// these are bytes, whose sums are exact. Of a window only the lines that meet the input are walked; what its columns find beyond the ends of a line is read elsewhere.
#include "cpu/convolution/convolution.h"

#include "cpu/fusion.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

class DepthwiseChannelsLast {
 public:
  DepthwiseChannelsLast(KernelContext& c, ConvolutionOp op, const Geometry& g)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), x_(g.columns()), lanes_(c.k.target.lanes), count_(positions_of_tile()), sums_(c.kernel.reserve(count_ * kChannels * 4)) {
    Value image = op.getLhs();
    if (auto less = less_number(image); less && !c.slots.find(image)) zero_ = less->number, image = less->bytes;
    auto convert = image.getDefiningOp<ConvertOp>();
    if (convert && !c.slots.find(image)) image = convert.getOperand();
    type_ = element(image), input_ = c.buffer(image), kernel_ = c.buffer(op.getRhs());
  }

  void run() {
    SmallVector<int64_t> places{g_.images};
    for (const Axis& a : lines()) places.push_back(a.out);
    places.push_back(ceil_div(x_.out, count_));
    c_.kernel.tasks = product(places);
    c_.kernel.cost = double(g_.images * g_.image_size() * g_.groups) * (1 + 0.5 * double(g_.window_size()));
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      at_ = place_of_task(k_, places, task);
      IR first = k_.mul(at_.back().base, count_);
      if (k_.divides(count_, x_.out)) return tile(first, count_);
      k_.either(b_.CreateICmpSLE(k_.add(first, k_.i64(count_)), k_.i64(x_.out)), [&] { tile(first, count_); }, [&] {
        if (!k_.any_size) return tile(first, x_.out % count_);
        k_.loop(first, k_.i64(x_.out), [&](IR one) { tile(one, 1); });
      });
    });
  }

 private:
  static constexpr int64_t kChannels = 256;  // whose sums wait in the L1 cache until they are written

  // Their sums are half of the registers; as many in each tile of a row.
  int64_t positions_of_tile() const {
    const int64_t most = k_.target.registers / 2;
    return k_.any_size ? most : ceil_div(x_.out, ceil_div(x_.out, most));
  }
  // The axes but the last one.
  ArrayRef<Axis> lines() const { return ArrayRef(g_.axes).drop_back(); }

  void tile(IR first, int64_t count) {
    IR begin = k_.add(k_.mul(first, x_.step), k_.i64(-x_.low));
    IR inside = b_.CreateAnd(b_.CreateICmpSGE(begin, k_.i64(0)), b_.CreateICmpSLE(k_.add(begin, k_.i64(x_.extent(count))), k_.i64(x_.in)));
    const bool always = !k_.any_size && x_.low <= 0 && (x_.out - 1) * x_.step - x_.low + x_.extent(1) <= x_.in;
    IR position = at_[0].base;
    for (auto [a, i] : llvm::zip(lines(), ArrayRef(at_).drop_front())) position = k_.add(k_.mul(position, a.out), i.base);
    position = k_.add(k_.mul(position, x_.out), first);
    k_.loop(k_.i64(0), k_.i64(g_.groups), kChannels, [&](IR channel) {
      IR channels = k_.part(g_.groups, kChannels, channel);
      k_.either(always ? IR(b_.getTrue()) : inside, [&] { add(begin, count, channel, channels, true); }, [&] { add(begin, count, channel, channels, false); });
      k_.loop(k_.i64(0), k_.i64(count), [&](IR i) { write(k_.add(position, i), i, channel, channels); });
    });
  }

  // The sums of the tile whose windows begin in this column.
  void add(IR begin, int64_t count, IR channel, IR channels, bool inside) {
    k_.along(channels, lanes_, [&](IR c, int lanes) {
      IRs zeros(count, llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), lanes)));
      IR image = k_.add(k_.mul(at_[0].base, g_.in_image), k_.add(channel, c)), weights = k_.add(k_.i64(g_.kernel_first), k_.add(channel, c));
      IRs sums = add_lines(0, {image, weights, begin, lanes, inside}, zeros);
      for (auto [i, sum] : llvm::enumerate(sums)) b_.CreateAlignedStore(sum, sum_at(k_.i64(int64_t(i)), c), llvm::Align(4));
    });
  }
  IR sum_at(IR i, IR channel) { return k_.in_scratch(b_.getFloatTy(), sums_, k_.add(k_.mul(i, kChannels), channel)); }

  struct Line {
    IR image, weights;  // elements
    IR begin;           // the column where the tile's first window begins
    int lanes;
    bool inside;        // whether no window sees anything beyond the line's ends
  };
  IRs add_lines(size_t axis, const Line& at, IRs sums) {
    if (axis == lines().size()) return add_line(at, std::move(sums));
    const Axis& a = g_.axes[axis];
    PlacesInInput seen(k_, a, at_[axis + 1].base);
    return k_.loop(seen.first, seen.end, 1, sums, [&](IR place, ArrayRef<IR> sums) {
      Line line = at;
      line.image = k_.add(at.image, k_.mul(seen.element(place), a.in_stride)), line.weights = k_.add(at.weights, k_.mul(place, a.window_stride));
      return add_lines(axis + 1, line, IRs(sums));
    });
  }
  IRs add_line(const Line& at, IRs sums) {
    IRs weights;
    for (int64_t j = 0; j < x_.window; ++j) weights.push_back(k_.load(g_.kernel_type, kernel_, k_.add(at.weights, k_.i64(j * x_.window_stride)), at.lanes));
    const int64_t count = int64_t(sums.size());
    for (int64_t column = 0; column < x_.extent(count); ++column) {
      IR seen = nullptr;
      for (int64_t j = 0; j < x_.window; ++j) {
        int64_t moved = column - j * x_.dilation, i = moved / x_.step;
        if (moved < 0 || moved % x_.step || i >= count) continue;
        if (!seen) seen = see(at, column);
        sums[i] = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {seen->getType()}, {seen, weights[j], sums[i]});
      }
    }
    return sums;
  }
  IR see(const Line& at, int64_t column) {
    IR x = k_.add(at.begin, k_.i64(column)), from = b_.CreateGEP(k_.memory_type(type_), input_, k_.add(at.image, k_.mul(x, x_.in_stride)));
    if (!at.inside) from = b_.CreateSelect(b_.CreateICmpULT(x, k_.i64(x_.in)), from, outside());
    IR seen = k_.load(type_, from, k_.i64(0), at.lanes);
    if (!is_byte(type_)) return seen;
    auto* floats = k_.vector(b_.getFloatTy(), at.lanes);
    seen = is_unsigned(type_) ? b_.CreateUIToFP(seen, floats) : b_.CreateSIToFP(seen, floats);
    return zero_ ? b_.CreateFSub(seen, llvm::ConstantFP::get(floats, double(zero_))) : seen;
  }
  // A vector of what is 0.
  IR outside() {
    if (!outside_) {
      std::vector<uint8_t> bytes(lanes_ * element_bytes(type_), uint8_t(zero_));
      auto* value = llvm::ConstantDataArray::get(k_.module.getContext(), bytes);
      auto* global = new llvm::GlobalVariable(k_.module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "outside");
      global->setAlignment(llvm::Align(64)), outside_ = global;
    }
    return outside_;
  }

  // Two vectors at once, which share instructions where the result is narrower.
  void write(IR position, IR i, IR channel, IR channels) {
    k_.along(channels, k_.divides(2 * lanes_, g_.groups) ? 2 * lanes_ : lanes_, [&](IR c, int lanes) {
      IR sum = b_.CreateAlignedLoad(k_.vector(b_.getFloatTy(), lanes), sum_at(i, c), llvm::Align(4));
      emit_epilogue(c_, position, k_.add(channel, c), sum, lanes);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  const Axis& x_;
  int lanes_;
  int64_t count_, sums_;  // positions of a tile; where their sums are in scratch
  Type type_;             // of the input in memory
  int64_t zero_ = 0;      // what is taken away from its elements
  IR input_ = nullptr, kernel_ = nullptr, outside_ = nullptr;
  Indices at_;            // image, place along each axis but the last, tile of the row
};

}  // namespace

void emit_depthwise_channels_last(KernelContext& c, ConvolutionOp op, const Geometry& g) { DepthwiseChannelsLast(c, op, g).run(); }

}  // namespace cresset::cpu
