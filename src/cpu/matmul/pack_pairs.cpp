// Panels of pairs of bf16, neighbours along K, made while they are packed. Of windows that move by one or two, lanes are not taken one by one.
#include "cpu/convolution/convolution_windows.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kPairsAhead = 16;       // what is asked for
constexpr int64_t kMostVectors = 8;       // of a panel
constexpr int64_t kVectorsTogether = 18;  // places of windows that are read for all vectors of a panel before those of the next channels: 3 x 3 of two

class PairPacker : Windows {
 public:
  explicit PairPacker(const Windows& windows) : Windows(windows) {}

  void set_up(MatmulSpec& spec) const {
    if (is_unrolled()) spec.k_unit = period();
    spec.panel_by_panel = spec.packs_units = true;
    spec.pack_b = [*this](const MatmulSpec::Block& p) { pack(p); };
    spec.b_offset = [*this](IR group, IR k, IR n) { return window_size_ == 1 ? pixel(group, k, n) : element_of_window(group, k, n); };
    spec.pack_scratch = kMostVectors * noted_places() * 4;
  }

 private:
  // As many places as are whole pairs and whole channels.
  int64_t period() const { return window_size_ % 2 ? 2 * window_size_ : window_size_; }
  bool is_unrolled() const { return k_.target.avx512() && period() <= 128; }  // masked loads are much code elsewhere

  void pack(const MatmulSpec::Block& p) const {
    IR panel = p.panel(k_.i64(0));
    auto vectors = [&] {
      if (is_unrolled() && period() <= kVectorsTogether) return pack_vectors(p, panel, k_.i64(0), p.width / p.lanes);
      k_.loop(k_.i64(0), k_.i64(p.width), p.lanes, [&](IR column) { pack_vectors(p, panel, column, 1); });
    };
    if (!is_pointwise() || !is_flat() || g_.in_features % 2) return vectors();
    k_.either(all_within_image(p.n0, p.width, p.width), [&] { pack_neighbours(p, panel); }, vectors);
  }
  void put_pairs(const MatmulSpec::Block& p, IR panel, IR v, IR u, IR column) const {
    b_.CreateAlignedStore(v, b_.CreateInBoundsGEP(b_.getInt32Ty(), panel, k_.add(k_.mul(u, p.width), column)), llvm::Align(4));
  }
  IR interleaved(IR low, IR high) const {
    int lanes = lanes_of(low);
    SmallVector<int> order;
    for (int i = 0; i < lanes; ++i) order.append({i, lanes + i});
    return b_.CreateBitCast(b_.CreateShuffleVector(low, high, order), k_.vector(b_.getInt32Ty(), lanes));
  }
  void ask_for(IR base, IR offset) const { k_.prefetch(b_.CreateGEP(b_.getInt16Ty(), base, offset)); }

  // Neighbouring pixels of each two channels.
  void pack_neighbours(const MatmulSpec::Block& p, IR panel) const {
    IR first = pixel(p.batch, p.k0, p.n0);
    k_.loop(k_.i64(0), b_.CreateLShr(p.k, k_.i64(1)), [&](IR u) {
      auto offset = [&](int64_t row, int64_t column) { return k_.add(k_.add(first, k_.mul(u, 2 * g_.in_feature)), k_.i64(row * g_.in_feature + column)); };
      constexpr int64_t kLine = 32;
      for (int64_t row = 2 * kPairsAhead; !p.asked && row < 2 * kPairsAhead + 2; ++row)
        for (int64_t c = 0; c < p.width; c += kLine) ask_for(input_, offset(row, std::min(c + kLine, p.width) - 1));
      for (int64_t c = 0; c < p.width; c += p.lanes)
        put_pairs(p, panel, interleaved(k_.load(read_, input_, offset(0, c), p.lanes), k_.load(read_, input_, offset(1, c), p.lanes)), u, k_.i64(c));
    });
  }

