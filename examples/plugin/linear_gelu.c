/* A vendor's kernel for a user's composite, acme.linear_gelu: gelu(x @ weight.T + bias), tanh form, bf16. It takes the best instructions
 * that the machine has: AMX tiles, AVX-512's bf16 products, AVX2, or what any compiler makes of it. Each path is compiled for its own
 * target, so one library serves all machines (gcc 11, clang 14 or later; no -march):
 *
 *     cc -O3 -shared -fPIC -I $(python -c "import torch_cresset; print(torch_cresset.include_path())") linear_gelu.c -o liblinear_gelu.so
 *
 * ACME_LINEAR_GELU=amx|avx512|avx2|portable forces a path. linear_gelu.py is the user's side.
 *
 * All paths multiply pairs of neighbours along the depth, as the bf16 instructions do. The weight is packed for that: panels of COLUMNS
 * outputs, and in a panel one 32-bit pair of each output after the other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cresset/kernel_plugin.h"

#define INLINE static inline __attribute__((always_inline))
enum { ROWS = 64, COLUMNS = 32, TILE = 16 }; /* a task's block of the result; rows, columns and pairs of a tile */

typedef struct {
  int64_t rows, columns, depth, pairs; /* pairs: depth / 2, up to a multiple of TILE; the weight is zero there */
  int64_t blocks, panels;
  uint32_t* packed;
} kernel;

typedef struct {
  const kernel* k;
  const uint16_t *x, *weight, *bias;
  uint16_t* y;
} call;

/* The products of `rows` <= ROWS rows of x with a panel. */
typedef void multiply(const kernel* k, const uint16_t* x, const uint32_t* panel, int64_t rows, float (*y)[COLUMNS]);

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Eight numbers, in whatever registers the target has. */
typedef float f32x8 __attribute__((vector_size(32), may_alias));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint32_t u32x8 __attribute__((vector_size(32), may_alias));
typedef uint16_t u16x8 __attribute__((vector_size(16), may_alias));
#define ALL(x) ((f32x8){x, x, x, x, x, x, x, x})
#define SELECT(condition, yes, no) (f32x8)(((condition) & (i32x8)(yes)) | (~(condition) & (i32x8)(no)))

/* gelu(y + bias) in bf16. x / (1 + exp(-2 u)) is 0.5 x (1 + tanh(u)); exp by its series around the nearest power of 2. */
INLINE void finish(const float* y, const uint16_t* bias, uint16_t* line) {
  f32x8 x = *(const f32x8*)y + (f32x8)(__builtin_convertvector(*(const u16x8*)bias, u32x8) << 16);
  f32x8 t = -2 * 1.44269504f * 0.7978845608f * (x + 0.044715f * x * x * x);
  t = SELECT(t < 128, t, ALL(128.f)); /* 2^128 is infinity */
  t = SELECT(t > -126, t, ALL(-126.f));
  f32x8 shifted = t + 12582912.f, r = (t - (shifted - 12582912.f)) * 0.69314718f; /* the sum rounds to an integer, in its low bits */
  f32x8 e = 1 + r * (1 + r * (1 / 2.f) * (1 + r * (1 / 3.f) * (1 + r * (1 / 4.f) * (1 + r * (1 / 5.f) * (1 + r * (1 / 6.f))))));
  x /= 1 + e * (f32x8)(((u32x8)shifted + 127) << 23);
  u32x8 bits = (u32x8)x;
  f32x8 rounded = (f32x8)(bits + 0x7fff + (bits >> 16 & 1)); /* to even */
  *(u16x8*)line = __builtin_convertvector((u32x8)SELECT(x == x, rounded, x) >> 16, u16x8);
}

