#include "cpu/matmul/matmul.h"

#include <numeric>

#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The tile that computes the least that nobody wants beyond the ends of C: fewer rows by more vectors than usual (128 rows are 22 times six, 12 are twice eight), or a
// narrower panel for the last columns (49 are 48 and half a vector), which is more code.
Panels best_panels(KernelEmitter& k, const MatmulSpec& s) {
  Panels usual(k, s);
  if (usual.grid || s.any_n || (s.pack_b && !s.panel_by_panel)) return usual;
  auto computed = [&](int64_t rows, bool ends) {
    Panels p(k, s, rows, ends);
    return double(s.any_m ? s.m : round_up(s.m, p.mr)) * double(p.computed(s.n));
  };
  int64_t rows = 0;
  bool ends = false, many = k.target.registers == 32;
  auto consider = [&](int64_t r, bool e, double less) {
    if (computed(r, e) < less * computed(rows, ends)) rows = r, ends = e;
  };
  for (int64_t r = many ? 7 : 4; r >= (many ? 5 : 4); --r) consider(r, false, 0.98);
  for (int64_t r : {int64_t(0), rows}) consider(r, true, 0.96);
  return Panels(k, s, rows, ends);
}

class MatmulEmitter {
 public:
  MatmulEmitter(KernelContext& c, const MatmulSpec& s) : c_(c), k_(c.k), b_(c.k.b), s_(s), p_(best_panels(c.k, s)), end_(p_.end()), parts_(s.any_n && !p_.grid ? p_.parts() : std::vector<Panels>()), mr_(p_.mr), nr_(p_.nr) {}

  void emit() {
    // Groups share the rows, or K.
    c_.kernel.cost = 0.25 * (s_.groups ? 1 : s_.batch) * s_.m * s_.n * s_.k / (splits() ? 2 : p_.grid ? 16 : p_.depth);
    choose_blocks();
    // Each group's last block may have fewer rows, and what no group has is one more.
    bool by_groups = s_.groups == MatmulSpec::Rows;
    int64_t m_blocks = by_groups ? s_.m / mc_ + std::min(s_.batch + 1, s_.m) : ceil_div(s_.m, mc_), n_blocks = ceil_div(s_.n, nb_), batch = by_groups ? 1 : s_.batch;
    c_.kernel.tasks = batch * m_blocks * n_blocks;

    auto reserve = [&](int64_t elements) { return c_.kernel.reserve(elements * p_.bytes); };
    packed_a_ = reserve(in_place_ ? 0 : mc_ * p_.height(kc_));
    made_up_ = reserve(p_.flips_b() ? mc_ + p_.lanes : 0);
    made_up_for_columns_ = reserve(p_.makes_up_for_zero() ? nr_ : 0);
    packed_b_ = reserve(columns_packed() * p_.height(kc_));
    pack_scratch_ = c_.kernel.reserve(s_.pack_scratch + nb_ * s_.column_scratch);
    turned_ = reserve(end_ && by_dots(*end_) ? s_.n % nr_ * kc_ : 0);
    sums_ = reserve(keeps_block() ? mc_ * nb_ : mr_ * nr_);
    if (splits()) reserve_plain();
    IR end = k_.min(k_.end(), k_.i64(c_.kernel.tasks));  // other products of the kernel may have more
    if (p_.grid) p_.registers->configure();
    k_.loop(k_.begin(), end, [&](IR task) {
      auto at = place_of_task(k_, {batch, n_blocks, m_blocks}, task);
      IR n0 = k_.mul(at[1].base, nb_), n = k_.part(s_.n, nb_, n0);
      if (by_groups) {
        Block rows = block_of_group(at[2].base);
        rows.n0 = n0, rows.n = n;
        return k_.when(b_.CreateICmpSGT(rows.m, k_.i64(0)), [&] { block(rows); });
      }
      IR m0 = k_.mul(at[2].base, mc_);
      Block whole{at[0].base, m0, n0, nullptr, k_.part(s_.m, mc_, m0), n, nullptr, k_.i64(0), k_.i64(s_.k)};
      if (s_.groups) whole.k_begin = end_of_group(k_.add(whole.batch, k_.i64(-1)), s_.k), whole.k_end = end_of_group(whole.batch, s_.k);
      block(whole);
    });
    if (p_.grid) p_.registers->release();
  }

 private:
  // What suits a kind of tile. A panel of B takes half of the L1 cache, or three quarters with tiles of fewer rows, which read less of A. With 32 registers it comes
  // from L2, in order: then sums leave the registers seldom, and rows that are read in place are long. Packing an element takes the time of so many multiply-adds; windows are
  // looked for in the input.
  struct Limits {
    int64_t panel_bytes, rows, columns, pack_a, pack_b;
  };
  // Tiles take an element of A from L2 every other cycle: there a block's rows are to stay, next to sums or, where these are complete after one block of K, without them.
  Limits limits() const {
    bool block = packs_windows_of_block();
    if (splits()) return {32 * 1024, 512, 960, 60, 60};
    if (p_.grid) return {32 * 1024, is_split() ? 512 : 1024, block ? 256 : 960, 100, 100};
    if (k_.target.registers == 32) return {(block ? 36 : 96) * 1024, block ? 384 : 768, block ? 480 : 960, 12, block ? 28 : 12};
    return {(p_.vectors > 2 ? 24 : 16) * 1024, block ? 264 : 512, block ? 400 : 1024, 12, block ? 28 : 12};
  }

