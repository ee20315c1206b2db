/* passes.h - graph -> graph. The table of passes is passes.def. */
#ifndef SN_PASSES_PASSES_H
#define SN_PASSES_PASSES_H

#include "graph/graph.h"
#include "target/target.h"

/* One rewrite by a rule: a node of the graph before, and what stands in its place. */
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
  bool winograd;           /* for convolutions that it suits (build/conv_winograd.h) */
  sn_rewrite_notes *notes; /* where rewrites are noted; NULL: nobody looks */
} sn_pass_context;

/* Reads *from, initialises and fills *to in to->arena, which the caller has set; what it needs
 * meanwhile is in from's arena. */
typedef sn_status sn_pass_fn(const sn_pass_context *context, const sn_graph *from, sn_graph *to);

#define PASS(name, on, readable, of_control, doc) sn_pass_fn sn_pass_##name;
#include "passes/passes.def"

enum {
#define PASS(name, on, readable, of_control, doc) SN_PASS_##name,
#include "passes/passes.def"
  SN_PASS_COUNT
};

/* inline_functions.c: what comes first where a graph has functions or names in it. */
bool sn_has_functions(const sn_graph *graph);
sn_pass_fn sn_inline_functions;

/* decompose.c: what comes before them where a graph has ops that only derivatives see. */
bool sn_needs_expanding(const sn_graph *graph);
sn_pass_fn sn_expand;

typedef struct sn_pass_info {
  const char *name;
  sn_pass_fn *run;
  bool on;
  bool readable;
  bool of_control; /* a graph without control flow stays as it is */
} sn_pass_info;

extern const sn_pass_info sn_pass_table[SN_PASS_COUNT];

#endif