static void pack(void* context, int64_t begin, int64_t end) {
  const call* c = context;
  const kernel* k = c->k;
  for (int64_t panel = begin; panel < end; ++panel)
    for (int64_t first = 0; first < k->pairs; first += TILE)
      for (int64_t j = 0; j < COLUMNS; ++j)
        for (int64_t p = first; p < first + TILE; ++p) {
          int64_t column = panel * COLUMNS + j;
          uint32_t pair = 0;
          if (column < k->columns && p < k->depth / 2) memcpy(&pair, c->weight + column * k->depth + 2 * p, sizeof pair);
          k->packed[(panel * k->pairs + p) * COLUMNS + j] = pair;
        }
}

/* Tasks [begin, end) of the panels' blocks. Inlined into a function for each target, which makes its vectors of it. */
INLINE void compute(void* context, int64_t begin, int64_t end, multiply* multiply) {
  const call* c = context;
  const kernel* k = c->k;
  _Alignas(64) float y[ROWS][COLUMNS];
  for (int64_t i = begin; i < end; ++i) {
    int64_t panel = i / k->blocks, row = i % k->blocks * ROWS, rows = least(k->rows - row, ROWS);
    int64_t column = panel * COLUMNS, columns = least(k->columns - column, COLUMNS);
    multiply(k, c->x + row * k->depth, k->packed + panel * k->pairs * COLUMNS, rows, y);
    _Alignas(64) uint16_t bias[COLUMNS] = {0};
    memcpy(bias, c->bias + column, columns * sizeof *bias);
    for (int64_t r = 0; r < rows; ++r) {
      _Alignas(64) uint16_t line[COLUMNS];
      for (int64_t j = 0; j < COLUMNS; j += 8) finish(y[r] + j, bias + j, line + j);
      memcpy(c->y + (row + r) * k->columns + column, line, columns * sizeof *line);
    }
  }
}

/* Without bf16 instructions: each half of a pair is an f32 after a shift or a mask. */
INLINE void multiply_f32(const kernel* k, const uint16_t* x, const uint32_t* panel, int64_t rows, float (*y)[COLUMNS]) {
  enum { STEP = 4, WIDTH = 16 };
  for (int64_t first = 0; first < rows; first += STEP)
    for (int64_t column = 0; column < COLUMNS; column += WIDTH) {
      const uint16_t* row[STEP];
      f32x8 sum[STEP][2];
      for (int i = 0; i < STEP; ++i) {
        row[i] = x + least(first + i, rows - 1) * k->depth; /* beyond the last: the last again */
        sum[i][0] = sum[i][1] = ALL(0);
      }
      for (int64_t p = 0; p < k->depth / 2; ++p) {
        const u32x8* w = (const u32x8*)(panel + p * COLUMNS + column);
        f32x8 even0 = (f32x8)(w[0] << 16), odd0 = (f32x8)(w[0] & 0xffff0000), even1 = (f32x8)(w[1] << 16), odd1 = (f32x8)(w[1] & 0xffff0000);
        for (int i = 0; i < STEP; ++i) {
          float pair;
          memcpy(&pair, row[i] + 2 * p, sizeof pair);
          u32x8 both = (u32x8)ALL(pair);
          f32x8 even = (f32x8)(both << 16), odd = (f32x8)(both & 0xffff0000);
          sum[i][0] += even * even0, sum[i][0] += odd * odd0;
          sum[i][1] += even * even1, sum[i][1] += odd * odd1;
        }
      }
      for (int i = 0; i < STEP; ++i)
        for (int v = 0; v < 2; ++v) *(f32x8*)(y[first + i] + column + 8 * v) = sum[i][v];
    }
}

static void compute_portable(void* context, int64_t begin, int64_t end) { compute(context, begin, end, multiply_f32); }
static int has_portable(void) { return 1; }

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AVX2 "avx2,fma"
#define AVX512 "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"
#define AMX AVX512 ",amx-tile,amx-bf16"

static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

__attribute__((target(AVX2))) static void compute_avx2(void* context, int64_t begin, int64_t end) { compute(context, begin, end, multiply_f32); }

static int has_avx512(void) {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
}