  //===-- Vectors of windows ----------------------------------------------------------------------------------------===//

  // Lanes in one row of the output, or in one image if the input is flat: what they see at one place is one masked load. None: lanes are taken one by one.
  struct Runs {
    IRs first, lanes;  // where the window of lane 0 would begin; which lanes they are, as bits that are `spacing` apart
  };
  int64_t most_runs(int64_t lanes) const {
    int64_t all = g_.images * image_size_, row = is_flat() ? (g_.images == 1 ? all : image_size_) : g_.axes.back().out;
    return row % lanes == 0 || row >= all ? 1 : 1 + ceil_div(lanes - 1, row);
  }
  // Beyond a few, lanes are taken one by one.
  bool reads_runs(int64_t lanes) const { return !g_.axes.empty() && g_.axes.back().in_stride == 1 && g_.axes.back().step <= 2 && most_runs(lanes) <= 4; }
  // Of windows that move by two, a pair is where its first element lies, with the neighbour in the place of the second one.
  int64_t spacing(int64_t lanes) const { return reads_runs(lanes) ? g_.axes.back().step : 1; }
  IR bits(IR lanes) const {
    int64_t count = lanes_of(lanes), apart = spacing(count);
    SmallVector<int> order(count * apart, int(count));
    for (int64_t i = 0; i < count; ++i) order[i * apart] = int(i);
    return b_.CreateBitCast(b_.CreateShuffleVector(lanes, llvm::Constant::getNullValue(lanes->getType()), order), b_.getIntNTy(unsigned(count * apart)));
  }
  IR from_bits(IR bits) const { return b_.CreateBitCast(bits, k_.vector(b_.getInt1Ty(), int(bits->getType()->getIntegerBitWidth()))); }
  Runs one_run(const Lanes& at, int lanes) const { return {{at.first}, {bits(llvm::Constant::getAllOnesValue(k_.vector(b_.getInt1Ty(), lanes)))}}; }
  Runs runs_of(const Lanes& at, int lanes) const {
    Runs runs;
    IR start = b_.CreateSub(at.offset, k_.sequence(k_.i64(0), lanes, g_.axes.back().step)), left = at.exists;
    for (int64_t run = 0; run < most_runs(lanes); ++run) {
      auto* type = b_.getIntNTy(unsigned(lanes));
      IR lane = b_.CreateIntrinsic(llvm::Intrinsic::cttz, {type}, {b_.CreateBitCast(left, type), b_.getFalse()});
      IR first = b_.CreateExtractElement(start, b_.CreateAnd(b_.CreateZExt(lane, b_.getInt64Ty()), k_.i64(lanes - 1)));
      IR here = b_.CreateAnd(left, b_.CreateICmpEQ(start, k_.splat(first, lanes)));
      left = b_.CreateAnd(left, b_.CreateNot(here));
      runs.first.push_back(first), runs.lanes.push_back(bits(here));
    }
    return runs;
  }

  // Vectors of columns that are packed together; masked unless all of their windows lie inside the image.
  struct Vectors {
    IR panel, column;
    ArrayRef<Lanes> at;
    SmallVector<Runs> runs;
    bool masked;
  };
  void pack_vectors(const MatmulSpec::Block& p, IR panel, IR column, int64_t count) const {
    SmallVector<Lanes> at;
    IR inside = b_.getTrue(), run = b_.getTrue();
    for (int64_t v = 0; v < count; ++v) {
      at.push_back(lanes_at(p.batch, k_.add(k_.add(p.n0, column), k_.i64(v * p.lanes)), p.lanes));
      inside = b_.CreateAnd(inside, at.back().inside), run = b_.CreateAnd(run, at.back().run);
    }
    auto note_all = [&] {
      for (int64_t v = 0; v < count; ++v) note(p, at[v], v);
    };
    if (!reads_runs(p.lanes)) return note_all(), pack_rows(p, {panel, column, at, SmallVector<Runs>(count), true});
    auto one_run_each = [&](bool masked) { pack_rows(p, {panel, column, at, llvm::map_to_vector(at, [&](const Lanes& l) { return one_run(l, p.lanes); }), masked}); };
    auto several = [&] { pack_rows(p, {panel, column, at, llvm::map_to_vector(at, [&](const Lanes& l) { return runs_of(l, p.lanes); }), true}); };
    auto masked = [&] {
      note_all();
      if (most_runs(p.lanes) == 1) one_run_each(true);
      else if (is_flat()) k_.either(run, [&] { one_run_each(true); }, several);
      else several();
    };
    if (!is_unrolled() || !can_be_inside()) return masked();
    k_.either(b_.CreateAnd(inside, run), [&] { one_run_each(false); }, masked);
  }

