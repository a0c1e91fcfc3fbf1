#include "cpu/matmul/blocked_product.h"

#include "llvm/IR/Intrinsics.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;

void BlockedProduct::emit() {
  plan();
  // Groups share the rows, or K. Each group's last block may have fewer rows, and what no group has is one more.
  bool by_groups = s_.groups == MatmulSpec::Rows;
  int64_t m_blocks = by_groups ? s_.m / mc_ + std::min(s_.batch + 1, s_.m) : ceil_div(s_.m, mc_), n_blocks = ceil_div(s_.n, nb_), batch = by_groups ? 1 : s_.batch;
  c_.kernel.tasks = batch * m_blocks * n_blocks;
  reserve_scratch();
  IR end = k_.min(k_.end(), k_.i64(c_.kernel.tasks));  // other products of the kernel may have more
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
}

// Each row of blocks packs its part of B again and each column its part of A: large blocks, in as many tasks as keep all threads busy to the end.
// That packed A then comes from L3 does not show, it is read in order.
void BlockedProduct::choose_blocks(int64_t kc, const Limits& most) {
  kc_ = kc;
  // Of groups, blocks are as large as one of them would be if all were equal, or large enough to pay for packing B.
  int64_t m = s_.groups == MatmulSpec::Rows ? std::min(std::max(ceil_div(s_.m, s_.batch), kRowsOfGroup), s_.m) : s_.m;
  int64_t batch = s_.groups == MatmulSpec::Rows ? ceil_div(s_.m, m) : s_.batch;
  int64_t threads = c_.kernel.cost >= Kernel::kParallelCost ? num_threads() : 1;
  double best = 0;
  auto consider = [&](int64_t mc, int64_t nb) {
    int64_t tasks = batch * ceil_div(m, mc) * ceil_div(s_.n, nb), columns = std::min(nb, p_.computed(s_.n));
    double waiting = threads > 1 ? 0.05 : 0;  // for the last task, in tasks
    double time = (double(ceil_div(tasks, threads)) + waiting) * double(mc * columns + most.pack_a * mc + most.pack_b * columns);
    if (!mc_ || time < best) best = time, mc_ = mc, nb_ = nb;
  };
  each_division(m, by_rows() ? 192 : most.rows, mr_, 2 * threads, [&](int64_t mc) {
    each_division(s_.n, most.columns, nr_, 8 * threads, [&](int64_t nb) { consider(mc, nb); });
  });
}

IR BlockedProduct::panel_in_scratch(const Block& at, IR n, bool whole_block) {
  if (packs_ahead()) {  // two, which take turns from one step along K to the next
    IR of_step = b_.CreateUDiv(b_.CreateAdd(at.n, k_.i64(nr_ - 1)), k_.i64(nr_)), begin = b_.CreateSub(at.k0, at.k_begin), step = b_.CreateUDiv(in_run(begin), k_.i64(kc_));
    if (s_.k_run) step = b_.CreateAdd(step, k_.mul(b_.CreateUDiv(begin, k_.i64(s_.k_run)), ceil_div(s_.k_run, kc_)));
    n = k_.mul(b_.CreateAnd(b_.CreateAdd(b_.CreateUDiv(n, k_.i64(nr_)), b_.CreateMul(step, of_step)), k_.i64(1)), nr_);
  }
  return element_of_scratch(packed_b_, whole_block || packs_ahead() ? k_.mul(n, p_.height(kc_)) : k_.i64(0));
}

// 0 before the first one, and never beyond `size`.
IR BlockedProduct::end_of_group(IR group, int64_t size) {
  auto* i32 = b_.getInt32Ty();
  IR none = b_.CreateICmpSLT(group, k_.i64(0)), end = b_.CreateLoad(i32, b_.CreateInBoundsGEP(i32, s_.ends, b_.CreateSelect(none, k_.i64(0), group)));
  end = k_.min(b_.CreateSExt(end, b_.getInt64Ty()), k_.i64(size));
  return b_.CreateSelect(b_.CreateOr(none, b_.CreateICmpSLT(end, k_.i64(0))), k_.i64(0), end);
}
// Rows and group of this one of all blocks, or no rows. What no group has comes last, and is the sum of nothing.
BlockedProduct::Block BlockedProduct::block_of_group(IR wanted) {
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

void BlockedProduct::each_block_of_k(Block at, const std::function<void(const Block&)>& body) {
  if (s_.groups) {
    IR once = k_.add(at.k_begin, k_.i64(1)), end = b_.CreateSelect(b_.CreateICmpSLT(at.k_end, once), once, at.k_end);
    k_.loop(at.k_begin, end, kc_, [&](IR k) {
      IR left = b_.CreateSub(at.k_end, k);
      at.k0 = k, at.k = b_.CreateSelect(b_.CreateICmpSLT(left, k_.i64(0)), k_.i64(0), k_.min(left, k_.i64(kc_)));
      body(at);
    });
  } else {
    k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(s_.k, 1)), std::max<int64_t>(run(), 1), [&](IR begin) {
      k_.loop(k_.i64(0), k_.i64(std::max<int64_t>(run(), 1)), kc_, [&](IR k) {
        at.k0 = k_.add(begin, k);
        at.k = s_.k ? k_.part(run(), kc_, k) : k_.i64(0);
        body(at);
      });
    });
  }
}