__attribute__((target(AVX512))) static void multiply_avx512(const kernel* k, const uint16_t* x, const uint32_t* panel, int64_t rows, float (*y)[COLUMNS]) {
  enum { STEP = 8 };
  for (int64_t first = 0; first < rows; first += STEP) {
    const uint16_t* row[STEP];
    __m512 sum[STEP][2];
    for (int i = 0; i < STEP; ++i) {
      row[i] = x + least(first + i, rows - 1) * k->depth;
      sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    }
    for (int64_t p = 0; p < k->depth / 2; ++p) {
      __m512bh w0 = (__m512bh)_mm512_load_si512(panel + p * COLUMNS), w1 = (__m512bh)_mm512_load_si512(panel + p * COLUMNS + 16);
      for (int i = 0; i < STEP; ++i) {
        int32_t pair;
        memcpy(&pair, row[i] + 2 * p, sizeof pair);
        __m512bh a = (__m512bh)_mm512_set1_epi32(pair);
        sum[i][0] = _mm512_dpbf16_ps(sum[i][0], a, w0);
        sum[i][1] = _mm512_dpbf16_ps(sum[i][1], a, w1);
      }
    }
    for (int i = 0; i < STEP; ++i) _mm512_store_ps(y[first + i], sum[i][0]), _mm512_store_ps(y[first + i] + 16, sum[i][1]);
  }
}

__attribute__((target(AVX512))) static void compute_avx512(void* context, int64_t begin, int64_t end) { compute(context, begin, end, multiply_avx512); }

/* Linux gives the tiles' state to processes that ask for it, for all their threads. */
static int has_amx(void) {
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
  unsigned a, b, c, d;
  return has_avx512() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & AMX_BF16 && d & AMX_TILE && !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA);
}

/* What the tile instructions read through a pointer, gcc does not see them read. */
#define WRITTEN(memory) __asm__ volatile("" : : "r"(memory) : "memory")

__attribute__((target(AMX))) static void multiply_amx(const kernel* k, const uint16_t* x, const uint32_t* panel, int64_t rows, float (*y)[COLUMNS]) {
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } tiles = {.palette = 1}; /* 0 and 1: sums, 2: x, 3 and 4: the panel */
  _Alignas(64) uint16_t last[TILE][2 * TILE] = {{0}};
  int64_t whole = k->depth / (2 * TILE) * TILE, stride = COLUMNS * sizeof *panel;
  for (int64_t first = 0; first < rows; first += TILE) {
    int64_t count = least(rows - first, TILE);
    if (tiles.rows[0] != count) {
      for (int t = 0; t < 5; ++t) tiles.row_bytes[t] = 64, tiles.rows[t] = t < 3 ? count : TILE;
      WRITTEN(&tiles);
      _tile_loadconfig(&tiles);
    }
    _tile_zero(0);
    _tile_zero(1);
    for (int64_t p = 0; p < k->pairs; p += TILE) {
      const uint16_t* block = x + first * k->depth + 2 * p;
      int64_t block_stride = k->depth * sizeof *x;
      if (p == whole) { /* depth that fills no tile */
        for (int64_t i = 0; i < count; ++i) memcpy(last[i], block + i * k->depth, (k->depth - 2 * p) * sizeof *x);
        WRITTEN(last);
        block = last[0], block_stride = sizeof *last;
      }
      _tile_loadd(2, block, block_stride);
      _tile_loadd(3, panel + p * COLUMNS, stride);
      _tile_loadd(4, panel + p * COLUMNS + TILE, stride);
      _tile_dpbf16ps(0, 2, 3);
      _tile_dpbf16ps(1, 2, 4);
    }
    _tile_stored(0, y[first], sizeof *y);
    _tile_stored(1, y[first] + TILE, sizeof *y);
  }
  _tile_release();
}

__attribute__((target(AMX))) static void compute_amx(void* context, int64_t begin, int64_t end) { compute(context, begin, end, multiply_amx); }
#endif

typedef struct {
  const char *option, *name;
  int (*has)(void);
  cresset_task compute;
} path;