  void pack_rows(const MatmulSpec::Block& p, const Vectors& x) const {
    int64_t count = int64_t(x.at.size());
    if (!is_unrolled())
      return k_.loop(k_.i64(0), p.k, 2, [&](IR row) {
        IR k = b_.CreateAdd(p.k0, row), next = k_.add(row, k_.i64(1)), exists = b_.CreateICmpSLT(next, p.k);
        for (int64_t v = 0; v < count; ++v) pack_pair(p, x, v, channel_base(p.batch, k_.i64(0)), k, b_.CreateSelect(exists, b_.CreateAdd(p.k0, next), k), exists, b_.CreateLShr(row, k_.i64(1)));
      });
    IR channel = b_.CreateUDiv(p.k0, k_.i64(window_size_)), periods = b_.CreateUDiv(p.k, k_.i64(period()));
    auto places = [&](IR which, int64_t places) {
      IR base = channel_base(p.batch, k_.add(channel, k_.mul(which, period() / window_size_))), first = k_.mul(which, period() / 2);
      for (int64_t i = 0; i < places; i += 2)
        for (int64_t v = 0; v < count; ++v) {
          for (int64_t c = 0; window_size_ == 1 && !p.asked && c < 2; ++c) ask_for(base, k_.add(x.at[v].first, k_.i64((2 * kPairsAhead + c) * g_.in_feature)));
          pack_pair(p, x, v, base, k_.i64(i), i + 1 < places ? k_.i64(i + 1) : nullptr, nullptr, k_.add(first, k_.i64(i / 2)));
        }
    };
    k_.loop(k_.i64(0), periods, [&](IR which) { places(which, period()); });
    if (int64_t rest = g_.in_features * window_size_ % period()) k_.when(b_.CreateICmpNE(b_.CreateURem(p.k, k_.i64(period())), k_.i64(0)), [&] { places(periods, rest); });
  }
  // Elements k and `next` of vector v's windows, as unit u. The second one may be none (null) or, if `exists` is not null, be one only where that holds.
  void pack_pair(const MatmulSpec::Block& p, const Vectors& x, int64_t v, IR base, IR k, IR next, IR exists, IR u) const {
    std::optional<Element> high;
    if (next) high = element_at(p, v, next, x.masked);
    if (exists) high->lanes = b_.CreateSelect(exists, high->lanes, llvm::Constant::getNullValue(high->lanes->getType()));
    put_pairs(p, x.panel, pairs_at(p, base, element_at(p, v, k, x.masked), high, x.at[v], x.runs[v]), u, k_.add(x.column, k_.i64(v * p.lanes)));
  }

