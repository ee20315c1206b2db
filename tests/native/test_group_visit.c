/* test_group_visit.c - the walk over a group's operands (fuse/group_visit.h) meets each operand of every
 * kind once, and says what it is for and over which index space. */
#include "fuse/group_visit.h"
#include "graph_support.h"
#include "kernels/schedule.h"

#include "base/text.h"

#define UNARY(op, x) sn_build_unary(&l.b, SN_OP_##op, x)
#define BINARY(op, x, y) sn_build_binary(&l.b, SN_OP_##op, x, y)
#define SUM(x, axes) sn_build_reduce(&l.b, SN_OP_sum, x, axes)

typedef struct meeting {
  sn_text text;
  const sn_operand *met[64];
  size_t n;
} meeting;

/* load0 b1(6, 9): a load of the first phase, of buffer 1, over 6 by 9 points */
static sn_status meet(void *user, const sn_touch *touch) {
  static const char *const roles[] = {"load", "index", "store", "factor", "input", "result"};
  meeting *m = user;
  for (size_t i = 0; i < m->n; i++) assert_ptr_not_equal(m->met[i], touch->operand);
  assert_true(m->n < 64);
  m->met[m->n++] = touch->operand;
  assert_int_equal(sn_touch_writes(touch),
                   touch->role == SN_ROLE_STORE || touch->role == SN_ROLE_RESULT);
  sn_text_add(&m->text, "%s%s", m->n > 1 ? ", " : "", roles[touch->role]);
  if (touch->body) sn_text_add(&m->text, "%u", touch->phase);
  sn_text_add(&m->text, " b%u(", touch->operand->value);
  for (int i = 0; i < touch->rank; i++)
    sn_text_add(&m->text, i ? ", %lld" : "%lld", (long long)touch->dims[i]);
  sn_text_add(&m->text, ")");
  return SN_OK;
}

static void expect_touches(lab *l, const sn_group *group, sn_group_kind kind,
                           const char *expected) {
  meeting m = {.text = sn_text_in(&l->arena)};
  assert_int_equal(group->kind, kind);
  assert_int_equal(sn_group_visit(group, meet, &m), SN_OK);
  assert_int_equal(m.text.status, SN_OK);
  assert_string_equal(m.text.data, expected);
}

static void maps_and_reductions(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9);
  const sn_id x = input(&l, type), y = input(&l, F32(9));
  const sn_id broad = sn_build_broadcast(&l.b, y, &type);
  OUTPUTS(&l, UNARY(neg, BINARY(add, x, broad)));
  sn_groups groups = cut_graph(&l, true);
  expect_touches(&l, groups.groups, SN_GROUP_MAP,
                 "load0 b0(6, 9), load0 b1(6, 9), store0 b2(6, 9)");
  OUTPUTS(&l, UNARY(exp, SUM(BINARY(mul, x, broad), 1)));
  groups = cut_graph(&l, true);
  expect_touches(&l, groups.groups, SN_GROUP_REDUCE,
                 "load0 b0(9, 6), load0 b1(9, 6), store1 b2(9)");
  lab_close(&l);
}

static void rows(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9);
  const sn_id x = input(&l, type), e = UNARY(exp, x), s = SUM(e, 2);
  OUTPUTS(&l, BINARY(div, e, sn_build_broadcast_back(&l.b, s, &type, 2)), UNARY(log, s));
  const sn_groups groups = cut_graph(&l, true);
  expect_touches(&l, groups.groups, SN_GROUP_ROW, "load0 b0(6, 9), store1 b1(6, 9), store2 b2(6)");
  lab_close(&l);
}

/* The index of a load is an operand of its own. */
static void lookups(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(6, 9), full = I32(6, 9);
  const sn_id table = input(&l, F32(7, 9)), at = input(&l, I32(6, 1));
  const sn_id rows =
      sn_build_op(&l.b, SN_OP_gather, (sn_id[]){table, sn_build_broadcast(&l.b, at, &full)}, 2,
                  &(int64_t){0}, 1, &type);
  OUTPUTS(&l, UNARY(exp, rows));
  const sn_groups groups = cut_with_lookups(&l, 2);
  expect_touches(&l, groups.groups, SN_GROUP_MAP,
                 "index0 b1(6, 9), load0 b0(6, 9), store0 b2(6, 9)");
  lab_close(&l);
}

