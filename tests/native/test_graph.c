/* test_graph.c - the IR: equal nodes are one, the printed forms, the grammar with the text of every
 * error, and a verifier that finds planted faults. */
#include "graph_support.h"

#include <math.h>

/* ---- hash-consing ---------------------------------------------------------------------------- */

static void equal_nodes_are_one(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2, 3)), y = input(&l, F32(2, 3));
  assert_int_not_equal(x, y);
  const sn_id a = sn_build_binary(&l.b, SN_OP_add, x, y);
  assert_int_equal(sn_build_binary(&l.b, SN_OP_add, x, y), a);
  assert_int_equal(sn_build_binary(&l.b, SN_OP_add, y, x), a); /* commutative */
  const sn_id s = sn_build_binary(&l.b, SN_OP_sub, x, y);
  assert_int_not_equal(sn_build_binary(&l.b, SN_OP_sub, y, x), s);
  const sn_id r0 = sn_build_reduce(&l.b, SN_OP_sum, x, 1),
              r1 = sn_build_reduce(&l.b, SN_OP_sum, x, 2);
  assert_int_not_equal(r0, r1);
  assert_int_equal(sn_build_reduce(&l.b, SN_OP_sum, x, 2), r1);
  const sn_type wide = F32(6), tall = F32(6, 1);
  assert_int_not_equal(sn_build_reshape(&l.b, x, &wide), sn_build_reshape(&l.b, x, &tall));
  /* constants are told apart by their bits */
  const sn_type one = sn_type_scalar(SN_F32);
  const sn_id zero = sn_build_full(&l.b, &one, 0.0);
  assert_int_equal(sn_build_full(&l.b, &one, 0.0), zero);
  assert_int_not_equal(sn_build_full(&l.b, &one, -0.0), zero);
  const sn_id nan = sn_build_full(&l.b, &one, NAN);
  assert_int_equal(sn_build_full(&l.b, &one, NAN), nan);
  const sn_type one64 = sn_type_scalar(SN_F64);
  assert_int_not_equal(sn_build_full(&l.b, &one64, 0.0), zero);
  lab_close(&l);
}

static void sharing_can_be_off(void **state) {
  (void)state;
  lab l;
  lab_open(&l, false);
  const sn_id x = input(&l, F32(4));
  const sn_id a = sn_build_unary(&l.b, SN_OP_exp, x);
  const sn_id b = sn_build_unary(&l.b, SN_OP_exp, x);
  assert_int_not_equal(a, b);
  lab_close(&l);
}

static void many_nodes_are_found_again(void **state) {
  (void)state;
  enum { N = 20000 };
  lab l;
  lab_open(&l, true);
  sn_id *ids = malloc(N * sizeof *ids);
  const sn_id x = input(&l, F32(4));
  ids[0] = x;
  for (sn_id i = 1; i < N; i++)
    ids[i] = sn_build_binary(&l.b, i % 2 ? SN_OP_add : SN_OP_sub, ids[i - 1], ids[i / 2]);
  const size_t n = l.graph.n_nodes;
  for (sn_id i = 1; i < N; i++)
    assert_int_equal(sn_build_binary(&l.b, i % 2 ? SN_OP_add : SN_OP_sub, ids[i - 1], ids[i / 2]),
                     ids[i]);
  assert_int_equal(l.graph.n_nodes, n);
  assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
  free(ids);
  lab_close(&l);
}

/* ---- printed forms --------------------------------------------------------------------------- */

static void write_sample(lab *l) {
  const sn_id x = input(l, F32(2, 3)), w = input(l, F32(3, 4)), n = input(l, I32(5));
  const sn_type full = F32(2, 4);
  const sn_id m = sn_build_matmul(&l->b, x, w), half = sn_build_full(&l->b, &full, 0.5);
  const sn_id y = sn_build_binary(&l->b, SN_OP_add, m, half);
  const sn_id s = sn_build_reduce(&l->b, SN_OP_sum, sn_build_unary(&l->b, SN_OP_relu, y), 2);
  const sn_type padded = F32(7);
  const sn_id p = sn_build_op(&l->b, SN_OP_pad, &s, 1,
                              (const int64_t[]){1, 3, sn_double_attr(-1.5)}, 3, &padded);
  const sn_type three = I32(3);
  const sn_id c = sn_build_op(&l->b, SN_OP_slice, &n, 1, (const int64_t[]){4, -2}, 2, &three);
  const sn_id k = sn_build_op(&l->b, SN_OP_iota, NULL, 0, (const int64_t[]){0}, 1, &three);
  OUTPUTS(l, p,
          sn_build_cast(&l->b, SN_OP_astype, sn_build_binary(&l->b, SN_OP_less, c, k), SN_F64));
}