  void choose_blocks() {
    kc_ = row_by_row() ? s_.k : equal_part(std::max<int64_t>(run(), 1), limits().panel_bytes / (nr_ * p_.bytes) * p_.depth, s_.k_unit > 1 ? s_.k_unit : p_.padded(1));
    // Of groups, blocks are as large as one of them would be if all were equal, or large enough to pay for packing B.
    int64_t m = s_.groups == MatmulSpec::Rows ? std::min(std::max(ceil_div(s_.m, s_.batch), kRowsOfGroup), s_.m) : s_.m;
    int64_t batch = s_.groups == MatmulSpec::Rows ? ceil_div(s_.m, m) : s_.batch;
    // Each row of blocks packs its part of B again and each column its part of A: large blocks, in as many tasks as keep all threads busy to the end.
    // That packed A then comes from L3 does not show, it is read in order.
    int64_t threads = c_.kernel.cost >= Kernel::kParallelCost ? num_threads() : 1;
    Limits most = limits();
    double best = 0;
    auto consider = [&](int64_t mc, int64_t nb) {
      int64_t tasks = batch * ceil_div(m, mc) * ceil_div(s_.n, nb), columns = std::min(nb, p_.computed(s_.n));
      double waiting = threads > 1 ? 0.05 : 0;  // for the last task, in tasks
      double time = (double(ceil_div(tasks, threads)) + waiting) * double(mc * columns + most.pack_a * mc + most.pack_b * columns);
      if (!mc_ || time < best) best = time, mc_ = mc, nb_ = nb;
    };
    if (row_by_row()) most.columns = std::min(most.columns, kBytesOfColumns / (p_.padded(s_.k) / p_.depth * p_.bytes));
    each_division(m, by_rows() ? 192 : most.rows, mr_, 2 * threads, [&](int64_t mc) {
      each_division(s_.n, most.columns, nr_, 8 * threads, [&](int64_t nb) { consider(mc, nb); });
    });
    // Few columns use an element of A too seldom to pay for packing it. Pairs are read as they lie, if none goes beyond the end of K.
    bool units = p_.depth == 1 || (!p_.grid && s_.groups != MatmulSpec::Depth && run() % p_.depth == 0 && kc_ % p_.depth == 0);
    in_place_ = s_.a_run || (s_.a_unit_k && nb_ <= 12 * nr_ && units && p_.a_lies_in_units());
  }
  static constexpr int64_t kRowsOfGroup = 192;
  int64_t run() const { return s_.k_run ? s_.k_run : s_.k; }
  bool is_split() const { return s_.k > std::min(kc_, run()); }
  bool by_rows() const { return s_.streams.count > 3; }
  bool keeps_block() const { return is_split() || by_rows(); }

  IR element_of_scratch(int64_t at, IR index) { return k_.in_scratch(p_.type, at, index); }
  struct Block {
    IR batch, m0, n0, k0;  // its first element
    IR m, n, k;            // its size
    IR k_begin, k_end;     // of the sum, which may be empty
  };
  // Where the panels of the rows from m, the columns from n begin; both count from the block's own first one.
  IR panel_a(IR m) { return element_of_scratch(packed_a_, k_.mul(m, p_.height(kc_))); }
  // A panel of B is packed right before all rows of the block pass it, unless the whole block is packed at once.
  bool packs_windows_of_block() const { return s_.pack_b && !s_.panel_by_panel; }
  bool packs_block() const { return packs_windows_of_block() || row_by_row(); }
  // Where the sums have few terms, what is stored takes the time: then whole rows of a block follow each other, by columns that are all packed before, a quarter of L2,
  // so that memory is read and written in order. A panel of A is what stays in L1.
  static constexpr int64_t kFewTerms = 256, kBytesOfColumns = 256 * 1024;
  bool row_by_row() const { return s_.panel_by_panel && !p_.grid && s_.k > 0 && s_.k <= kFewTerms && 2 * s_.k <= s_.m; }
  // Or not at all: packing is worth it for many tiles, or where rows of B would throw each other out of L2, because they begin in too few of its sets.
  static constexpr int64_t kFewTiles = 32, kFewestTiles = 4, kBytesOfWay = 64 * 1024, kWaysOfPanel = 8;
  bool rows_of_b_collide() const { return std::min(kc_, s_.k) * std::gcd(s_.b_pitch * p_.bytes, kBytesOfWay) > kWaysOfPanel * kBytesOfWay; }
  bool reads_b(const Panels& p) const {
    if (!s_.b_pitch || p.is_end || row_by_row() || p_.depth > 1 || k_.target.registers < 32 || s_.any_n || (!end_ && s_.n % nr_)) return false;
    return mc_ <= mr_ * (rows_of_b_collide() ? kFewestTiles : kFewTiles);
  }
  // Else, where it is only copied, the tiles of one panel pack the next one.
  bool packs_ahead() const { return !s_.pack_b && !p_.grid && s_.b_unit_n && s_.n >= nr_; }
  int64_t columns_packed() const { return packs_block() ? nb_ : packs_ahead() ? 2 * nr_ : nr_; }
  IR panel_b(const Block& at, IR n) {
    if (packs_ahead()) {  // two, which take turns from one step along K to the next
      IR of_step = b_.CreateUDiv(b_.CreateAdd(at.n, k_.i64(nr_ - 1)), k_.i64(nr_)), step = b_.CreateUDiv(b_.CreateSub(at.k0, at.k_begin), k_.i64(kc_));
      n = k_.mul(b_.CreateAnd(b_.CreateAdd(b_.CreateUDiv(n, k_.i64(nr_)), b_.CreateMul(step, of_step)), k_.i64(1)), nr_);
    }
    return element_of_scratch(packed_b_, packs_block() || packs_ahead() ? k_.mul(n, p_.height(kc_)) : k_.i64(0));
  }
  IR sums_of(const Panels& p, IR m, IR n) { return keeps_block() ? element_of_scratch(sums_, b_.CreateAdd(k_.mul(n, mc_), k_.mul(m, p.nr))) : element_of_scratch(sums_, k_.i64(0)); }

