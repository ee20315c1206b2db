/* test_group_verify.c - a row group takes no node whose shape it cannot lower, and the verifier of groups
 * finds planted faults. */
#include "graph_support.h"

#define UNARY(op, x) sn_build_unary(&l.b, SN_OP_##op, x)
#define BINARY(op, x, y) sn_build_binary(&l.b, SN_OP_##op, x, y)
#define SUM(x, axes) sn_build_reduce(&l.b, SN_OP_sum, x, axes)

/* y = sum(reshape(tanh(x)) w) and what its gradient reads: the row has the shape (12), tanh(x) has
 * (4, 3). */
static void rows_keep_other_shapes_out(void **state) {
  (void)state;
  const sn_type shapes[][2] = {{F32(4, 3), F32(12)}, {F32(33, 1, 1), F32(33, 1)}};
  for (size_t i = 0; i < 2; i++) {
    lab l;
    lab_open(&l, true);
    const sn_type shape = shapes[i][0], flat = shapes[i][1];
    const sn_id x = input(&l, shape), w = input(&l, flat), t = UNARY(tanh, x);
    const sn_id y = SUM(BINARY(mul, sn_build_reshape(&l.b, t, &flat), w), (1u << flat.rank) - 1);
    const sn_id dy = UNARY(neg, w);
    OUTPUTS(&l, y, BINARY(mul, sn_build_reshape(&l.b, dy, &shape), UNARY(square, t)));
    const sn_groups groups = cut_graph(&l, true);
    for (size_t k = 0; k < groups.n_groups; k++) {
      const sn_group *g = &groups.groups[k];
      for (uint32_t j = 0; j < g->post.n_operands; j++) {
        if (sn_group_points(g) == 1) continue;
        assert_int_equal(g->post.operands[j].strides[g->space_rank - 1], 1);
      }
    }
    lab_close(&l);
  }
}

/* One fault each in the group of a softmax: the verifier finds all. */
static void faults_in_groups_are_found(void **state) {
  (void)state;
  for (int fault = 0; fault < 7; fault++) {
    lab l;
    lab_open(&l, true);
    const sn_type type = F32(6, 9);
    const sn_id x = input(&l, type), e = UNARY(exp, x), s = SUM(e, 2);
    OUTPUTS(&l, BINARY(div, e, sn_build_broadcast_back(&l.b, s, &type, 2)), UNARY(log, s));
    sn_groups groups = cut_graph(&l, true);
    assert_int_equal(groups.n_groups, 1);
    assert_int_equal(sn_groups_verify(&groups, &l.arena), SN_OK);
    sn_group *g = groups.groups;
    sn_operand *load = &g->row.phases[0].body.operands[0],
               *store = &g->row.phases[1].stores[0].target;
    switch (fault) {
    case 0: g->n_stores = 0; break;                    /* a missing store */
    case 1: g->row.phases[1].n_stores = 0; break;      /* in a phase */
    case 2: store->strides[1] = 0; break;              /* elements stored as a value per row */
    case 3: store->offset = 1; break;                  /* past the end */
    case 4: load->strides[0] = 10; break;              /* reads past the end */
    case 5: load->strides[1] = -1; break;              /* and before the beginning */
    case 6: g->stores[0].target.strides[0] = 0; break; /* one place for all rows */
    }
    if (!sn_groups_verify(&groups, &l.arena)) fail_msg("fault %d is not found", fault);
    lab_close(&l);
  }
}

static void faults_in_lookups_are_found(void **state) {
  (void)state;
  for (int fault = 0; fault < 5; fault++) {
    lab l;
    lab_open(&l, true);
    const sn_type type = F32(6, 9), full = I32(6, 9);
    const sn_id table = input(&l, F32(7, 9)), at = input(&l, I32(6, 1));
    const sn_id in[] = {table, sn_build_broadcast(&l.b, at, &full)};
    OUTPUTS(&l, UNARY(exp, sn_build_op(&l.b, SN_OP_gather, in, 2, &(int64_t){0}, 1, &type)));
    sn_groups groups = cut_with_lookups(&l, 2);
    assert_int_equal(sn_groups_verify(&groups, &l.arena), SN_OK);
    sn_indexing *indexing = groups.groups->post.operands[0].indexing;
    switch (fault) {
    case 0: indexing->length = 8; break;           /* more rows than the table has */
    case 1: indexing->length = 0; break;           /* nothing to clamp to */
    case 2: indexing->stride = -9; break;          /* before the beginning */
    case 3: indexing->index.offset = 1; break;     /* past the last index */
    case 4: indexing->index.dtype = SN_F32; break; /* no index */
    }
    if (!sn_groups_verify(&groups, &l.arena)) fail_msg("fault %d is not found", fault);
    lab_close(&l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_keep_other_shapes_out),
      cmocka_unit_test(faults_in_groups_are_found),
      cmocka_unit_test(faults_in_lookups_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