static void text_is_stable(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  write_sample(&l);
  expect_text(&l, &l.graph,
              "%0 = input float32(2, 3) {0}\n"
              "%1 = input float32(3, 4) {1}\n"
              "%2 = input int32(5,) {2}\n"
              "%3 = matmul float32(2, 4) %0 %1\n"
              "%4 = constant float32() {0.5}\n"
              "%5 = broadcast float32(2, 4) %4\n"
              "%6 = add float32(2, 4) %3 %5\n"
              "%7 = relu float32(2, 4) %6\n"
              "%8 = sum float32(2,) {2} %7\n"
              "%9 = pad float32(7,) {1, 3; -1.5} %8\n"
              "%10 = slice int32(3,) {4, -2} %2\n"
              "%11 = iota int32(3,) {0}\n"
              "%12 = less bool(3,) %10 %11\n"
              "%13 = astype float64(3,) %12\n"
              "return %9 %13\n");
  lab_close(&l);
}

static void dot_is_stable(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2));
  OUTPUTS(&l, sn_build_unary(&l.b, SN_OP_tanh, sn_build_binary(&l.b, SN_OP_mul, x, x)));
  const char *dot;
  assert_int_equal(sn_graph_dot(&l.graph, NULL, &l.arena, &dot), SN_OK);
  assert_string_equal(dot, "digraph sinter {\n"
                           "  node [shape=box];\n"
                           "  n0 [label=\"input float32(2,) {0}\"];\n"
                           "  n1 [label=\"mul float32(2,)\"];\n"
                           "  n0 -> n1;\n"
                           "  n0 -> n1;\n"
                           "  n2 [label=\"tanh float32(2,)\"];\n"
                           "  n1 -> n2;\n"
                           "  out0 [shape=ellipse]; n2 -> out0;\n"
                           "}\n");
  lab_close(&l);
}

static void texts_survive_a_lack_of_memory(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  write_sample(&l);
  const char *text;
  l.env.heap.fail_countdown = 0;
  l.env.heap.fail_forever = true;
  sn_arena small;
  sn_arena_init(&small, &l.env);
  assert_int_equal(sn_graph_text(&l.graph, &small, &text), SN_ERR_MEMORY);
  assert_int_equal(sn_graph_dot(&l.graph, NULL, &small, &text), SN_ERR_MEMORY);
  l.env.heap.fail_countdown = -1;
  sn_arena_free(&small);
  lab_close(&l);
}

/* ---- the verifier ---------------------------------------------------------------------------- */

typedef void mutation(sn_graph *graph);

static void wrong_dtype(sn_graph *g) { g->nodes[6].type.dtype = SN_F64; }
static void wrong_dim(sn_graph *g) { g->nodes[3].type.dims[1] = 5; }
static void wrong_rank(sn_graph *g) { g->nodes[8].type.rank = 2; }
static void later_input(sn_graph *g) { g->edges[g->nodes[7].first_input] = 12; }
static void own_input(sn_graph *g) { g->edges[g->nodes[7].first_input] = 7; }
static void absent_input(sn_graph *g) { g->edges[g->nodes[6].first_input] = SN_NONE; }
static void edges_outside(sn_graph *g) { g->nodes[7].first_input = (uint32_t)g->n_edges; }
static void attrs_outside(sn_graph *g) { g->nodes[8].first_attr = (uint32_t)g->n_attrs; }
static void missing_attr(sn_graph *g) { g->nodes[8].n_attrs = 0; }
static void wrong_mask(sn_graph *g) { g->attrs[g->nodes[8].first_attr] = 4; }
static void other_mask(sn_graph *g) { g->attrs[g->nodes[8].first_attr] = 1; }
static void slice_outside(sn_graph *g) { g->attrs[g->nodes[10].first_attr] = 3; }
static void slice_in_place(sn_graph *g) { g->attrs[g->nodes[10].first_attr + 1] = 0; }
static void pad_too_far(sn_graph *g) { g->attrs[g->nodes[9].first_attr] = 4; }
static void iota_axis(sn_graph *g) { g->attrs[g->nodes[11].first_attr] = 1; }
static void unknown_op(sn_graph *g) { g->nodes[7].op = (sn_op)SN_OP_COUNT; }
static void other_arity(sn_graph *g) { g->nodes[7].op = SN_OP_add; }
static void output_outside(sn_graph *g) { g->outputs[1] = (sn_id)g->n_nodes; }
static void argument_outside(sn_graph *g) { g->attrs[g->nodes[2].first_attr] = 3; }
static void negative_size(sn_graph *g) { g->nodes[2].type.dims[0] = -5; }