  // 0 before the first one, and never beyond `size`.
  IR end_of_group(IR group, int64_t size) {
    auto* i32 = b_.getInt32Ty();
    IR none = b_.CreateICmpSLT(group, k_.i64(0)), end = b_.CreateLoad(i32, b_.CreateInBoundsGEP(i32, s_.ends, b_.CreateSelect(none, k_.i64(0), group)));
    end = k_.min(b_.CreateSExt(end, b_.getInt64Ty()), k_.i64(size));
    return b_.CreateSelect(b_.CreateOr(none, b_.CreateICmpSLT(end, k_.i64(0))), k_.i64(0), end);
  }
  // Rows and group of this one of all blocks, or no rows. What no group has comes last, and is the sum of nothing.
  Block block_of_group(IR wanted) {
    IR zero = k_.i64(0), last = k_.i64(s_.batch - 1);
    IRs found = k_.loop(zero, k_.i64(s_.batch + 1), 1, {zero, zero, zero, zero, zero}, [&](IR group, ArrayRef<IR> v) -> IRs {
      IR begin = v[0], before = v[1];
      IR end = b_.CreateSelect(b_.CreateICmpSGT(group, last), k_.i64(s_.m), end_of_group(k_.min(group, last), s_.m));
      end = b_.CreateSelect(b_.CreateICmpSLT(end, begin), begin, end);
      IR behind = b_.CreateAdd(before, b_.CreateUDiv(b_.CreateAdd(b_.CreateSub(end, begin), k_.i64(mc_ - 1)), k_.i64(mc_)));
      IR here = b_.CreateAnd(b_.CreateICmpSGE(wanted, before), b_.CreateICmpSLT(wanted, behind)), first = b_.CreateAdd(begin, k_.mul(b_.CreateSub(wanted, before), mc_));
      return {end, behind, b_.CreateSelect(here, group, v[2]), b_.CreateSelect(here, first, v[3]), b_.CreateSelect(here, k_.min(k_.i64(mc_), b_.CreateSub(end, first)), v[4])};
    });
    IR none = b_.CreateICmpSGT(found[2], last);
    return {k_.min(found[2], last), found[3], nullptr, nullptr, found[4], nullptr, nullptr, zero, b_.CreateSelect(none, zero, k_.i64(s_.k))};
  }

  // The panels of a block, of which the last one of all may be narrower.
  void each_panel(const Block& at, const std::function<void(Panels& p, IR n)>& body) { p_.each(end_, at.n, body); }
  // Of the last panel only as many vectors as its columns need, where these are known only when it runs: by the first one of the parts, from that one on, that has them.
  void as_wide_as_needed(Panels& p, const Block& at, IR n, const std::function<void(Panels& p)>& body, size_t part = 0) {
    if (part == parts_.size()) return body(p);
    IR fits = b_.CreateICmpSLE(b_.CreateSub(at.n, n), k_.i64(parts_[part].nr));
    k_.either(fits, [&] { body(parts_[part]); }, [&] { as_wide_as_needed(p, at, n, body, part + 1); });
  }