  // Noted for each vector of a panel: which lanes see the input at each place along each axis, then at each place of the window.
  int64_t noted_places() const {
    int64_t places = window_size_;
    for (const Axis& a : g_.axes) places += a.window;
    return places;
  }
  IR noted(const MatmulSpec::Block& p, int64_t vector, size_t axis, IR place) const {
    int64_t before = vector * noted_places();
    for (size_t d = 0; d < axis; ++d) before += g_.axes[d].window;
    return b_.CreateInBoundsGEP(b_.getInt32Ty(), p.scratch, k_.add(k_.i64(before), place));
  }
  void note(const MatmulSpec::Block& p, const Lanes& at, int64_t vector) const {
    auto* type = b_.getInt32Ty();
    for (auto [d, a] : llvm::enumerate(g_.axes))
      k_.loop(k_.i64(0), k_.i64(a.window), [&](IR i) {
        IR x = b_.CreateAdd(at.origin[d], k_.splat(k_.mul(i, a.dilation), p.lanes));
        b_.CreateStore(b_.CreateZExt(bits(b_.CreateICmpULT(x, k_.splat(k_.i64(a.in), p.lanes))), type), noted(p, vector, d, i));
      });
    IR exist = b_.CreateZExt(bits(at.exists), type);
    k_.loop(k_.i64(0), k_.i64(window_size_), [&](IR place) {
      IR lanes = exist;
      for (auto [d, i] : llvm::enumerate(delinearise(k_, window_, place))) lanes = b_.CreateAnd(lanes, b_.CreateLoad(type, noted(p, vector, d, i.base)));
      b_.CreateStore(lanes, noted(p, vector, g_.axes.size(), place));
    });
  }

  // Element k of the windows: where it is from where a window begins, and the lanes that have it, or null for all.
  struct Element {
    IR offset, lanes;
  };
  Element element_at(const MatmulSpec::Block& p, int64_t vector, IR k, bool masked) const {
    IR place = b_.CreateURem(k, k_.i64(window_size_));
    Element e{k_.mul(b_.CreateUDiv(k, k_.i64(window_size_)), g_.in_feature), nullptr};
    for (auto [a, i] : llvm::zip(g_.axes, delinearise(k_, window_, place))) e.offset = k_.add(e.offset, k_.mul(i.base, a.dilation * a.in_stride));
    if (masked) e.lanes = b_.CreateTrunc(b_.CreateLoad(b_.getInt32Ty(), noted(p, vector, g_.axes.size(), place)), b_.getIntNTy(unsigned(p.lanes * spacing(p.lanes))));
    return e;
  }
  // The pairs of two elements, of which the second may be none.
  IR pairs_at(const MatmulSpec::Block& p, IR base, const Element& low, std::optional<Element> high, const Lanes& at, const Runs& runs) const {
    llvm::Type *word = b_.getInt16Ty(), *pair = k_.vector(b_.getInt32Ty(), p.lanes);
    IR none = llvm::Constant::getNullValue(k_.vector(word, p.lanes));
    if (runs.first.empty()) {
      auto row = [&](const Element& e) {
        IR lanes = from_bits(e.lanes);
        return where(lanes, k_.gather(read_, base, where(lanes, b_.CreateAdd(at.offset, k_.splat(e.offset, p.lanes))), p.lanes));
      };
      return interleaved(row(low), high ? row(*high) : none);
    }
    auto row = [&](IR v, const Element& e, int64_t moved) {
      for (auto [first, run] : llvm::zip(runs.first, runs.lanes)) {
        IR mask = e.lanes ? b_.CreateAnd(run, e.lanes) : run;
        v = b_.CreateMaskedLoad(v->getType(), b_.CreateGEP(word, base, k_.add(k_.add(first, e.offset), k_.i64(-moved))), llvm::Align(2), from_bits(b_.CreateShl(mask, moved)), v);
      }
      return v;
    };
    if (spacing(p.lanes) == 1) return interleaved(row(none, low, 0), high ? row(none, *high, 0) : none);
    IR units = row(llvm::Constant::getNullValue(k_.vector(word, 2 * p.lanes)), low, 0);
    return b_.CreateBitCast(high ? row(units, *high, 1) : units, pair);
  }
};

}  // namespace

void pack_pairs(const Windows& windows, MatmulSpec& spec) { PairPacker(windows).set_up(spec); }

}  // namespace cresset::cpu