/* With a map before it, whose result it alone reads. */
static void products(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type type = F32(2, 40);
  const sn_id x = input(&l, F32(2, 3)), w = input(&l, F32(3, 40)), v = input(&l, F32(40));
  const sn_id factor = sn_build_broadcast(&l.b, UNARY(rsqrt, v), &type);
  OUTPUTS(&l, BINARY(mul, sn_build_matmul(&l.b, x, w), factor));
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 1);
  expect_touches(&l, groups.groups, SN_GROUP_CONTRACTION,
                 "load0 b2(40), store0 b3(40), factor b0(1, 2, 3), factor b1(1, 40, 3), "
                 "load0 b3(2, 40), store0 b4(2, 40)");
  lab_close(&l);
}

static void calls(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(6, 9)), indices = input(&l, I32(4, 9));
  const sn_type type = F32(4, 9);
  const int64_t axis = 0;
  OUTPUTS(&l, sn_build_op(&l.b, SN_OP_gather, (sn_id[]){x, indices}, 2, &axis, 1, &type));
  const sn_groups groups = cut_graph(&l, true);
  expect_touches(&l, groups.groups, SN_GROUP_CALL,
                 "input b0(9, 6), input b1(9, 4), result b2(9, 4)");
  lab_close(&l);
}

/* What lies outside of it; its members are groups of their own. */
static void chains(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type scores = F32(4, 96, 96);
  const sn_id q = input(&l, F32(4, 96, 8)), k = input(&l, F32(4, 8, 96)), v = input(&l, scores);
  const sn_id e = UNARY(exp, sn_build_matmul(&l.b, q, k)), s = SUM(e, 4);
  const sn_id p = BINARY(div, e, sn_build_broadcast_back(&l.b, s, &scores, 4));
  OUTPUTS(&l, sn_build_matmul(&l.b, p, v));
  const sn_groups groups = cut_graph(&l, true);
  assert_int_equal(groups.n_groups, 1);
  expect_touches(&l, groups.groups, SN_GROUP_CHAIN,
                 "load0 b0(), load0 b1(), load0 b2(), store0 b5()");
  const sn_chain *chain = groups.groups->chain;
  sn_schedule schedule;
  assert_int_equal(sn_schedule_chain(&l.arena, &sn_cpu_target, groups.groups, &schedule), SN_OK);
  for (uint32_t m = 0; m < chain->n_members; m++) {
    meeting whole = {.text = sn_text_in(&l.arena)}, block = {.text = sn_text_in(&l.arena)};
    sn_group_visit(&chain->members[m], meet, &whole);
    sn_group_visit(&schedule.members[m], meet, &block);
    assert_int_equal(whole.n, block.n);
    for (size_t i = 0; i < whole.n; i++) assert_ptr_not_equal(whole.met[i], block.met[i]);
  }
  lab_close(&l);
}

static sn_status stop(void *user, const sn_touch *touch) {
  (void)touch;
  return ++*(int *)user == 2 ? SN_ERR_MEMORY : SN_OK;
}

static void a_failure_ends_the_visit(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(6)), y = input(&l, F32(6));
  OUTPUTS(&l, BINARY(add, x, y));
  const sn_groups groups = cut_graph(&l, true);
  int met = 0;
  assert_int_equal(sn_group_visit(groups.groups, stop, &met), SN_ERR_MEMORY);
  assert_int_equal(met, 2);
  lab_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_and_reductions),
      cmocka_unit_test(rows),
      cmocka_unit_test(products),
      cmocka_unit_test(lookups),
      cmocka_unit_test(calls),
      cmocka_unit_test(chains),
      cmocka_unit_test(a_failure_ends_the_visit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
