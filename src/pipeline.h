/* pipeline.h - compiling: a traced graph becomes an executable. */
#ifndef SN_PIPELINE_H
#define SN_PIPELINE_H

#include "backend/backend.h"
#include "passes/passes.h"
#include "target/tuning.h"

typedef struct sn_compile_options {
  const sn_target *target; /* that groups are made for */
  const sn_device *device; /* that runs them */
  bool jit;                /* make code at run time where the platform can */
  bool pass_on[SN_PASS_COUNT];
  bool fusion;          /* off: one kernel per op */
  bool winograd;        /* on: convolutions that it suits have fewer products, rounded worse */
  bool excess;          /* on: see sn_fuse_options */
  bool saved;           /* the graph is one of sn_saved_read: its passes lie behind it */
  bool record;          /* keep what the stages did: see inspect/record.h */
  const bool *donate;   /* per argument, or NULL */
  size_t memory_budget; /* bytes that the arena has to keep within; 0: as many as it takes */
  sn_tuning tuning;     /* sn_compile_begin follows it: target, fusion and jit are as it says then */
} sn_compile_options;

/* Compiles *traced (with outputs and n_arguments set). Temporaries live in its arena; the result
 * owns an arena of its own and is given back with sn_executable_free. */
sn_status sn_compile_graph(const sn_graph *traced, const sn_compile_options *options,
                           sn_executable **out);

/* The same, a stage at each call, for a caller with other things to do in between. Until the end *traced's contents
 * stay where they are; they are the caller's, as is what options point at. */
typedef struct sn_compiling sn_compiling;
sn_status sn_compiling_new(const sn_graph *traced, const sn_compile_options *options,
                           sn_compiling **out);
/* *out is set by the last stage. After a failure there is nothing to go on with. */
sn_status sn_compiling_continue(sn_compiling *compiling, sn_executable **out);
void sn_compiling_free(sn_compiling *compiling); /* at any stage; NULL is ignored */

/* The graph that source is written from in the words of the public functions: *traced behind the passes that keep to
 * them, expanded neither for the machine nor into what only kernels know; functions (regions.h) stay whole. */
sn_status sn_readable_graph(const sn_graph *traced, const sn_compile_options *options,
                            sn_arena *arena, sn_graph *out);

/* What of the options can be switched by number and name: the passes in their order, then "fuse",
 * "jit" and "winograd", which is off unless it is asked for. */
#define SN_SWITCH_COUNT (SN_PASS_COUNT + 3)
const char *sn_switch_name(int number); /* NULL: there is none */
bool *sn_switch(sn_compile_options *options, int number);

void sn_executable_free(sn_executable *exe);

#endif
