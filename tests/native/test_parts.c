/* test_parts.c - the gradient of a tensor that is read slice by slice: its text, its number of nodes,
 * and each allocation failing. test_grad.c tests its values. */
#include "graph_support.h"


/* The loss: the sum of a slice times an argument of its own, for each of n slices of x. */
static sn_id weighted_slices(lab *l, sn_id x, const int64_t (*boxes)[2 * SN_MAX_RANK], size_t n) {
  const sn_type whole = *sn_build_type(&l->b, x);
  const sn_type scalar = sn_type_scalar(whole.dtype);
  const size_t rank = (size_t)whole.rank;
  sn_id loss = sn_build_full(&l->b, &scalar, 0);
  for (size_t i = 0; i < n; i++) {
    sn_type part = whole;
    int64_t attrs[2 * SN_MAX_RANK];
    for (size_t k = 0; k < rank; k++) {
      attrs[k] = boxes[i][k];
      attrs[rank + k] = 1;
      part.dims[k] = boxes[i][rank + k];
    }
    const sn_id slice = sn_build_op(&l->b, SN_OP_slice, &x, 1, attrs, 2 * rank, &part);
    const sn_id product = sn_build_binary(&l->b, SN_OP_mul, slice, input(l, part));
    const sn_id sum = sn_build_reduce(&l->b, SN_OP_sum, product, ((uint64_t)1 << rank) - 1);
    loss = sn_build_binary(&l->b, SN_OP_add, loss, sum);
  }
  return loss;
}

/* How many nodes that the outputs need are of this op. */
static size_t count(lab *l, const sn_graph *g, sn_op op) {
  uint8_t *live = NULL;
  size_t n = 0;
  assert_int_equal(sn_arena_alloc(&l->arena, g->n_nodes, 1, (void **)&live), SN_OK);
  sn_graph_live(g, live);
  for (size_t i = 0; i < g->n_nodes; i++) n += live[i] && g->nodes[i].op == op;
  return n;
}

typedef int64_t box[2 * SN_MAX_RANK];

/* The gradient of x, an argument of the type, is what the lab's graph gives. */
static void differentiate(lab *l, sn_type type, const box *boxes, size_t n) {
  sn_id dx;
  lab_open(l, true);
  const sn_id x = input(l, type), loss = weighted_slices(l, x, boxes, n);
  assert_int_equal(gradients(l, loss, &x, 1, &dx), SN_OK);
  OUTPUTS(l, dx);
  assert_int_equal(sn_graph_verify(&l->graph), SN_OK);
}

static void expect(sn_type type, const box *boxes, size_t n, size_t concats, size_t pads,
                   size_t adds) {
  lab l;
  differentiate(&l, type, boxes, n);
  assert_int_equal(count(&l, &l.graph, SN_OP_concat), concats);
  assert_int_equal(count(&l, &l.graph, SN_OP_pad), pads);
  assert_int_equal(count(&l, &l.graph, SN_OP_add), adds);
  lab_close(&l);
}

#define EXPECT(boxes, type, ...) expect(type, boxes, sizeof(boxes) / sizeof *(boxes), __VA_ARGS__)

static void slices_side_by_side_are_one_concat(void **state) {
  (void)state;
  const box halves[] = {{2, 2}, {0, 2}};
  lab l;
  differentiate(&l, F32(4), halves, 2);
  const sn_node *dx = sn_graph_node(&l.graph, l.graph.outputs[0]);
  assert_int_equal(dx->op, SN_OP_concat);
  assert_int_equal(dx->n_inputs, 2); /* first what comes first in x: the loss's second slice */
  const sn_id *parts = sn_graph_inputs(&l.graph, l.graph.outputs[0]);
  for (int i = 0; i < 2; i++) {
    const sn_id *factors = sn_graph_inputs(&l.graph, parts[i]);
    const sn_id y = l.graph.nodes[factors[0]].op == SN_OP_input ? factors[0] : factors[1];
    assert_int_equal(*sn_graph_attrs(&l.graph, y), 2 - i);
  }
  lab_close(&l);
}

static void shapes_of_gradients(void **state) {
  (void)state;
  const box one[] = {{1, 2}};
  const box gap[] = {{3, 1}, {1, 1}};
  const box whole[] = {{0, 4}, {0, 2}, {2, 2}};
  const box grid[] = {{0, 0, 1, 1}, {0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 1}};
  const box corner[] = {{0, 0, 2, 4}, {2, 1, 2, 2}};
  const box windows[] = {{0, 3}, {1, 3}, {2, 3}, {3, 3}, {4, 3}, {5, 3}};
  EXPECT(one, F32(4), 0, 1, 0);
  EXPECT(gap, F32(5), 1, 0, 0); /* with zeros before, between and behind */
  EXPECT(whole, F32(4), 1, 0, 1);
  EXPECT(grid, F32(2, 2), 3, 0, 0);
  EXPECT(corner, F32(4, 4), 1, 1, 0);
  EXPECT(windows, F32(8), 3, 0, 2);
}

/* Nodes grow with steps, not with their square; 20,000 of them take no time. */
static void steps(sn_type type, int axis, int64_t width, size_t concats) {
  enum { STEPS = 20000 };
  box *boxes = calloc(STEPS, sizeof *boxes);
  assert_non_null(boxes);
  for (int64_t t = 0; t < STEPS; t++)
    for (int k = 0; k < type.rank; k++) {
      boxes[t][k] = k == axis ? t : 0;
      boxes[t][type.rank + k] = k == axis ? width : type.dims[k];
    }
  expect(type, boxes, STEPS, concats, 0, concats - 1);
  free(boxes);
}

static void a_loop_of_many_steps(void **state) {
  (void)state;
  steps(F32(20000, 3), 0, 1, 1);
  steps(F32(2, 20000, 3), 1, 1, 1);
  steps(F32(20002), 0, 3, 3);
}

/* Where nearly all overlap, rows end at some number of them. */
static void ends_of_a_line(void **state) {
  (void)state;
  enum { N = 100 };
  box boxes[N] = {{0}};
  for (int64_t i = 0; i < N; i++) {
    boxes[i][0] = i;
    boxes[i][1] = N - i;
  }
  expect(F32(N), boxes, N, 0, N - 1, N - 1);
}

static void write_slices(lab *l, void *loss) {
  const box boxes[] = {{0, 0, 1, 4}, {1, 0, 1, 4}, {1, 1, 1, 2}, {2, 2, 1, 1}, {2, 2, 1, 2}};
  *(sn_id *)loss = weighted_slices(l, input(l, F32(4, 4)), boxes, 5);
}

/* of the input, the first node */
static sn_status attempt_grad(lab *l, void *loss) {
  sn_id dx;
  return gradients(l, *(sn_id *)loss, (const sn_id[]){0}, 1, &dx);
}

static void each_allocation_fails(void **state) {
  (void)state;
  sn_id loss;
  fail_each_allocation(write_slices, attempt_grad, &loss);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slices_side_by_side_are_one_concat),
      cmocka_unit_test(shapes_of_gradients),
      cmocka_unit_test(a_loop_of_many_steps),
      cmocka_unit_test(ends_of_a_line),
      cmocka_unit_test(each_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