static void planted_faults_are_found(void **state) {
  (void)state;
  mutation *const mutations[] = {wrong_dtype,    wrong_dim,      wrong_rank,       later_input,
                                 own_input,      absent_input,   edges_outside,    attrs_outside,
                                 missing_attr,   wrong_mask,     other_mask,       slice_outside,
                                 slice_in_place, pad_too_far,    iota_axis,        unknown_op,
                                 other_arity,    output_outside, argument_outside, negative_size};
  for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
    lab l;
    lab_open(&l, true);
    write_sample(&l);
    assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
    mutations[i](&l.graph);
    if (!sn_graph_verify(&l.graph)) fail_msg("fault %zu is not found", i);
    lab_close(&l);
  }
}

static void faults_of_a_concat_are_found(void **state) {
  (void)state;
  for (int fault = 0; fault < 3; fault++) {
    lab l;
    lab_open(&l, true);
    sn_id x[5];
    for (int i = 0; i < 5; i++) x[i] = input(&l, F32(2, i));
    const sn_id c = sn_build_op(&l.b, SN_OP_concat, x, 5, (const int64_t[]){1}, 1, NULL);
    OUTPUTS(&l, c);
    assert_int_equal(l.graph.nodes[c].type.dims[1], 10);
    assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
    if (fault == 0) l.graph.nodes[c].type.dims[1] = 11;
    if (fault == 1) l.graph.nodes[x[3]].type.dims[0] = 3;
    if (fault == 2) l.graph.attrs[l.graph.nodes[c].first_attr] = 0;
    assert_int_not_equal(sn_graph_verify(&l.graph), SN_OK);
    lab_close(&l);
  }
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuse(lab *l, sn_op op, const sn_id *inputs, size_t n, const int64_t *attrs,
                   size_t n_attrs, const sn_type *type, sn_status status, const char *message) {
  const size_t nodes = l->graph.n_nodes;
  sn_id id = 12345;
  assert_int_equal(sn_graph_add(&l->graph, op, inputs, n, attrs, n_attrs, type, &id), status);
  assert_string_equal(l->env.error.message, message);
  assert_int_equal(l->env.error.status, status);
  assert_int_equal(id, 12345);
  assert_int_equal(l->graph.n_nodes, nodes);
}
#define IDS(...) (const sn_id[]){__VA_ARGS__}, sizeof((sn_id[]){__VA_ARGS__}) / sizeof(sn_id)
#define ATTRS(...) \
  (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define NOTHING NULL, 0

static void elementwise_refusals(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id a = input(&l, F32(2, 3)), b = input(&l, F32(3, 2)), d = input(&l, F64(2, 3)),
              i = input(&l, I32(2, 3)), t = input(&l, BOOL(2, 3)), s = input(&l, F32(2));
  refuse(&l, SN_OP_add, IDS(a, b), NOTHING, NULL, SN_ERR_SHAPE,
         "add: shapes differ: a (2, 3), b (3, 2)");
  refuse(&l, SN_OP_sub, IDS(a, s), NOTHING, NULL, SN_ERR_SHAPE,
         "sub: shapes differ: a (2, 3), b (2,)");
  refuse(&l, SN_OP_mul, IDS(a, d), NOTHING, NULL, SN_ERR_DTYPE,
         "mul: dtypes differ: a float32, b float64");
  refuse(&l, SN_OP_exp, IDS(i), NOTHING, NULL, SN_ERR_DTYPE, "exp: not defined for int32");
  refuse(&l, SN_OP_add, IDS(t, t), NOTHING, NULL, SN_ERR_DTYPE, "add: not defined for bool");
  refuse(&l, SN_OP_bitwise_and, IDS(a, a), NOTHING, NULL, SN_ERR_DTYPE,
         "bitwise_and: not defined for float32");
  refuse(&l, SN_OP_logical_not, IDS(i), NOTHING, NULL, SN_ERR_DTYPE,
         "logical_not: not defined for int32");
  refuse(&l, SN_OP_where, IDS(i, a, a), NOTHING, NULL, SN_ERR_DTYPE,
         "where: the condition must be bool, not int32");
  refuse(&l, SN_OP_where, IDS(t, a, d), NOTHING, NULL, SN_ERR_DTYPE,
         "where: dtypes differ: a float32, b float64");
  refuse(&l, SN_OP_where, IDS(t, a, b), NOTHING, NULL, SN_ERR_SHAPE,
         "where: shapes differ: a (2, 3), b (3, 2)");
  const sn_type as_f64 = sn_type_scalar(SN_F64), as_i32 = sn_type_scalar(SN_I32),
                as_nothing = sn_type_scalar((sn_dtype)99);
  refuse(&l, SN_OP_bitcast, IDS(a), NOTHING, &as_f64, SN_ERR_DTYPE,
         "bitcast: only float32 <-> int32, not float32 -> float64");
  refuse(&l, SN_OP_bitcast, IDS(d), NOTHING, &as_i32, SN_ERR_DTYPE,
         "bitcast: only float32 <-> int32, not float64 -> int32");
  refuse(&l, SN_OP_bitcast, IDS(a), NOTHING, &as_nothing, SN_ERR_DTYPE,
         "bitcast: unknown dtype 99");
  refuse(&l, SN_OP_astype, IDS(a), NOTHING, &as_nothing, SN_ERR_DTYPE, "astype: unknown dtype 99");
  lab_close(&l);
}

static void reduce_and_matmul_refusals(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id a = input(&l, F32(2, 3)), b = input(&l, F32(4, 5)), i = input(&l, I32(2, 3)),
              t = input(&l, BOOL(4)), empty = input(&l, F32(3, 0)), v = input(&l, F32(3)),
              d = input(&l, F64(3, 2)), x = input(&l, F32(2, 2, 3)), y = input(&l, F32(4, 3, 5));
  refuse(&l, SN_OP_sum, IDS(t), ATTRS(1), NULL, SN_ERR_DTYPE, "sum: not defined for bool");
  refuse(&l, SN_OP_sum, IDS(a), ATTRS(4), NULL, SN_ERR_SHAPE, "sum: axis out of range for rank 2");
  refuse(&l, SN_OP_max, IDS(empty), ATTRS(2), NULL, SN_ERR_SHAPE,
         "max: no elements along axis 1 of (3, 0)");
  refuse(&l, SN_OP_min, IDS(empty), ATTRS(3), NULL, SN_ERR_SHAPE,
         "min: no elements along axis 1 of (3, 0)");
  refuse(&l, SN_OP_matmul, IDS(a, b), NOTHING, NULL, SN_ERR_SHAPE,
         "matmul: inner dimensions differ: a (2, 3), b (4, 5)");
  refuse(&l, SN_OP_matmul, IDS(a, v), NOTHING, NULL, SN_ERR_SHAPE,
         "matmul: ranks do not fit: a (2, 3), b (3,)");
  refuse(&l, SN_OP_matmul, IDS(x, y), NOTHING, NULL, SN_ERR_SHAPE,
         "matmul: batch dimensions differ: a (2, 2, 3), b (4, 3, 5)");
  refuse(&l, SN_OP_matmul, IDS(a, d), NOTHING, NULL, SN_ERR_DTYPE,
         "matmul: needs numbers of one dtype: a float32, b float64");
  refuse(&l, SN_OP_matmul, IDS(a, i), NOTHING, NULL, SN_ERR_DTYPE,
         "matmul: needs numbers of one dtype: a float32, b int32");
  /* no elements along a dimension that stays, and empty sums, are fine */
  const sn_id kept = sn_build_reduce(&l.b, SN_OP_max, empty, 1);
  assert_int_equal(l.graph.nodes[kept].type.dims[0], 0);
  const sn_id sum = sn_build_reduce(&l.b, SN_OP_sum, empty, 2);
  assert_int_equal(l.graph.nodes[sum].type.dims[0], 3);
  lab_close(&l);
}

static void view_refusals(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id a = input(&l, F32(2, 3));
  const sn_type five = F32(5), four = F32(2, 4), column = F32(3, 2), negative = F32(-2, -3),
                same = F32(2, 3), twice = F32(2, 2);
  refuse(&l, SN_OP_reshape, IDS(a), NOTHING, &five, SN_ERR_SHAPE,
         "reshape: number of elements differs: a (2, 3), b (5,)");
  refuse(&l, SN_OP_reshape, IDS(a), NOTHING, &negative, SN_ERR_SHAPE,
         "reshape: negative size in shape (-2, -3)");
  refuse(&l, SN_OP_broadcast, IDS(a), NOTHING, &four, SN_ERR_SHAPE,
         "broadcast: shape does not broadcast: a (2, 3), b (2, 4)");
  refuse(&l, SN_OP_broadcast, IDS(a), NOTHING, &five, SN_ERR_SHAPE,
         "broadcast: shape does not broadcast: a (2, 3), b (5,)");
  refuse(&l, SN_OP_transpose, IDS(a), ATTRS(0, 0), &column, SN_ERR_SHAPE,
         "transpose: not a permutation of 2 axes");
  refuse(&l, SN_OP_transpose, IDS(a), ATTRS(0, 2), &column, SN_ERR_SHAPE,
         "transpose: not a permutation of 2 axes");
  refuse(&l, SN_OP_transpose, IDS(a), ATTRS(-1, 0), &column, SN_ERR_SHAPE,
         "transpose: not a permutation of 2 axes");
  refuse(&l, SN_OP_slice, IDS(a), ATTRS(0, 0, 0, 1), &same, SN_ERR_ARGUMENT,
         "slice: stride 0 on axis 0");
  refuse(&l, SN_OP_slice, IDS(a), ATTRS(0, 1, 1, 1), &same, SN_ERR_SHAPE,
         "slice: axis 1: 3 elements from 1 in steps of 1 leave shape (2, 3)");
  refuse(&l, SN_OP_slice, IDS(a), ATTRS(0, 0, 1, -1), &twice, SN_ERR_SHAPE,
         "slice: axis 1: 2 elements from 0 in steps of -1 leave shape (2, 3)");
  refuse(&l, SN_OP_slice, IDS(a), ATTRS(-1, 0, 1, 1), &twice, SN_ERR_SHAPE,
         "slice: axis 0: 2 elements from -1 in steps of 1 leave shape (2, 3)");
  refuse(&l, SN_OP_slice, IDS(a), ATTRS(0, 1, 1, INT64_MAX), &twice, SN_ERR_SHAPE,
         "slice: axis 1: 2 elements from 1 in steps of 9223372036854775807 leave shape (2, 3)");
  lab_close(&l);
}

static void pad_concat_and_leaf_refusals(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id a = input(&l, F32(2, 3)), b = input(&l, F32(4, 3)), d = input(&l, F64(2, 3)),
              s = input(&l, type_of_dims(SN_F32, 0, NULL));
  const sn_type four = F32(4, 4), bools = BOOL(4), rank0 = sn_type_scalar(SN_I32);
  refuse(&l, SN_OP_pad, IDS(a), ATTRS(3, 0, 1, 1, 0), &four, SN_ERR_SHAPE,
         "pad: input does not fit into the result: a (2, 3), b (4, 4)");
  refuse(&l, SN_OP_pad, IDS(a), ATTRS(-1, 0, 1, 1, 0), &four, SN_ERR_SHAPE,
         "pad: input does not fit into the result: a (2, 3), b (4, 4)");
  refuse(&l, SN_OP_pad, IDS(a), ATTRS(0, 0, 0, 1, 0), &four, SN_ERR_SHAPE,
         "pad: input does not fit into the result: a (2, 3), b (4, 4)");
  refuse(&l, SN_OP_pad, IDS(a), ATTRS(0, 0, 1, INT64_MAX, 0), &four, SN_ERR_SHAPE,
         "pad: input does not fit into the result: a (2, 3), b (4, 4)");
  refuse(&l, SN_OP_concat, NOTHING, ATTRS(0), NULL, SN_ERR_ARGUMENT,
         "concat: needs at least one input");
  refuse(&l, SN_OP_concat, IDS(a, b), ATTRS(1), NULL, SN_ERR_SHAPE,
         "concat: inputs differ outside the axis: a (2, 3), b (4, 3)");
  refuse(&l, SN_OP_concat, IDS(a, a, d), ATTRS(0), NULL, SN_ERR_DTYPE,
         "concat: dtypes differ: a float32, b float64");
  refuse(&l, SN_OP_concat, IDS(a, b), ATTRS(2), NULL, SN_ERR_SHAPE,
         "concat: axis 2 is out of range: a (2, 3)");
  refuse(&l, SN_OP_concat, IDS(s, s), ATTRS(0), NULL, SN_ERR_SHAPE,
         "concat: axis 0 is out of range: a ()");
  refuse(&l, SN_OP_iota, NOTHING, ATTRS(1), &bools, SN_ERR_SHAPE,
         "iota: axis 1 is out of range: a (4,)");
  refuse(&l, SN_OP_iota, NOTHING, ATTRS(0), &bools, SN_ERR_DTYPE, "iota: not defined for bool");
  refuse(&l, SN_OP_iota, NOTHING, ATTRS(0), &rank0, SN_ERR_SHAPE,
         "iota: axis 0 is out of range: a ()");
  lab_close(&l);
}

/* ---- shapes at their limits ------------------------------------------------------------------ */

static void rank_8_and_no_more(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const int64_t dims[9] = {2, 1, 2, 1, 2, 1, 2, 3, 2};
  const sn_type eight = type_of_dims(SN_F32, 8, dims);
  const sn_id x = input(&l, eight);
  const sn_id r = sn_build_reduce(&l.b, SN_OP_sum, x, 0xff);
  assert_int_equal(l.graph.nodes[r].type.rank, 0);
  const int64_t perm[8] = {7, 6, 5, 4, 3, 2, 1, 0};
  const sn_id t = sn_build_transpose(&l.b, x, perm);
  assert_int_equal(l.graph.nodes[t].type.dims[0], 3);
  assert_int_equal(l.graph.nodes[t].type.dims[7], 2);
  OUTPUTS(&l, r, t);
  assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
  const sn_type nine = type_of_dims(SN_F32, 9, dims), less = type_of_dims(SN_F32, -1, dims);
  refuse(&l, SN_OP_input, NOTHING, ATTRS(1), &nine, SN_ERR_SHAPE, "input: rank 9 is not in 0..8");
  refuse(&l, SN_OP_input, NOTHING, ATTRS(1), &less, SN_ERR_SHAPE, "input: rank -1 is not in 0..8");
  refuse(&l, SN_OP_broadcast, IDS(x), NOTHING, &nine, SN_ERR_SHAPE,
         "broadcast: rank 9 is not in 0..8");
  lab_close(&l);
}

static void sizes_0_and_1(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id e = input(&l, F32(0, 3)), o = input(&l, F32(1, 1)), w = input(&l, F32(3, 4)),
              k = input(&l, F32(2, 0)), m = input(&l, F32(0, 5));
  assert_int_equal(sn_type_size(&l.graph.nodes[sn_build_matmul(&l.b, e, w)].type), 0);
  const sn_id outer = sn_build_matmul(&l.b, k, m); /* inner dimension 0: zeros */
  assert_int_equal(sn_type_size(&l.graph.nodes[outer].type), 10);
  const sn_type none = F32(0, 7), spread = F32(0, 1);
  sn_build_reshape(&l.b, e, &none);
  sn_build_broadcast(&l.b, o, &spread);
  const sn_type cut = F32(0, 0);
  sn_build_op(&l.b, SN_OP_slice, &w, 1, ATTRS(99, -99, 1, 1),
              &cut); /* no elements: from anywhere */
  assert_int_equal(l.b.status, SN_OK);
  assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
  lab_close(&l);
}

/* Too large is SN_ERR_MEMORY before anything is allocated for it. */
static void sizes_that_overflow(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const int64_t big = (int64_t)1 << 31;
  const sn_id a = input(&l, F32(big, 1)), b = input(&l, F32(1, big));
  const sn_type huge = F32(big, big), odd = F64(INT64_MAX, 0), edge = F32(INT64_MAX / 4),
                over = F32(INT64_MAX / 4 + 1);
  const size_t bytes = l.env.heap.live_bytes;
  refuse(&l, SN_OP_input, NOTHING, ATTRS(2), &huge, SN_ERR_MEMORY,
         "input: shape (2147483648, 2147483648) is too large");
  refuse(&l, SN_OP_broadcast, IDS(a), NOTHING, &huge, SN_ERR_MEMORY,
         "broadcast: shape (2147483648, 2147483648) is too large");
  refuse(&l, SN_OP_matmul, IDS(a, b), NOTHING, NULL, SN_ERR_MEMORY,
         "matmul: shape (2147483648, 2147483648) is too large");
  /* a size of 0 does not hide strides that overflow */
  refuse(&l, SN_OP_input, NOTHING, ATTRS(2), &odd, SN_ERR_MEMORY,
         "input: shape (9223372036854775807, 0) is too large");
  refuse(&l, SN_OP_input, NOTHING, ATTRS(2), &over, SN_ERR_MEMORY,
         "input: shape (2305843009213693952,) is too large");
  const sn_id e = input(&l, edge);
  refuse(&l, SN_OP_concat, IDS(e, e), ATTRS(0), NULL, SN_ERR_MEMORY,
         "concat: shape (4611686018427387902,) is too large");
  refuse(&l, SN_OP_concat, IDS(e, e, e, e, e), ATTRS(0), NULL, SN_ERR_MEMORY,
         "concat: result is too large");
  assert_int_equal(l.env.heap.live_bytes, bytes);
  assert_true(l.ledger.largest < 1 << 20);
  lab_close(&l);
}

static void broadcasting_follows_numpy(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const struct {
    sn_type a, b, out;
  } good[] = {{F32(2, 3), F32(3), F32(2, 3)},
              {F32(2, 1), F32(1, 4), F32(2, 4)},
              {F32(0, 1), F32(5), F32(0, 5)},
              {F32(1), F32(0), F32(0)},
              {F32(7, 1, 5), F32(3, 1), F32(7, 3, 5)}};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    sn_type out = {.dtype = SN_F32};
    assert_int_equal(sn_broadcast_dims(&l.env, "t", &good[i].a, &good[i].b, &out), SN_OK);
    assert_true(sn_same_dims(&out, &good[i].out));
    assert_int_equal(sn_broadcast_dims(&l.env, "t", &good[i].b, &good[i].a, &out), SN_OK);
    assert_true(sn_same_dims(&out, &good[i].out));
  }
  const sn_type a = F32(2, 3), b = F32(2), zero = F32(0), two = F32(2);
  sn_type out;
  assert_int_equal(sn_broadcast_dims(&l.env, "add", &a, &b, &out), SN_ERR_SHAPE);
  assert_string_equal(l.env.error.message, "add: shapes do not broadcast: a (2, 3), b (2,)");
  assert_int_equal(sn_broadcast_dims(&l.env, "add", &zero, &two, &out), SN_ERR_SHAPE);
  lab_close(&l);
}

/* A failed allocation inside sn_graph_add leaves a graph that goes on working. */
static void adding_survives_a_lack_of_memory(void **state) {
  (void)state;
  for (int64_t k = 0;; k++) {
    lab l;
    lab_open(&l, true);
    sn_id x = input(&l, F32(3)), failed = 0;
    for (int i = 0; i < 300; i++) {
      if (i == 20) l.env.heap.fail_countdown = k;
      sn_id in[4] = {x, x, x, x}, next;
      const sn_status status =
          i % 7 ? sn_graph_add(&l.graph, SN_OP_add, in, 2, NULL, 0, NULL, &next)
                : sn_graph_add(&l.graph, SN_OP_concat, in, 4, ATTRS(0), NULL, &next);
      if (status) {
        assert_int_equal(status, SN_ERR_MEMORY);
        failed++;
        i--; /* again */
        continue;
      }
      if (i % 7) x = next;
    }
    OUTPUTS(&l, x);
    assert_int_equal(sn_graph_verify(&l.graph), SN_OK);
    const bool done = l.env.heap.fail_countdown >= 0;
    if (!done) assert_int_equal(failed, 1);
    lab_close(&l);
    if (done) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_nodes_are_one),
      cmocka_unit_test(sharing_can_be_off),
      cmocka_unit_test(many_nodes_are_found_again),
      cmocka_unit_test(text_is_stable),
      cmocka_unit_test(dot_is_stable),
      cmocka_unit_test(texts_survive_a_lack_of_memory),
      cmocka_unit_test(planted_faults_are_found),
      cmocka_unit_test(faults_of_a_concat_are_found),
      cmocka_unit_test(elementwise_refusals),
      cmocka_unit_test(reduce_and_matmul_refusals),
      cmocka_unit_test(view_refusals),
      cmocka_unit_test(pad_concat_and_leaf_refusals),
      cmocka_unit_test(rank_8_and_no_more),
      cmocka_unit_test(sizes_0_and_1),
      cmocka_unit_test(sizes_that_overflow),
      cmocka_unit_test(broadcasting_follows_numpy),
      cmocka_unit_test(adding_survives_a_lack_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