void BlockedProduct::block(const Block& at) {
  IR batch = at.batch, m0 = at.m0, n0 = at.n0;
  begin_block(at);
  each_block_of_k(at, [&](const Block& part) { step(part); });
  if (by_rows())
    k_.loop(k_.i64(0), at.m, mr_, [&](IR m) {
      k_.loop(k_.i64(0), rows_of_tile(at, m), [&](IR i) {
        each_panel(at, [&](Panels& p, IR n) {
          // The next row's: the hardware sees each row's part begin anew.
          if (s_.prefetch) s_.prefetch(batch, k_.add(b_.CreateAdd(b_.CreateAdd(m0, m), i), k_.i64(1)), b_.CreateAdd(n0, n), false);
          as_wide_as_needed(p, at, n, [&](Panels& p) { write_row(p, at, m, i, n, kept_sums(p, m, n)); });
        });
      });
    });
  end_block(at);
}

void BlockedProduct::keep_panels() {
  c_.kernel.packed_bytes = size_t(round_up(s_.n, nr_) * p_.height(s_.k) * p_.bytes);
  state_ = b_.CreateLoad(b_.getInt64Ty(), s_.packed);
}
IR BlockedProduct::kept_or(IR scratch, IR n, IR k) {
  if (!state_) return scratch;
  IR first = b_.CreateInBoundsGEP(b_.getInt8Ty(), s_.packed, k_.i64(PackedWeight::kHeader));
  IR kept = b_.CreateInBoundsGEP(p_.unit, first, b_.CreateAdd(k_.mul(n, p_.height(s_.k)), k_.mul(b_.CreateUDiv(k, k_.i64(p_.depth)), nr_)));
  return b_.CreateSelect(is_state(PackedWeight::Elsewhere), scratch, kept);
}

void BlockedProduct::pack_windows(Panels& p, const Block& at, IR from, IR columns, bool asked, const std::function<IR(IR n)>& panel) {
  s_.pack_b({at.batch, at.k0, b_.CreateAdd(at.n0, from), at.k, columns, panel, p.nr, p.lanes, element_of_scratch(pack_scratch_, k_.i64(0)), asked});
  if (p.kind == Panels::PairsOfBf16) k_.loop(k_.i64(0), columns, p.nr, [&](IR n) { s_.packs_units ? p.zero_end(panel(n), at.k) : p.pair_up(panel(n), at.k); });
}

BlockedProduct::Panel BlockedProduct::next_panel(const Block& at, IR n) {
  IR next = k_.add(n, k_.i64(nr_)), behind = b_.CreateAdd(at.k0, at.k);
  IR here = b_.CreateICmpSLT(next, at.n), further = b_.CreateAnd(b_.CreateNot(here), b_.CreateICmpSLT(behind, at.k_end));
  IR left = s_.k_run ? b_.CreateSub(k_.i64(s_.k_run), in_run(behind)) : b_.CreateSub(at.k_end, behind);
  Panel p{b_.CreateSelect(further, k_.i64(0), next), b_.CreateSelect(further, behind, at.k0), b_.CreateSelect(further, k_.min(k_.i64(kc_), left), at.k), nullptr};
  p.exists = is_whole_panel(at, p.n);
  return p;
}
IR BlockedProduct::is_packed(const Block& at, IR n) {
  IR is_first = b_.CreateAnd(b_.CreateICmpEQ(n, k_.i64(0)), b_.CreateICmpEQ(at.k0, at.k_begin));
  return b_.CreateAnd(b_.CreateNot(is_first), is_whole_panel(at, n));
}

void BlockedProduct::keep(Panels& p, ArrayRef<IR> sums, IR memory, bool add) {
  auto* vector = k_.vector(p.type, p.lanes);
  const llvm::Align align(std::min(16, p.lanes * p.bytes));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    IR address = p.vector_at(memory, k_.i64(0), i), x = sum;
    if (IR old = add ? b_.CreateAlignedLoad(vector, address, align) : nullptr) x = k_.plus(old, x);
    b_.CreateAlignedStore(x, address, align);
  }
}

// The part of a row of a tile that lies within C.
void BlockedProduct::write_row_of_result(const Panels& p, const Block& at, IR row, IR i, IR n, IR memory) {
  IR column = b_.CreateAdd(at.n0, n);
  auto store = [&](IR j, int lanes) {
    IR sum = b_.CreateAlignedLoad(k_.vector(p_.type, lanes), b_.CreateInBoundsGEP(p_.type, memory, k_.add(k_.mul(i, p.nr), j)), llvm::Align(p_.bytes));
    s_.store(at.batch, row, k_.add(column, j), made_up(sum, k_.add(n, j), lanes), lanes);
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

}  // namespace cresset::cpu
