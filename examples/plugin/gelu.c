/* A vendor's kernels for aten.gelu and its gradient, complete. Build and use:
 *
 *     cc -O3 -march=native -shared -fPIC -I $(python -c "import torch_cresset; print(torch_cresset.include_path())") gelu.c -o libgelu.so -lm
 *     python -c "import torch_cresset; torch_cresset.load_plugin('./libgelu.so')"
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cresset/kernel_plugin.h"

typedef struct {
  int backward, tanh_form;
  int64_t count;
} kernel;

typedef struct {
  const kernel* k;
  const float *gradient, *x;
  float* y;
} call;

static void elements(void* context, int64_t begin, int64_t end) {
  const call* c = context;
  for (int64_t i = begin; i < end; ++i) {
    float x = c->x[i], cdf, slope;
    if (c->k->tanh_form) {
      float t = tanhf(0.7978845608f * (x + 0.044715f * x * x * x));
      cdf = 0.5f * (1 + t);
      slope = 0.5f * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
    } else {
      cdf = 0.5f * (1 + erff(x * 0.7071067812f));
      slope = 0.3989422804f * expf(-0.5f * x * x);
    }
    c->y[i] = c->k->backward ? c->gradient[i] * (cdf + x * slope) : x * cdf;
  }
}

static int query(const cresset_query* q, void** handle, char* reason, size_t reason_size) {
  int backward = !strcmp(q->name, "aten.gelu_backward");
  if (!backward && strcmp(q->name, "aten.gelu")) return snprintf(reason, reason_size, "only aten.gelu and aten.gelu_backward"), 0;
  if (q->version != 1) return snprintf(reason, reason_size, "version %lld is not known", (long long)q->version), 0;
  if (strcmp(q->operands[0].element, "f32")) return snprintf(reason, reason_size, "only f32"), 0;
  kernel* k = calloc(1, sizeof *k);
  if (!k) return snprintf(reason, reason_size, "out of memory"), 0;
  k->backward = backward;
  k->count = 1;
  for (int64_t d = 0; d < q->results[0].rank; ++d) k->count *= q->results[0].sizes[d];
  for (int64_t i = 0; i < q->attribute_count; ++i)
    if (!strcmp(q->attributes[i].name, "approximate")) k->tanh_form = !strcmp(q->attributes[i].text, "tanh");
  *handle = k;
  return 1;
}

static int run(void* handle, const void* const* operands, void* const* results, const cresset_threads* threads, char* error, size_t error_size) {
  const kernel* k = handle;
  call c = {k, operands[0], operands[k->backward], results[0]};
  (void)error, (void)error_size;
  threads->parallel_for(elements, &c, k->count, 4096);
  return 0;
}

static const cresset_plugin plugin = {sizeof plugin, CRESSET_KERNEL_ABI, "example_gelu", query, run, free};

const cresset_plugin* cresset_get_plugin(void) { return &plugin; }
