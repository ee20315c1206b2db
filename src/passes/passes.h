/* passes.h - the type of a pass (graph -> graph) and the table of all passes, which passes.def lists. */
#ifndef SN_PASSES_PASSES_H
#define SN_PASSES_PASSES_H

#include "graph/graph.h"
#include "target/target.h"

/* One rewrite by a rule: node `from` of the old graph became node `to` of the new one. */
typedef struct sn_rewrite_note {
  const char *rule;
  sn_id from, to;
} sn_rewrite_note;

typedef struct sn_rewrite_notes {
  sn_arena *arena;
  sn_rewrite_note *list;
  size_t n, capacity;
} sn_rewrite_notes;

typedef struct sn_pass_context {
  const sn_target *target;
  bool share;              /* hash-cons while building */
  bool winograd;           /* use Winograd for convolutions that it suits (build/conv_winograd.h) */
  sn_rewrite_notes *notes; /* where rewrites are recorded; NULL: they are not */
} sn_pass_context;

/* Reads *from, and initialises and fills *to in to->arena, which the caller has set. Temporary
 * memory comes from the arena of *from. */
typedef sn_status sn_pass_fn(const sn_pass_context *context, const sn_graph *from, sn_graph *to);

#define PASS(name, on, readable, of_control, doc) sn_pass_fn sn_pass_##name;
#include "passes/passes.def"

enum {
#define PASS(name, on, readable, of_control, doc) SN_PASS_##name,
#include "passes/passes.def"
  SN_PASS_COUNT
};

/* inline_functions.c: the stage before all passes, for a graph with functions or named values. */
bool sn_has_functions(const sn_graph *graph);
sn_pass_fn sn_inline_functions;

/* decompose.c: the stage between inlining and the passes, for a graph with ops that are kept whole
 * for autodiff only (conv, softmax). */
bool sn_needs_expanding(const sn_graph *graph);
sn_pass_fn sn_expand;

typedef struct sn_pass_info {
  const char *name;
  sn_pass_fn *run;
  bool on;         /* by default */
  bool readable;   /* sn_readable_graph runs it, too */
  bool of_control; /* it does nothing to a graph without control flow, so it is skipped there */
} sn_pass_info;

extern const sn_pass_info sn_pass_table[SN_PASS_COUNT];

#endif
