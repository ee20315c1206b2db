/* pipeline.h - compiles a traced graph to an executable. */
#ifndef SN_PIPELINE_H
#define SN_PIPELINE_H

#include "backend/backend.h"
#include "passes/passes.h"
#include "target/tuning.h"

typedef struct sn_compile_options {
  const sn_target *target; /* groups are made for it */
  const sn_device *device; /* the executable runs on it */
  bool jit;                /* make code at run time if the platform can */
  bool pass_on[SN_PASS_COUNT];
  bool fusion;          /* off: one kernel per op */
  bool winograd;        /* on: suitable convolutions have fewer multiplications, larger errors */
  bool excess;          /* on: see sn_fuse_options */
  bool saved;           /* the graph comes from sn_saved_read: passes have run already */
  bool record;          /* keep what the stages did: see inspect/record.h */
  const bool *donate;   /* per argument: its memory may be overwritten; NULL: none may */
  size_t memory_budget; /* most bytes of the arena; 0: no limit */
  sn_tuning tuning;     /* sn_compile_begin sets target, fusion and jit by it */
} sn_compile_options;

/* Whether some values keep more than their 16 bits. */
static inline bool sn_keeps_excess(const sn_compile_options *options) {
  return options->excess && !options->target->deterministic;
}

/* Compiles *traced (with outputs and n_arguments set). Temporary memory comes from its arena; the
 * result owns an arena of its own, and the caller frees it with sn_executable_free. */
sn_status sn_compile_graph(const sn_graph *traced, const sn_compile_options *options,
                           sn_executable **out);

/* The same, but one stage per call, for a caller with other work in between. The contents of *traced, and what options
 * point at, remain the caller's and must stay valid until the end. */
typedef struct sn_compiling sn_compiling;
sn_status sn_compiling_new(const sn_graph *traced, const sn_compile_options *options,
                           sn_compiling **out);
/* Runs the next stage. The last stage sets *out. After a failure it must not be called again. */
sn_status sn_compiling_continue(sn_compiling *compiling, sn_executable **out);
void sn_compiling_free(sn_compiling *compiling); /* at any stage; NULL is ignored */

/* The graph for writing source code that calls the public functions: *traced after the passes whose result is readable
 * (passes.def). Nothing is expanded for the target or for kernels, and functions (regions.h) stay whole. */
sn_status sn_readable_graph(const sn_graph *traced, const sn_compile_options *options,
                            sn_arena *arena, sn_graph *out);

/* The options that can be switched by number and name: the passes in their order, then "fuse", "jit"
 * and "winograd", which is off by default. */
#define SN_SWITCH_COUNT (SN_PASS_COUNT + 3)
const char *sn_switch_name(int number); /* NULL for an unknown number */
bool *sn_switch(sn_compile_options *options, int number);

void sn_executable_free(sn_executable *exe);

#endif
