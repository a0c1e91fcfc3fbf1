/* The C interface of kernels for composites. A plugin is a shared library that exports
 *
 *     const cresset_plugin* cresset_get_plugin(void);
 *
 * loaded with torch_cresset.load_plugin(path) or CRESSET_PLUGINS=path:path. When a program is compiled each of its composites is offered
 * to the plugins, the latest loaded first: one that accepts runs it, otherwise its decomposition is compiled.
 * See docs/kernels.md and examples/plugin.
 *
 * Everything passed in belongs to the caller and is valid during the call only. Structures begin with their size: a field
 * beyond it is not there. `query` may be called from several threads; `run` of one handle is not called twice at the same time. */
#ifndef CRESSET_KERNEL_PLUGIN_H
#define CRESSET_KERNEL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when the meaning of a field changes; new fields at the end leave it as it is. */
#define CRESSET_KERNEL_ABI 1

/* A ranked tensor: dense, row-major. */
typedef struct {
  const char* element;  /* StableHLO's name: "f32", "bf16", "f64", "i64", "i32", "i1" (a byte for each element), "ui8", … */
  int64_t rank;
  const int64_t* sizes;
} cresset_type;

typedef enum { CRESSET_BOOL, CRESSET_INT, CRESSET_FLOAT, CRESSET_STRING, CRESSET_INTS, CRESSET_FLOATS, CRESSET_OTHER } cresset_kind;

/* An attribute; `kind` says which fields hold its value. CRESSET_OTHER has it as MLIR text in `text`. */
typedef struct {
  const char* name;
  cresset_kind kind;
  int64_t integer;  /* CRESSET_BOOL, CRESSET_INT */
  double number;    /* CRESSET_FLOAT */
  const char* text; /* CRESSET_STRING, CRESSET_OTHER; zero-terminated */
  const int64_t* integers;
  const double* numbers;
  int64_t count;    /* of CRESSET_INTS, CRESSET_FLOATS */
} cresset_attribute;

/* What is asked for: one composite as it stands in the program. */
typedef struct {
  size_t size;
  const char* name;  /* "aten.gelu" */
  int64_t version;
  int64_t operand_count;
  const cresset_type* operands;
  int64_t result_count;
  const cresset_type* results;
  int64_t attribute_count;
  const cresset_attribute* attributes; /* sorted by name */
} cresset_query;

typedef void (*cresset_task)(void* context, int64_t begin, int64_t end);

/* The program's threads. */
typedef struct {
  size_t size;
  int64_t count;
  /* Runs tasks [0, tasks) on all threads, `grain` or more at a time, and returns when all are done. */
  void (*parallel_for)(cresset_task task, void* context, int64_t tasks, int64_t grain);
} cresset_threads;

typedef struct {
  size_t size;      /* sizeof(cresset_plugin) */
  int64_t abi;      /* CRESSET_KERNEL_ABI */
  const char* name; /* for reports */
  /* Nonzero accepts: `*handle` is the kernel, with the attributes decoded. Zero refuses; `reason` then says why (zero-terminated,
   * at most reason_size bytes) and is shown to the user. */
  int (*query)(const cresset_query* query, void** handle, char* reason, size_t reason_size);
  /* Zero is success; otherwise `error` says what went wrong, and the user's program raises it. Results overlap no operand. */
  int (*run)(void* handle, const void* const* operands, void* const* results, const cresset_threads* threads, char* error, size_t error_size);
  /* Called once for each accepted query, when its program is gone. May be null. */
  void (*release)(void* handle);
} cresset_plugin;

typedef const cresset_plugin* (*cresset_get_plugin_function)(void);

#ifdef __cplusplus
}
#endif
#endif