  void block(Block at) {
    IR batch = at.batch, m0 = at.m0, n0 = at.n0;
    if (splits()) p_.watch_numbers();
    if (s_.groups) {
      IR once = k_.add(at.k_begin, k_.i64(1)), end = b_.CreateSelect(b_.CreateICmpSLT(at.k_end, once), once, at.k_end);
      k_.loop(at.k_begin, end, kc_, [&](IR k) {
        IR left = b_.CreateSub(at.k_end, k);
        at.k0 = k, at.k = b_.CreateSelect(b_.CreateICmpSLT(left, k_.i64(0)), k_.i64(0), k_.min(left, k_.i64(kc_)));
        step(at);
      });
    } else {
      k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(s_.k, 1)), std::max<int64_t>(run(), 1), [&](IR begin) {
        k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(run(), 1)), kc_, [&](IR k) {
          at.k0 = k_.add(begin, k);
          at.k = s_.k ? k_.part(run(), kc_, k) : k_.i64(0);
          step(at);
        });
      });
    }
    if (by_rows())
      k_.loop(k_.i64(0), at.m, mr_, [&](IR m) {
        k_.loop(k_.i64(0), rows_of_tile(at, m), [&](IR i) {
          each_panel(at, [&](Panels& p, IR n) {
            // The next row's: the hardware sees each row's part begin anew.
            if (s_.prefetch) s_.prefetch(batch, k_.add(b_.CreateAdd(b_.CreateAdd(m0, m), i), k_.i64(1)), b_.CreateAdd(n0, n), false);
            as_wide_as_needed(p, at, n, [&](Panels& p) { write_row(p, at, m, i, n, sums_of(p, m, n)); });
          });
        });
      });
  }

  // What one block of K adds to the block of C.
  void step(const Block& at) {
    if (!in_place_) p_.pack_a(at.batch, at.m0, at.m, at.k0, at.k, [&](IR m) { return panel_a(m); });
    if (p_.flips_b()) k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { b_.CreateAlignedStore(p_.made_up_for_flips(panel_a(m), at.k), element_of_scratch(made_up_, m), llvm::Align(4)); });
    auto pack_windows = [&](Panels& p, IR from, IR columns) {
      auto panel = [&](IR n) { return panel_b(at, k_.add(from, n)); };
      s_.pack_b({at.batch, at.k0, b_.CreateAdd(at.n0, from), at.k, columns, panel, p.nr, p.lanes, element_of_scratch(pack_scratch_, k_.i64(0)), asks_for_b()});
      if (p.depth > 1) k_.loop(k_.i64(0), columns, p.nr, [&](IR n) { s_.packs_units ? p.zero_end(panel(n), at.k) : p.pair_up(panel(n), at.k); });
    };
    if (row_by_row()) {
      each_panel(at, [&](Panels& p, IR n) {
        pack_windows(p, n, columns_of_tile(p, at, n));
        if (by_dots(p)) turn_columns(panel_b(at, n), at.k);
      });
      return k_.loop(k_.i64(0), at.m, mr_, [&](IR m) {
        each_panel(at, [&](Panels& p, IR n) {
          as_wide_as_needed(p, at, n, [&](Panels& p) { tile(p, at, m, n); });
        });
      });
    }
    if (packs_block()) pack_windows(p_, k_.i64(0), at.n);
    each_panel(at, [&](Panels& p, IR n) {
      auto pack = [&] { p.pack_b(at.batch, b_.CreateAdd(at.n0, n), columns_of_tile(p, at, n), at.k0, at.k, [&](IR) { return panel_b(at, n); }); };
      if (s_.panel_by_panel && !reads_b(p)) pack_windows(p, n, columns_of_tile(p, at, n));
      else if (packs_ahead()) k_.when(b_.CreateNot(is_packed(at, n)), pack);
      else if (!s_.pack_b) pack();
      if (by_dots(p)) turn_columns(panel_b(at, n), at.k);
      if (p.makes_up_for_zero())
        for (auto [v, sums] : llvm::enumerate(p.made_up_for_zero(panel_b(at, n), at.k))) b_.CreateAlignedStore(sums, made_up_for_columns(p, v), llvm::Align(4));
      as_wide_as_needed(p, at, n, [&](Panels& p) {
        k_.loop(k_.i64(0), at.m, mr_, [&](IR m) { tile(p, at, m, n); });
      });
      if (packs_ahead()) finish_packing(at, n);
    });
  }

  // What the next panel of B is packed from is asked for by the tiles of this one, while their multiply-adds leave the memory idle. Each tile asks for its share of parts,
  // spread over all of K, which gains more than one burst of them (Zen 4, 128 rows: 92 in place of 89 % of the peak, 84 without).
  static constexpr int64_t kLinesOfPart = 4, kLeastBetween = 8, kElementsOfRow = 64;  // the last: of each row of A that a part asks for
  int64_t elements_of_line() const { return std::max<int64_t>(64 / element_bytes(s_.b_type) / s_.b_spread, 1); }
  // Neighbours in memory: a row of the panel, or a column.
  int64_t runs_of_b() const { return s_.b_unit_k ? nr_ : kc_; }
  int64_t lines_of_run() const { return ceil_div(s_.b_unit_k ? kc_ : nr_, elements_of_line()); }
  int64_t parts_of_run() const { return ceil_div(lines_of_run(), kLinesOfPart); }
  bool asks_for_b() const { return s_.b && s_.b_offset && !row_by_row(); }
  int64_t wanted_parts() const {
    int64_t most = std::max<int64_t>(kc_ / (kLeastBetween * p_.depth), 1), of_a = in_place_ ? ceil_div(kc_, kElementsOfRow) : 1;
    return std::clamp<int64_t>(asks_for_b() ? ceil_div(runs_of_b() * parts_of_run(), ceil_div(mc_, mr_)) : 1, std::min(of_a, most), most);
  }
  int64_t parts_of_tile() const { return s_.a_run ? ceil_div(kc_, length_of_part()) : wanted_parts(); }
  void ask_for_b(const Block& at, IR part, IR n) {
    int64_t lines = std::min(lines_of_run(), kLinesOfPart);
    IR run = k_.min(b_.CreateUDiv(part, k_.i64(parts_of_run())), k_.i64(runs_of_b() - 1)), first = b_.CreateURem(part, k_.i64(parts_of_run()));
    for (int64_t line = 1; line <= lines; ++line) {
      // The last element: where runs begin within a line, its first ones came with the panel before.
      IR along = b_.CreateAdd(k_.mul(first, lines * elements_of_line()), k_.i64(line * elements_of_line() - 1));
      IR k = s_.b_unit_k ? along : run, column = s_.b_unit_k ? run : along;
      p_.prefetch_b(at.batch, b_.CreateAdd(at.k0, k), b_.CreateAdd(n, column));
    }
  }

  // The panel after that of the columns from n: of this step along K, or the first one of the next step. Each part of a tile packs a part of it: the loads have time to wait,
  // and the stores find the memory idle. What the parts after that will pack is asked for.
  struct Panel {
    IR n, k0, k, exists;
  };
  // Narrower ones are not packed ahead.
  IR is_whole_panel(const Block& at, IR n) { return b_.CreateICmpSLE(k_.add(n, k_.i64(nr_)), at.n); }
  Panel next_panel(const Block& at, IR n) {
    IR next = k_.add(n, k_.i64(nr_)), behind = b_.CreateAdd(at.k0, at.k);
    IR here = b_.CreateICmpSLT(next, at.n), further = b_.CreateAnd(b_.CreateNot(here), b_.CreateICmpSLT(behind, at.k_end));
    Panel p{b_.CreateSelect(further, k_.i64(0), next), b_.CreateSelect(further, behind, at.k0), b_.CreateSelect(further, k_.min(k_.i64(kc_), b_.CreateSub(at.k_end, behind)), at.k), nullptr};
    p.exists = is_whole_panel(at, p.n);
    return p;
  }
  IR is_packed(const Block& at, IR n) {
    IR is_first = b_.CreateAnd(b_.CreateICmpEQ(n, k_.i64(0)), b_.CreateICmpEQ(at.k0, at.k_begin));
    return b_.CreateAnd(b_.CreateNot(is_first), is_whole_panel(at, n));
  }
  int64_t length_of_part() const {
    int64_t length = round_up(ceil_div(kc_, wanted_parts()), s_.line.window ? s_.line.window : p_.depth);
    if (s_.a_run) length = length >= s_.a_run && kc_ % s_.a_run == 0 ? s_.a_run : s_.k_unit;  // within a run
    return length;
  }
  IR parts_of(IR count) { return b_.CreateUDiv(b_.CreateAdd(count, k_.i64(length_of_part() - 1)), k_.i64(length_of_part())); }
  int64_t rows_of_part() const { return ceil_div(ceil_div(kc_, p_.depth), ceil_div(mc_, mr_) * parts_of_tile()); }
  void pack_row(const Block& at, const Panel& p, IR panel, IR u) {
    IR column = k_.min(b_.CreateAdd(at.n0, p.n), k_.i64(s_.n - nr_));  // if there is no such panel
    p_.whole_row_of_b(at.batch, column, b_.CreateAdd(p.k0, k_.mul(u, p_.depth)), b_.CreateAdd(p.k0, p.k), b_.CreateInBoundsGEP(p_.unit, panel, k_.mul(u, nr_)));
  }
  void pack_part(const Block& at, IR n, IR part) {
    constexpr int64_t kPartsAhead = 4;
    Panel p = next_panel(at, n);
    IR units = p_.units(p.k), panel = panel_b(at, k_.add(n, k_.i64(nr_)));
    k_.repeat(rows_of_part(), [&](IR i) {
      IR u = k_.add(k_.mul(part, rows_of_part()), i), later = k_.add(u, k_.i64(kPartsAhead * rows_of_part())), is_beyond = b_.CreateICmpSGE(later, units);
      later = b_.CreateSelect(is_beyond, b_.CreateSub(later, units), later);
      IR column = b_.CreateAdd(at.n0, b_.CreateSelect(is_beyond, k_.add(p.n, k_.i64(nr_)), p.n));
      for (int64_t d = 0; d < p_.depth; ++d)
        for (int64_t line = 1; line <= lines_of_run(); ++line)
          p_.prefetch_b(at.batch, b_.CreateAdd(p.k0, k_.add(k_.mul(later, p_.depth), k_.i64(d))), k_.add(column, k_.i64(line * elements_of_line() - 1)));
      pack_row(at, p, panel, k_.min(u, k_.add(units, k_.i64(-1))));
    });
  }
  void finish_packing(const Block& at, IR n) {
    Panel p = next_panel(at, n);
    IR tiles = b_.CreateUDiv(b_.CreateAdd(at.m, k_.i64(mr_ - 1)), k_.i64(mr_)), packed = k_.mul(b_.CreateMul(tiles, parts_of(at.k)), rows_of_part());
    k_.when(p.exists, [&] { k_.loop(packed, p_.units(p.k), [&](IR u) { pack_row(at, p, panel_b(at, k_.add(n, k_.i64(nr_))), u); }); });
  }

  // Few last columns: dot products along K with rows of A where they lie, which leave no lane idle; of so many rows at a time.
  bool by_dots(const Panels& p) const { return p.is_end && in_place_ && !s_.line.window && p_.depth == 1 && p_.type->isFloatingPointTy() && s_.n % nr_ <= p_.lanes / 2 && rows_of_dots() > 1; }
  int64_t rows_of_dots() const { return std::min(mr_, p_.most_sums / (s_.n % nr_)); }
  IR turned_column(int64_t j, IR k) { return element_of_scratch(turned_, k_.add(k_.i64(j * kc_), k)); }
  void turn_columns(IR panel, IR count) {
    k_.loop(k_.i64(0), count, [&](IR k) {
      for (int64_t j = 0; j < s_.n % nr_; ++j) b_.CreateStore(b_.CreateLoad(p_.unit, b_.CreateInBoundsGEP(p_.unit, panel, k_.add(k_.mul(k, end_->nr), k_.i64(j)))), turned_column(j, k));
    });
  }
  IRs dots(Panels& p, const Block& at, IR m, IR n) {
    k_.loop(k_.i64(0), parts_of(at.k), [&](IR part) { care_for_b(p, at, m, n, part); });
    const int64_t columns = s_.n % nr_;
    IRs rows = rows_in_place(at, m), turned, all;
    for (int64_t j = 0; j < columns; ++j) turned.push_back(turned_column(j, k_.i64(0)));
    for (int64_t first = 0; first < mr_; first += rows_of_dots()) llvm::append_range(all, p_.dots(ArrayRef(rows).slice(first, std::min(rows_of_dots(), mr_ - first)), turned, at.k));
    IRs result = p.zeros();
    for (int64_t i = 0; i < mr_; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        IR& row = result[i * p.vectors + j / p.lanes];
        row = b_.CreateInsertElement(row, all[i * columns + j], j % p.lanes);
      }
    return result;
  }

  // What one block of K adds to a tile of C, which is written when it is complete.
  void tile(Panels& p, const Block& at, IR m, IR n) {
    IR memory = sums_of(p, m, n), first = b_.CreateICmpEQ(at.k0, at.k_begin), complete = is_split() ? b_.CreateICmpSGE(b_.CreateAdd(at.k0, at.k), at.k_end) : b_.getTrue();
    if (p_.grid) {
      k_.loop(k_.i64(0), k_.i64(parts_of_tile()), [&](IR part) { care_for_b(p, at, m, n, part); });
      auto multiply = [&](IR sums, IR add) { p_.multiply_tiles(p_.packed_tiles(panel_a(m)), panel_b(at, n), at.k, sums, nr_ * p_.bytes, add); };
      if (splits()) multiply_split(at, m, n, memory, first, complete, multiply);
      else multiply(memory, is_split() ? b_.CreateNot(first) : b_.getFalse());
    } else {
      if (keeps_block())
        for (int64_t at = 0; at < mr_ * p.nr * p_.bytes; at += 64) k_.prefetch(b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, at), true);
      ask_for_result(p, at, m, n, complete);
      IRs sums = by_dots(p) ? dots(p, at, m, n) : products(p, at, m, n);
      if (IR whole = writes_registers() ? is_whole(p, at, m, n) : b_.getFalse(); whole != b_.getFalse()) {
        k_.when(whole, [&] { write_registers(p, at, m, n, sums); });
        if (whole == b_.getTrue()) return;
        return k_.when(b_.CreateNot(whole), [&] {
          keep(p, sums, memory, false);
          write(p, at, m, n, memory);
        });
      }
      k_.when(is_split() ? first : b_.getTrue(), [&] { keep(p, sums, memory, false); });
      if (is_split()) k_.when(b_.CreateNot(first), [&] { keep(p, sums, memory, true); });
    }
    if (!by_rows()) k_.when(complete, [&] { write(p, at, m, n, memory); });
  }

  //===-- f32s that are sums of bf16s --------------------------------------------------------------------------------===//

  bool splits() const { return p_.kind == Panels::SplitFloats; }
  // Each block of K has sums of its own: in a long chain of additions each would be rounded as the largest one is.
  void multiply_split(const Block& at, IR m, IR n, IR memory, IR first, IR complete, function_ref<void(IR sums, IR add)> multiply) {
    IR own = element_of_scratch(own_sums_, k_.i64(0));
    multiply(is_split() ? b_.CreateSelect(first, memory, own) : memory, b_.getFalse());
    if (is_split())
      k_.when(b_.CreateNot(first), [&] {
        k_.loop(k_.i64(0), k_.i64(mr_ * nr_), p_.lanes, [&](IR i) {
          auto at = [&](IR sums) { return b_.CreateInBoundsGEP(p_.type, sums, i); };
          auto load = [&](IR sums) { return b_.CreateAlignedLoad(k_.vector(p_.type, p_.lanes), at(sums), llvm::Align(64)); };
          b_.CreateAlignedStore(b_.CreateFAdd(load(memory), load(own)), at(memory), llvm::Align(64));
        });
      });
    k_.when(b_.CreateAnd(complete, p_.cannot_split()), [&] { multiply_plainly(at, m, n, memory); });
  }
  void reserve_plain() {
    auto reserve = [&](int64_t elements) { return c_.kernel.reserve(elements * p_.bytes); };
    own_sums_ = reserve(is_split() ? mr_ * nr_ : 0);
    plain_spec_ = s_, plain_spec_.may_split_floats = false;
    int64_t rows = 8;
    while (mr_ % rows) --rows;
    plain_.emplace(Panels(k_, plain_spec_, rows).narrowed(nr_));
    plain_a_ = reserve(rows * kPlainDepth), plain_b_ = reserve(nr_ * kPlainDepth);
  }
  // A tile of such numbers, anew.
  void multiply_plainly(const Block& at, IR m, IR n, IR memory) {
    Panels& p = *plain_;
    IR panel = element_of_scratch(plain_b_, k_.i64(0)), rows = element_of_scratch(plain_a_, k_.i64(0));
    k_.loop(at.k_begin, at.k_end, kPlainDepth, [&](IR k) {
      IR count = k_.min(k_.i64(kPlainDepth), b_.CreateSub(at.k_end, k)), column = b_.CreateAdd(at.n0, n);
      p.pack_b(at.batch, column, k_.min(k_.i64(nr_), b_.CreateSub(k_.i64(s_.n), column)), k, count, [&](IR) { return panel; });
      k_.loop(k_.i64(0), k_.i64(mr_), p.mr, [&](IR i) {
        p.pack_a(at.batch, b_.CreateAdd(at.m0, k_.add(m, i)), k, count, rows);
        IRs sums = p.multiply([&](int64_t r, IR u) { return b_.CreateInBoundsGEP(p.unit, rows, k_.add(k_.mul(u, p.mr), k_.i64(r))); }, panel, count, p.zeros());
        IR target = b_.CreateInBoundsGEP(p_.type, memory, k_.mul(i, nr_));
        k_.either(b_.CreateICmpEQ(k, at.k_begin), [&] { keep(p, sums, target, false); }, [&] { keep(p, sums, target, true); });
      });
    });
  }
  static constexpr int64_t kPlainDepth = 256;

  void care_for_b(Panels& p, const Block& at, IR m, IR n, IR part) {
    IR tile = b_.CreateUDiv(m, k_.i64(mr_));
    if (packs_ahead()) pack_part(at, n, b_.CreateAdd(b_.CreateMul(tile, parts_of(at.k)), part));
    else if (asks_for_b() && !p.is_end) ask_for_b(at, b_.CreateAdd(k_.mul(tile, parts_of_tile()), part), b_.CreateAdd(at.n0, k_.add(n, k_.i64(nr_))));
  }
  // Of A itself.
  IRs rows_in_place(const Block& at, IR m) {
    IRs rows;
    for (int64_t i = 0; i < mr_; ++i) {
      IR row = b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i));
      if (!s_.divides_rows(mr_)) row = k_.min(row, k_.i64(s_.m - 1));
      rows.push_back(b_.CreateInBoundsGEP(k_.memory_type(s_.a_type), s_.a, s_.a_offset(at.batch, row, at.k0)));
    }
    return rows;
  }
  // How far below these rows the next ones lie, or those of the next step along K.
  IR distance_below(const Block& at, IR m) {
    IR next = k_.add(m, k_.i64(mr_)), is_last = b_.CreateICmpSGE(next, at.m);
    IR below = s_.a_offset(at.batch, b_.CreateAdd(at.m0, b_.CreateSelect(is_last, k_.i64(0), next)), b_.CreateSelect(is_last, b_.CreateAdd(at.k0, at.k), at.k0));
    return b_.CreateSub(below, s_.a_offset(at.batch, b_.CreateAdd(at.m0, m), at.k0));
  }
  IR made_up_for_columns(const Panels& p, int64_t v) { return element_of_scratch(made_up_for_columns_, k_.i64(v * p.lanes)); }
  IRs first_sums(Panels& p, IR m) {
    IRs sums = p.zeros();
    for (int64_t i = 0; p.flips_b() && i < mr_; ++i) {
      IR of_row = k_.splat(b_.CreateLoad(p.type, element_of_scratch(made_up_, k_.add(m, k_.i64(i)))), p.lanes);
      std::fill_n(sums.begin() + i * p.vectors, p.vectors, of_row);
    }
    for (int v = 0; p.makes_up_for_zero() && v < p.vectors; ++v) {
      IR of_columns = b_.CreateAlignedLoad(k_.vector(p.type, p.lanes), made_up_for_columns(p, v), llvm::Align(4));
      for (int64_t i = 0; i < mr_; ++i) sums[i * p.vectors + v] = k_.plus(sums[i * p.vectors + v], of_columns);
    }
    return sums;
  }
  IRs products(Panels& p, const Block& at, IR m, IR n) {
    int64_t length = length_of_part();
    IRs rows = in_place_ ? rows_in_place(at, m) : IRs();
    IR packed = in_place_ ? nullptr : panel_a(m), below = in_place_ ? distance_below(at, m) : nullptr;
    // Rows read in place come from memory: the next ones are asked for while the first panel is multiplied by these.
    auto ask_for_a = [&](IR k) {
      for (IR row : rows)
        for (int64_t i = 0; i < length; i += 64 / element_bytes(s_.a_type)) k_.prefetch(b_.CreateGEP(k_.memory_type(s_.a_type), row, b_.CreateAdd(below, k_.add(k, k_.i64(i)))), false, 2);
    };
    // Where element k of the block lies in its row.
    auto in_row = [&](IR k) {
      auto offset = [&](IR k) { return s_.a_offset(at.batch, k_.i64(0), k); };
      return s_.a_run ? b_.CreateSub(offset(b_.CreateAdd(at.k0, k)), offset(at.k0)) : k;
    };
    return k_.loop(k_.i64(0), at.k, length, first_sums(p, m), [&](IR k, ArrayRef<IR> sums) {
      care_for_b(p, at, m, n, b_.CreateUDiv(k, k_.i64(length)));
      if (in_place_) k_.when(b_.CreateICmpEQ(n, k_.i64(0)), [&] { ask_for_a(in_row(k)); });
      IR begin = b_.CreateUDiv(k, k_.i64(p_.depth)), first = b_.CreateUDiv(in_row(k), k_.i64(p_.depth));
      auto element = [&](int64_t i, IR u) {
        if (in_place_) return b_.CreateInBoundsGEP(p_.unit, rows[i], b_.CreateAdd(first, u));
        return b_.CreateInBoundsGEP(p_.unit, packed, k_.add(k_.mul(b_.CreateAdd(begin, u), mr_), k_.i64(i)));
      };
      IR panel = reads_b(p) ? b_.CreateInBoundsGEP(p_.unit, s_.b, s_.b_offset(at.batch, b_.CreateAdd(at.k0, k), b_.CreateAdd(at.n0, n))) : p.vector_at(panel_b(at, n), p.row_of_panel(begin), 0);
      return p.multiply(element, panel, k_.min(k_.i64(length), b_.CreateSub(at.k, k)), IRs(sums.begin(), sums.end()), reads_b(p) ? s_.b_pitch : 0);
    });
  }
  // A large result is not written where it was found: a first convolution of 12 MB gains a twentieth if its lines are asked for.
  void ask_for_result(Panels& p, const Block& at, IR m, IR n, IR complete) {
    int64_t line = 64 / s_.streams.widest;
    bool writes_memory = (s_.groups == MatmulSpec::Rows ? 1 : s_.batch) * s_.m * s_.n * element_bytes(s_.type) >= kBytesBeyondL2;
    if (!s_.prefetch || by_rows() || (s_.streams.count <= 1 && !writes_memory)) return;
    // The last element of each line: where rows begin within a line, its first ones came with the panel before.
    k_.when(complete, [&] {
      for (int64_t i = 0; i < mr_; ++i)
        for (int64_t j = 0; j < p.nr; j += line)
          for (bool to_write : {false, true})
            if (!to_write || writes_memory)
              s_.prefetch(at.batch, b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i)), k_.add(b_.CreateAdd(at.n0, n), k_.i64(std::min(j + line, p.nr) - 1)), to_write);
    });
  }
  void keep(Panels& p, ArrayRef<IR> sums, IR memory, bool add) {
    auto* vector = k_.vector(p.type, p.lanes);
    for (auto [i, sum] : llvm::enumerate(sums)) {
      IR address = p.vector_at(memory, k_.i64(0), i), x = sum;
      if (IR old = add ? b_.CreateAlignedLoad(vector, address, llvm::Align(16)) : nullptr) x = k_.plus(old, x);
      b_.CreateAlignedStore(x, address, llvm::Align(16));
    }
  }

  IR columns_of_tile(const Panels& p, const Block& at, IR n) {
    if (end_) return k_.i64(p.is_end ? s_.n % nr_ : nr_);
    return s_.divides_columns(nr_) ? k_.i64(nr_) : k_.min(k_.i64(p.nr), b_.CreateSub(at.n, n));
  }
  IR rows_of_tile(const Block& at, IR m) { return s_.divides_rows(mr_) ? k_.i64(mr_) : k_.min(k_.i64(mr_), b_.CreateSub(at.m, m)); }
  // Few terms are summed in the time that a tile takes through memory, which a short epilogue spares it: code for each of its vectors.
  static constexpr size_t kMostOperations = 16;
  bool writes_registers() const {
    auto is_short = [](Operation* op) { return isa<AddOp, SubtractOp, MulOp, MaxOp, MinOp, ClampOp>(op) || !is_elementwise(op); };
    return !keeps_block() && s_.k <= kFewTerms && s_.store_vectors && k_.memory_type(s_.type) == p_.type && c_.fusion.roles.size() <= kMostOperations &&
           llvm::all_of(c_.fusion.roles, [&](const auto& role) { return is_short(role.first); });
  }
  // Whether all of a tile lies within C, and the runs of its rows do not end within it.
  IR is_whole(const Panels& p, const Block& at, IR m, IR n) {
    IR whole = b_.CreateAnd(b_.CreateICmpEQ(rows_of_tile(at, m), k_.i64(mr_)), b_.CreateICmpEQ(columns_of_tile(p, at, n), k_.i64(p.nr)));
    if (!s_.n_run || s_.n_run % nr_ == 0) return whole;
    return s_.n_run < p.nr ? b_.getFalse() : b_.CreateAnd(whole, b_.CreateICmpULE(b_.CreateURem(b_.CreateAdd(at.n0, n), k_.i64(s_.n_run)), k_.i64(s_.n_run - p.nr)));
  }
  void write_registers(const Panels& p, const Block& at, IR m, IR n, ArrayRef<IR> sums) {
    for (auto [i, sum] : llvm::enumerate(sums))
      s_.store(at.batch, b_.CreateAdd(b_.CreateAdd(at.m0, m), k_.i64(i / p.vectors)), b_.CreateAdd(b_.CreateAdd(at.n0, n), k_.i64(i % p.vectors * p.lanes)), sum, p.lanes);
  }
  void write(const Panels& p, const Block& at, IR m, IR n, IR memory) {
    k_.loop(k_.i64(0), rows_of_tile(at, m), [&](IR i) { write_row(p, at, m, i, n, memory); });
  }
  // The part of a row of a tile that lies within C.
  void write_row(const Panels& p, const Block& at, IR m, IR i, IR n, IR memory) {
    IR row = b_.CreateAdd(b_.CreateAdd(at.m0, m), i), column = b_.CreateAdd(at.n0, n);
    auto store = [&](IR j, int lanes) {
      IR sum = b_.CreateAlignedLoad(k_.vector(p_.type, lanes), b_.CreateInBoundsGEP(p_.type, memory, k_.add(k_.mul(i, p.nr), j)), llvm::Align(p_.bytes));
      s_.store(at.batch, row, k_.add(column, j), sum, lanes);
    };
    IR columns = columns_of_tile(p, at, n);
    if (!s_.store_vectors) return k_.loop(k_.i64(0), columns, [&](IR j) { store(j, 1); });
    auto whole = [&] {
      for (int v = 0; v < p.vectors; ++v) store(k_.i64(v * p.lanes), p.lanes);
    };
    bool complete = columns == k_.i64(p.nr);
    if (!s_.n_run || s_.n_run % nr_ == 0) return complete ? whole() : k_.along(columns, p.lanes, store);
    IR first = b_.CreateUDiv(column, k_.i64(s_.n_run)), last = b_.CreateUDiv(b_.CreateAdd(column, k_.add(columns, k_.i64(-1))), k_.i64(s_.n_run));
    auto run_by_run = [&] {
      k_.loop(first, b_.CreateAdd(last, k_.i64(1)), [&](IR run) {
        IR begin = b_.CreateSub(k_.mul(run, s_.n_run), column), end = k_.min(b_.CreateAdd(begin, k_.i64(s_.n_run)), columns);
        begin = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, begin, k_.i64(0));
        k_.along(b_.CreateSub(end, begin), p.lanes, [&](IR j, int lanes) { store(k_.add(begin, j), lanes); });
      });
    };
    if (s_.n_run < p.nr) return run_by_run();
    IR is_whole = b_.CreateICmpEQ(first, last);
    if (!complete) is_whole = b_.CreateAnd(is_whole, b_.CreateICmpEQ(columns, k_.i64(p.nr)));
    k_.either(is_whole, whole, run_by_run);
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const MatmulSpec& s_;
  Panels p_;
  std::optional<Panels> end_;  // of the last columns
  std::vector<Panels> parts_;
  MatmulSpec plain_spec_;
  std::optional<Panels> plain_;  // for tiles of split floats that are none
  int64_t mr_, nr_, mc_ = 0, kc_ = 0, nb_ = 0;
  bool in_place_ = false;
  int64_t packed_a_ = 0, made_up_ = 0, made_up_for_columns_ = 0, packed_b_ = 0, turned_ = 0, sums_ = 0, own_sums_ = 0, plain_a_ = 0, plain_b_ = 0, pack_scratch_ = 0;  // places in scratch
};

}  // namespace

void emit_matmul(KernelContext& c, const MatmulSpec& wanted) {
  MatmulSpec spec = wanted;
  if (spec.may_split_floats = Panels(c.k, wanted).kind == Panels::SplitFloats; spec.may_split_floats || spec.groups || spec.a_run || spec.k_run) return MatmulEmitter(c, spec).emit();
  if (is_linear(c.k, spec)) return emit_linear_matmul(c, spec);
  if (is_thin(spec, c.k.target)) return emit_thin_matmul(c, spec);
  constexpr int64_t kFewColumns = 8;
  if (spec.n <= kFewColumns && !spec.pack_b && !spec.b_made && !spec.a_zero)
    if (MatmulSpec other = exchanged(spec); is_thin(other, c.k.target)) return emit_thin_matmul(c, other);
  MatmulEmitter(c, spec).emit();
}

}  // namespace cresset::cpu
