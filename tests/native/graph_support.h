/* graph_support.h - an environment and short ways to write IR, for the tests below the public
 * API. */
#ifndef GRAPH_SUPPORT_H
#define GRAPH_SUPPORT_H

#include "support.h"

#include "autodiff/vjp.h"
#include "base/alloc.h"
#include "build/build.h"
#include "fuse/fuse.h"
#include "kernels/machine.h"

typedef struct lab {
  ledger ledger;
  sn_env env;
  sn_arena arena;
  sn_graph graph;
  sn_build b;
} lab;

static inline void lab_open(lab *l, bool share) {
  *l = (lab){0};
  l->env = ledger_env(&l->ledger);
  sn_arena_init(&l->arena, &l->env);
  sn_graph_init(&l->graph, &l->arena, share);
  l->b = sn_build_in(&l->graph);
  l->b.load_flops = sn_cpu_target.costs.load_flops;
}

static inline void lab_close(lab *l) {
  assert_int_equal(l->b.status, SN_OK);
  sn_arena_free(&l->arena);
  assert_int_equal(l->env.heap.live_blocks, 0);
  assert_int_equal(l->env.heap.live_bytes, 0);
  assert_int_equal(l->ledger.live_blocks, 0);
}

static inline sn_type type_of_dims(sn_dtype dtype, int rank, const int64_t *dims) {
  sn_type type = {.dtype = dtype, .rank = rank};
  for (int i = 0; i < rank && i < SN_MAX_RANK; i++) type.dims[i] = dims[i];
  return type;
}
#define F32(...) type_of_dims(SN_F32, DIMS(__VA_ARGS__))
#define F64(...) type_of_dims(SN_F64, DIMS(__VA_ARGS__))
#define I32(...) type_of_dims(SN_I32, DIMS(__VA_ARGS__))
#define BOOL(...) type_of_dims(SN_BOOL, DIMS(__VA_ARGS__))

/* The next argument. */
static inline sn_id input(lab *l, sn_type type) {
  const int64_t number = (int64_t)l->graph.n_arguments++;
  return sn_build_op(&l->b, SN_OP_input, NULL, 0, &number, 1, &type);
}

/* The derivatives of the scalar y. */
static inline sn_status gradients(lab *l, sn_id y, const sn_id *wrt, size_t n, sn_id *out) {
  sn_build b = sn_build_in(&l->graph);
  const sn_id one = sn_build_like(&b, y, 1);
  return sn_vjp_nodes(&b, &y, &one, 1, wrt, n, out);
}

static inline void set_outputs(lab *l, const sn_id *outputs, size_t n) {
  assert_int_equal(l->b.status, SN_OK);
  assert_int_equal(sn_arena_alloc(&l->arena, n, sizeof *outputs, (void **)&l->graph.outputs),
                   SN_OK);
  memcpy(l->graph.outputs, outputs, n * sizeof *outputs);
  l->graph.n_outputs = n;
}
#define OUTPUTS(l, ...) \
  set_outputs((l), (const sn_id[]){__VA_ARGS__}, sizeof((sn_id[]){__VA_ARGS__}) / sizeof(sn_id))

static inline void expect_text(lab *l, const sn_graph *graph, const char *expected) {
  const char *text;
  assert_int_equal(sn_graph_verify(graph), SN_OK);
  assert_int_equal(sn_graph_text(graph, &l->arena, &text), SN_OK);
  assert_string_equal(text, expected);
}

/* The lab's graph as groups for a target. */
static inline sn_groups cut_graph_for(lab *l, const sn_target *target, bool fusion) {
  sn_graph *prepared = NULL;
  sn_groups groups;
  assert_int_equal(l->b.status, SN_OK);
  assert_int_equal(sn_arena_alloc(&l->arena, 1, sizeof *prepared, (void **)&prepared), SN_OK);
  assert_int_equal(sn_prepare(&l->graph, target, &l->arena, prepared), SN_OK);
  assert_int_equal(sn_graph_verify(prepared), SN_OK);
  assert_int_equal(sn_fuse_graph(prepared, target, (sn_fuse_options){.fusion = fusion}, &groups), SN_OK);
  return groups;
}

static inline sn_groups cut_graph(lab *l, bool fusion) {
  return cut_graph_for(l, &sn_cpu_target, fusion);
}

/* The same for a target that is quick at looking up rows of so many elements. */
static inline sn_groups cut_with_lookups(lab *l, int64_t row) {
  sn_target target = sn_cpu_target;
  target.costs.lookup_row = row;
  sn_groups groups = cut_graph_for(l, &target, true);
  groups.target = &sn_cpu_target;
  return groups;
}

/* Lets the first, second ... allocation of attempt fail until it succeeds: each time attempt
 * reports the failure, and what it took is given back. write makes the lab's graph and whatever
 * else attempt needs. */
static inline void fail_each_allocation(void (*write)(lab *l, void *made),
                                        sn_status (*attempt)(lab *l, void *made), void *made) {
  sn_status status = SN_ERR_MEMORY;
  for (int64_t k = 0; status; k++) {
    lab l;
    lab_open(&l, true);
    write(&l, made);
    l.env.heap.fail_countdown = k;
    status = attempt(&l, made);
    l.env.heap.fail_countdown = -1;
    if (status) assert_int_equal(status, SN_ERR_MEMORY);
    lab_close(&l);
  }
}

#endif
