// Forward attention without the matrix of scores: each block of keys is multiplied with a group of queries, and its softmax is corrected as larger scores come along
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). How both products are computed is up to who derives.
#pragma once

#include <memory>

#include "cpu/attention/attention.h"

namespace cresset::cpu {

class ForwardEmitter : protected AttentionEmitter {
 public:
  virtual ~ForwardEmitter() = default;
  virtual void run();

 protected:
  /// `operands` are query, key and value. Weights are rounded to bf16, as values are, if pairs of them are to be multiplied.
  ForwardEmitter(KernelContext& c, const AttentionOperands& values, llvm::ArrayRef<HeadArray> operands, bool weights_in_pairs, bool may_use_tiles = false);

  /// The queries of a task, before all blocks; the keys and values of a block.
  virtual void take_queries(IR, IR, IR) {}
  virtual void take_keys(const Block&) {}
  /// To scores_at_[query - m][key - n0] of the group of queries from m on, counted from m0, and the first `seen` keys.
  virtual void multiply_keys(const Block& block, IR m, IR seen) = 0;
  /// Weights, which are where scores were or in weights_at_, times values: added to the sums, once these have been multiplied by corrections_at_[query - m]; or, where all keys are one block, what the sums are.
  virtual void add_values(const Block& block, IR m, IR seen) = 0;

  bool is_one_block() const { return scores_.n <= keys_; }
  IR sum_at(IR query, IR column) { return sums(o_, sums_at_, rows_, query, column); }

  MatmulSpec sums_;
  Panels o_;
  int64_t rows_ = 0, keys_ = 0, group_ = 0;  ///< queries of a task, keys of a block, queries that meet it together
  int64_t scores_at_ = 0, weights_at_ = 0, sums_at_ = 0, corrections_at_ = 0;  ///< places in scratch

 private:
  void some_queries(IR head, IR m0);
  void softmax(const Block& block, IR m, IR seen);
  int64_t rows_at_once() const;
  void finish(IR head, IR m0, IR rows);

  int64_t largest_at_ = 0, totals_at_ = 0;
};

/// Few queries, as those of a token that is generated: keys and values are read where they lie. Null where these are not so, or queries are more.
std::unique_ptr<ForwardEmitter> attention_of_few_queries(KernelContext& c, const AttentionOperands& values, llvm::ArrayRef<HeadArray> operands);

}  // namespace cresset::cpu