static const path paths[] = { /* the best first */
#if defined(__x86_64__) && defined(__linux__)
    {"amx", "linear_gelu_amx", has_amx, compute_amx},
    {"avx512", "linear_gelu_avx512", has_avx512, compute_avx512},
    {"avx2", "linear_gelu_avx2", has_avx2, compute_avx2},
#endif
    {"portable", "linear_gelu_portable", has_portable, compute_portable}};

static const path* chosen;
static char unusable[128]; /* why there is none */

static int query(const cresset_query* q, void** handle, char* reason, size_t reason_size) {
#define REFUSE(...) return snprintf(reason, reason_size, __VA_ARGS__), 0
  if (strcmp(q->name, "acme.linear_gelu")) REFUSE("only acme.linear_gelu");
  if (!chosen) REFUSE("%s", unusable);
  if (q->version != 1) REFUSE("version %lld is not known", (long long)q->version);
  if (q->attribute_count) REFUSE("attribute %s is not known", q->attributes[0].name);
  if (q->operand_count != 3 || q->result_count != 1) REFUSE("operands must be x, weight and bias");
  const cresset_type *x = &q->operands[0], *weight = &q->operands[1], *bias = &q->operands[2], *y = &q->results[0];
  for (const cresset_type* t = x; t <= bias; ++t)
    if (strcmp(t->element, "bf16")) REFUSE("operand %d is %s, only bf16", (int)(t - x), t->element);
  if (strcmp(y->element, "bf16")) REFUSE("the result is %s, only bf16", y->element);
  if (x->rank < 1 || weight->rank != 2 || bias->rank != 1 || y->rank != x->rank) REFUSE("x must be [..., in], weight [out, in] and bias [out]");
  int64_t rows = 1, columns = weight->sizes[0], depth = weight->sizes[1];
  for (int64_t d = 0; d + 1 < x->rank; ++d) rows *= x->sizes[d];
  if (x->sizes[x->rank - 1] != depth || bias->sizes[0] != columns) REFUSE("x must be [..., in], weight [out, in] and bias [out]");
  if (!rows || !columns || !depth) REFUSE("there is nothing to compute");
  if (depth % 2) REFUSE("in is %lld, it must be even", (long long)depth);
  kernel* k = malloc(sizeof *k);
  if (!k) REFUSE("out of memory");
  *k = (kernel){rows, columns, depth, (depth / 2 + TILE - 1) / TILE * TILE, (rows + ROWS - 1) / ROWS, (columns + COLUMNS - 1) / COLUMNS, 0};
  k->packed = aligned_alloc(64, k->panels * k->pairs * COLUMNS * sizeof *k->packed);
  if (!k->packed) {
    free(k);
    REFUSE("out of memory");
  }
  *handle = k;
  return 1;
}

static int run(void* handle, const void* const* operands, void* const* results, const cresset_threads* threads, char* error, size_t error_size) {
  const kernel* k = handle;
  call c = {k, operands[0], operands[1], operands[2], results[0]};
  (void)error, (void)error_size;
  threads->parallel_for(pack, &c, k->panels, 1);
  threads->parallel_for(chosen->compute, &c, k->panels * k->blocks, 1);
  return 0;
}

static void release(void* handle) {
  kernel* k = handle;
  free(k->packed);
  free(k);
}

const cresset_plugin* cresset_get_plugin(void) {
  static cresset_plugin plugin = {sizeof plugin, CRESSET_KERNEL_ABI, "linear_gelu", query, run, release};
  const char* forced = getenv("ACME_LINEAR_GELU");
  snprintf(unusable, sizeof unusable, "ACME_LINEAR_GELU=%s is no path of this library", forced ? forced : "");
  for (size_t i = 0; i < sizeof paths / sizeof *paths && !chosen; ++i) {
    if (forced && strcmp(forced, paths[i].option)) continue;
    if (paths[i].has()) chosen = &paths[i];
    else if (forced) snprintf(unusable, sizeof unusable, "ACME_LINEAR_GELU=%s: this machine has no such instructions", forced);
  }
  if (chosen) plugin.name = chosen->name;
  return &plugin;
}
