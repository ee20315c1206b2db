/* test_plan.c - places in one arena: best-fit blocks against a plain model, reuse, in-place and
 * donated memory, and a checker that finds planted overlaps. */
#include <stdio.h>

#include "graph_support.h"

#include "plan/blocks.h"
#include "plan/plan.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

static void blocks_by_hand(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_blocks b = {.arena = &l.arena};
  size_t a[6];
  for (int i = 0; i < 5; i++) {
    assert_int_equal(sn_blocks_take(&b, (size_t)(i + 1) * 64, &a[i]), SN_OK);
    assert_int_equal(a[i], (size_t)(i * (i + 1) / 2) * 64);
  }
  assert_int_equal(b.end, 15 * 64);
  sn_blocks_give(&b, a[1], 128);
  sn_blocks_give(&b, a[3], 256);
  assert_int_equal(b.n_free, 2);
  assert_int_equal(sn_blocks_take(&b, 128, &a[5]), SN_OK); /* the smaller hole fits exactly */
  assert_int_equal(a[5], a[1]);
  sn_blocks_give(&b, a[5], 128);
  sn_blocks_give(&b, a[2], 192); /* joins both neighbours */
  assert_int_equal(b.n_free, 1);
  assert_int_equal(b.free[0].offset, a[1]);
  assert_int_equal(b.free[0].bytes, 128 + 192 + 256);
  sn_blocks_give(&b, a[4], 320);
  assert_int_equal(sn_blocks_take(&b, 1024, &a[5]), SN_OK); /* the end grows by what is missing */
  assert_int_equal(a[5], 64);
  assert_int_equal(b.end, 64 + 1024);
  sn_blocks_give(&b, a[5], 0);
  assert_int_equal(b.n_free, 0);
  assert_int_equal(sn_blocks_take(&b, SIZE_MAX - 64, &a[5]), SN_ERR_MEMORY);
  lab_close(&l);
}

enum { UNITS = 4096 };

typedef struct taken {
  size_t offset, units;
} taken;

/* The hole the model would choose: the smallest that fits, the first of equals; units of 64
 * bytes. */
static size_t best_hole(const uint8_t *used, size_t end, size_t units) {
  size_t best = SIZE_MAX, best_size = SIZE_MAX;
  for (size_t at = 0; at < end;) {
    size_t size = 0;
    while (at + size < end && !used[at + size]) size++;
    if (size >= units && size < best_size) {
      best = at;
      best_size = size;
    }
    at += size ? size : 1;
  }
  return best;
}

static void too_much_is_told_in_bytes(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_blocks b = {.arena = &l.arena};
  size_t at;
  assert_int_equal(sn_blocks_take(&b, SIZE_MAX / 64 * 64, &at), SN_OK);
  assert_int_equal(sn_blocks_take(&b, 128, &at), SN_ERR_MEMORY);
  char expected[160];
  snprintf(expected, sizeof expected, "plan: intermediates are too large: %zu bytes and 128 more",
           SIZE_MAX / 64 * 64);
  assert_string_equal(l.env.error.message, expected);
  lab_close(&l);
}

static void blocks_against_a_model(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    lab l;
    lab_open(&l, true);
    sn_blocks b = {.arena = &l.arena};
    case_random random = {seed};
    static uint8_t used[UNITS];
    taken list[64];
    size_t n = 0, end = 0;
    memset(used, 0, sizeof used);
    for (int step = 0; step < 2000; step++) {
      if (n < 64 && (n == 0 || case_one_in(&random, 2))) {
        const size_t units = 1 + (size_t)case_below(&random, 9);
        size_t offset;
        assert_int_equal(sn_blocks_take(&b, units * 64, &offset), SN_OK);
        size_t expected = best_hole(used, end, units);
        if (expected == SIZE_MAX) {
          expected = end;
          while (expected > 0 && !used[expected - 1]) expected--;
          end = expected + units;
        }
        if (offset != expected * 64) fail_msg("seed %d step %d", (int)seed, step);
        memset(used + expected, 1, units);
        list[n++] = (taken){expected, units};
      } else {
        const size_t i = (size_t)case_below(&random, (int64_t)n);
        memset(used + list[i].offset, 0, list[i].units);
        assert_int_equal(sn_blocks_give(&b, list[i].offset * 64, list[i].units * 64), SN_OK);
        list[i] = list[--n];
      }
      assert_int_equal(b.end, end * 64);
    }
    lab_close(&l);
  }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static sn_plan plan_of(lab *l, const sn_groups *groups, const bool *donate) {
  sn_plan plan;
  assert_int_equal(sn_plan_memory(&l->arena, groups, donate, l->graph.n_arguments, &plan), SN_OK);
  assert_true(sn_plan_is_sound(groups, &plan));
  return plan;
}

static const sn_place *place_of_output(const sn_groups *groups, const sn_plan *plan, size_t i) {
  return &plan->places[groups->outputs[i]];
}

/* Ops of one kernel each: a cut through a transpose between them. */
static sn_id chain(lab *l, sn_id x, int n) {
  for (int i = 0; i < n; i++) x = sn_build_unary(&l->b, SN_OP_exp, sn_build_swap_last(&l->b, x));
  return x;
}

static void a_chain_needs_two_blocks(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  OUTPUTS(&l, chain(&l, input(&l, F32(16, 16)), 10));
  const sn_groups groups = cut_graph(&l, true);
  const sn_plan plan = plan_of(&l, &groups, NULL);
  assert_int_equal(groups.n_groups, 10);
  assert_int_equal(plan.naive_bytes, 9 * 1024);
  assert_int_equal(plan.arena_bytes, 2 * 1024);
  assert_int_equal(plan.n_fresh, 1);
  lab_close(&l);
}

static void elementwise_steps_run_in_place(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  sn_id x = input(&l, F32(64));
  for (int i = 0; i < 8; i++) x = sn_build_unary(&l.b, SN_OP_exp, x);
  OUTPUTS(&l, x);
  const sn_groups groups = cut_graph(&l, false);
  const sn_plan plan = plan_of(&l, &groups, NULL);
  assert_int_equal(groups.n_groups, 8);
  assert_int_equal(plan.arena_bytes, 256); /* seven intermediates, one place */
  assert_int_equal(plan.naive_bytes, 7 * 256);
  lab_close(&l);
}

static void what_is_read_elsewhere_is_not_overwritten(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(16, 16)), e = sn_build_unary(&l.b, SN_OP_exp, x);
  const sn_id sum = sn_build_binary(&l.b, SN_OP_add, e, sn_build_swap_last(&l.b, e));
  OUTPUTS(&l, sn_build_reduce(&l.b, SN_OP_max, sn_build_swap_last(&l.b, sum), 1));
  const sn_groups groups = cut_graph(&l, false);
  const sn_plan plan = plan_of(&l, &groups, NULL);
  assert_int_equal(plan.arena_bytes, 2 * 1024); /* e and its sum with its transpose lie apart */
  lab_close(&l);
}

/* Several stores of one kernel go to the stack: it may be where none of them hurts. */
static void a_stack_lies_beside_what_goes_into_it(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const int64_t axis[] = {0}, order[] = {0, 0, 0};
  const sn_id x = input(&l, F32(1));
  const sn_id s = sn_build_along(&l.b, SN_OP_cumsum, order, x);
  const sn_type four = F32(4);
  const sn_id stack = sn_build_op(&l.b, SN_OP_concat, (sn_id[]){s, x, s, s}, 4, axis, 1, &four);
  OUTPUTS(&l, sn_build_along(&l.b, SN_OP_cumsum, order, stack));
  const sn_groups groups = cut_graph(&l, true);
  const sn_plan plan = plan_of(&l, &groups, NULL); /* sound */
  assert_int_equal(plan.arena_bytes, 128);
  lab_close(&l);
}

/* The next of a carry lies where the carry lay if nobody reads that any more; of another one it takes no memory. */
static void a_body_writes_carries_over_themselves(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const int64_t order[] = {0, 0, 0};
  sn_id x[5];
  for (int k = 0; k < 5; k++) x[k] = input(&l, F32(64));
  OUTPUTS(&l, sn_build_unary(&l.b, SN_OP_exp, x[0]), /* in step */
          sn_build_along(&l.b, SN_OP_cumsum, order, x[1]),
          sn_build_along(&l.b, SN_OP_cumsum, order, x[3]), /* nobody reads x[2] */
          sn_build_unary(&l.b, SN_OP_neg, x[4]));          /* nor x[3] by now */
  const sn_groups groups = cut_graph(&l, false);
  const bool expected[] = {true, false, true, true};
  sn_plan plan;
  assert_int_equal(sn_plan_body(&l.arena, &groups, 5, 4, &plan), SN_OK);
  assert_true(sn_plan_is_sound(&groups, &plan));
  assert_int_equal(plan.n_fresh, 1);
  for (uint32_t k = 0; k < 4; k++) {
    const sn_place *place = place_of_output(&groups, &plan, k);
    assert_int_equal(place->kind, expected[k] ? SN_PLACE_DONATED : SN_PLACE_OUTPUT);
    if (expected[k]) assert_int_equal(place->index, k);
  }
  /* as many as there are carries */
  assert_int_equal(sn_plan_body(&l.arena, &groups, 5, 3, &plan), SN_OK);
  assert_int_equal(place_of_output(&groups, &plan, 3)->kind, SN_PLACE_OUTPUT);
  lab_close(&l);
}

static void text_of_a_plan(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(2, 3)), w = input(&l, F32(2, 3));
  input(&l, F32(7));
  OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_sub, w, chain(&l, x, 2)), x);
  const sn_groups groups = cut_graph(&l, true);
  const bool donate[3] = {false, true, true};
  const sn_plan plan = plan_of(&l, &groups, donate);
  const char *text;
  assert_int_equal(sn_plan_text(&groups, &plan, &l.arena, &text), SN_OK);
  assert_string_equal(text, "b0 = %0 float32(2, 3) argument 0, k0..k0\n"
                            "b1 = %1 float32(2, 3) argument 1, k1..k1\n"
                            "b2 = %4 float32(3, 2) arena at 0, k0..k1\n"
                            "b3 = %7 float32(2, 3) donated argument 1, k1..k1\n"
                            "arena 64 bytes, op by op 48\n");
  lab_close(&l);
}

/* ---- donated memory -------------------------------------------------------------------------- */

typedef sn_id donation_graph(lab *l, sn_id x, sn_id y);

static sn_id plain_add(lab *l, sn_id x, sn_id y) { return sn_build_binary(&l->b, SN_OP_add, x, y); }
static sn_id read_transposed_too(lab *l, sn_id x, sn_id y) {
  return plain_add(l, plain_add(l, x, y), sn_build_swap_last(&l->b, x));
}
static sn_id read_reversed(lab *l, sn_id x, sn_id y) {
  const sn_type type = F32(8, 8);
  const int64_t attrs[] = {7, 7, -1, -1};
  return plain_add(l, y, sn_build_op(&l->b, SN_OP_slice, &x, 1, attrs, 4, &type));
}
static sn_id read_before_only(lab *l, sn_id x, sn_id y) {
  const sn_id t = chain(l, x, 1);
  return plain_add(l, y, chain(l, t, 1));
}
static sn_id read_in_a_product(lab *l, sn_id x, sn_id y) { return sn_build_matmul(&l->b, x, y); }
static sn_id added_to_a_product(lab *l, sn_id x, sn_id y) {
  return plain_add(l, sn_build_matmul(&l->b, y, y), x);
}
static sn_id reduced_inside(lab *l, sn_id x, sn_id y) {
  const sn_type type = F32(8, 8);
  const sn_id s = sn_build_broadcast_back(&l->b, sn_build_reduce(&l->b, SN_OP_sum, x, 2), &type, 2);
  return plain_add(l, y, s);
}
static sn_id another_dtype(lab *l, sn_id x, sn_id y) {
  return sn_build_cast(&l->b, SN_OP_astype, plain_add(l, x, y), SN_I32);
}
static sn_id never_read(lab *l, sn_id x, sn_id y) {
  (void)x;
  return sn_build_unary(&l->b, SN_OP_exp, y);
}

static sn_id set_in(lab *l, sn_id x, sn_id rows) {
  const int64_t axis[] = {1};
  const sn_type index = {SN_I32, 2, {8, 1}}, column = F32(8, 1);
  const sn_id at = sn_build_full(&l->b, &index, 2);
  const sn_id update = sn_build_part(&l->b, SN_OP_slice, rows, 1, 3, 1, &column);
  return sn_build_along(&l->b, SN_OP_scatter_set, axis, x, at, update);
}
static sn_id updated(lab *l, sn_id x, sn_id y) { return set_in(l, x, y); }
static sn_id updated_with_its_own(lab *l, sn_id x, sn_id y) {
  (void)y;
  return set_in(l, x, x);
}
static sn_id updated_transposed(lab *l, sn_id x, sn_id y) {
  return set_in(l, sn_build_swap_last(&l->b, x), y);
}

static void donation(void **state) {
  (void)state;
  const struct {
    donation_graph *build;
    sn_place_kind expected;
  } cases[] = {{plain_add, SN_PLACE_DONATED},           {read_transposed_too, SN_PLACE_OUTPUT},
               {read_reversed, SN_PLACE_OUTPUT},        {read_before_only, SN_PLACE_DONATED},
               {read_in_a_product, SN_PLACE_OUTPUT},    {added_to_a_product, SN_PLACE_DONATED},
               {reduced_inside, SN_PLACE_DONATED},      {another_dtype, SN_PLACE_OUTPUT},
               {never_read, SN_PLACE_OUTPUT},           {updated, SN_PLACE_DONATED},
               {updated_with_its_own, SN_PLACE_OUTPUT}, {updated_transposed, SN_PLACE_OUTPUT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lab l;
    lab_open(&l, true);
    const sn_id x = input(&l, F32(8, 8)), y = input(&l, F32(8, 8));
    OUTPUTS(&l, cases[i].build(&l, x, y));
    const sn_groups groups = cut_graph(&l, true);
    const bool donate[2] = {true, false};
    const sn_plan plan = plan_of(&l, &groups, donate);
    if (place_of_output(&groups, &plan, 0)->kind != cases[i].expected) {
      const char *text;
      sn_plan_text(&groups, &plan, &l.arena, &text);
      fail_msg("case %zu:\n%s", i, text);
    }
    lab_close(&l);
  }
}

static void each_donated_argument_is_given_once(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8)), y = input(&l, F32(8));
  OUTPUTS(&l, plain_add(&l, x, y), sn_build_binary(&l.b, SN_OP_mul, x, y),
          sn_build_binary(&l.b, SN_OP_sub, x, y));
  const sn_groups groups = cut_graph(&l, true);
  const bool donate[2] = {true, true};
  const sn_plan plan = plan_of(&l, &groups, donate);
  int given[2] = {0}, fresh = 0;
  for (size_t i = 0; i < 3; i++) {
    const sn_place *place = place_of_output(&groups, &plan, i);
    if (place->kind == SN_PLACE_DONATED)
      given[place->index]++;
    else
      fresh++;
  }
  assert_true(given[0] == 1 && given[1] == 1 && fresh == 1);
  assert_int_equal(plan.n_fresh, 1);
  lab_close(&l);
}

static void a_returned_argument_is_not_given(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(8));
  OUTPUTS(&l, sn_build_unary(&l.b, SN_OP_exp, x), x);
  const sn_groups groups = cut_graph(&l, true);
  const bool donate[1] = {true};
  const sn_plan plan = plan_of(&l, &groups, donate);
  assert_int_equal(place_of_output(&groups, &plan, 0)->kind, SN_PLACE_OUTPUT);
  assert_int_equal(place_of_output(&groups, &plan, 1)->kind, SN_PLACE_ARGUMENT);
  lab_close(&l);
}

/* Places are rounded to 64 bytes, a caller's buffer is not: sizes must be equal to the byte. */
static void donated_memory_must_be_large_enough(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_type five = F32(5);
  const sn_id x = input(&l, F32(3)), y = input(&l, F32(5));
  const sn_id s = sn_build_reduce(&l.b, SN_OP_sum, x, 1);
  OUTPUTS(&l, plain_add(&l, y, sn_build_broadcast(&l.b, s, &five)));
  const sn_groups groups = cut_graph(&l, true);
  const bool donate[2] = {true, false};
  const sn_plan plan = plan_of(&l, &groups, donate);
  assert_int_equal(place_of_output(&groups, &plan, 0)->kind, SN_PLACE_OUTPUT);
  lab_close(&l);
}

static void values_without_elements(void **state) {
  (void)state;
  lab l;
  lab_open(&l, true);
  const sn_id x = input(&l, F32(0, 4)), y = input(&l, F32(4, 4));
  const sn_id a = chain(&l, x, 3), b = chain(&l, y, 3);
  const sn_id none = sn_build_matmul(&l.b, sn_build_swap_last(&l.b, a), b);
  OUTPUTS(&l, sn_build_matmul(&l.b, sn_build_swap_last(&l.b, chain(&l, none, 2)), none));
  for (int fusion = 0; fusion < 2; fusion++) {
    const sn_groups groups = cut_graph(&l, fusion);
    plan_of(&l, &groups, NULL);
  }
  lab_close(&l);
}

/* ---- the checker ----------------------------------------------------------------------------- */

static const sn_place *find_temp(const sn_plan *plan, size_t skip) {
  for (size_t v = 0; v < plan->n_values; v++)
    if (plan->places[v].kind == SN_PLACE_ARENA && !skip--) return &plan->places[v];
  return NULL;
}

static void planted_overlaps_are_found(void **state) {
  (void)state;
  for (int fault = 0; fault < 6; fault++) {
    lab l;
    lab_open(&l, true);
    const sn_id x = input(&l, F32(8, 8)), y = input(&l, F32(8, 8)), small = input(&l, F32(3)),
                z = input(&l, F32(4, 4));
    const sn_id a = chain(&l, x, 1), b = chain(&l, a, 1), c = chain(&l, y, 1);
    const sn_id sum = sn_build_binary(&l.b, SN_OP_add, a, sn_build_swap_last(&l.b, b));
    OUTPUTS(&l, sn_build_binary(&l.b, SN_OP_mul, sum, sn_build_swap_last(&l.b, c)),
            sn_build_unary(&l.b, SN_OP_neg, sum), sn_build_unary(&l.b, SN_OP_neg, small),
            chain(&l, z, 1));
    const sn_groups groups = cut_graph(&l, true);
    const sn_plan plan = plan_of(&l, &groups, NULL);
    sn_place *one = (sn_place *)find_temp(&plan, 0), *two = (sn_place *)find_temp(&plan, 1);
    assert_non_null(two);
    sn_place *out0 = (sn_place *)place_of_output(&groups, &plan, 0),
             *out1 = (sn_place *)place_of_output(&groups, &plan, 1),
             *out2 = (sn_place *)place_of_output(&groups, &plan, 2),
             *out3 = (sn_place *)place_of_output(&groups, &plan, 3);
    switch (fault) {
    case 0: two->offset = one->offset; break;      /* both live */
    case 1: two->offset = one->offset + 64; break; /* in part */
    case 2: out1->index = out0->index; break;      /* two results of one kernel */
    case 3: /* x is read through a transpose after a result was written over it */
      out2->kind = SN_PLACE_DONATED, out2->index = 0;
      out2->first = out2->last = 0;
      break;
    case 4: out3->kind = SN_PLACE_DONATED, out3->index = 3; break; /* z is read transposed there */
    case 5: out0->kind = SN_PLACE_DONATED, out0->index = 2; break; /* too small */
    }
    if (sn_plan_is_sound(&groups, &plan)) {
      const char *text;
      sn_groups_text(&groups, &l.arena, &text);
      print_message("%s", text);
      sn_plan_text(&groups, &plan, &l.arena, &text);
      fail_msg("fault %d is not found:\n%s", fault, text);
    }
    lab_close(&l);
  }
}

/* ---- random graphs --------------------------------------------------------------------------- */

static sn_id random_step(lab *l, const sn_id *pool, size_t n, case_random *random) {
  const sn_type type = F32(8, 8);
  const sn_id x = pool[case_below(random, (int64_t)n)], y = pool[case_below(random, (int64_t)n)];
  const uint64_t axes = 1 + (uint64_t)case_below(random, 3);
  const int64_t flip[] = {7, 0, -1, 1};
  switch (case_below(random, 8)) {
  case 0: return sn_build_unary(&l->b, SN_OP_exp, x);
  case 1: return sn_build_swap_last(&l->b, x);
  case 2: return sn_build_matmul(&l->b, x, y);
  case 3:
    return sn_build_broadcast_back(&l->b, sn_build_reduce(&l->b, SN_OP_sum, x, axes), &type, axes);
  case 4: return sn_build_op(&l->b, SN_OP_slice, &x, 1, flip, 4, &type);
  default: return sn_build_binary(&l->b, case_one_in(random, 2) ? SN_OP_add : SN_OP_sub, x, y);
  }
}

static void random_graphs_have_sound_plans(void **state) {
  (void)state;
  size_t arena = 0, naive = 0, donated = 0;
  for (uint64_t seed = 1; seed <= (case_short() ? 60 : 400); seed++) {
    lab l;
    lab_open(&l, true);
    case_random random = {seed};
    sn_id pool[60];
    bool donate[4];
    size_t n = 0;
    for (; n < 4; n++) {
      pool[n] = input(&l, F32(8, 8));
      donate[n] = case_one_in(&random, 2);
    }
    while (n < 60) {
      pool[n] = random_step(&l, pool, n, &random);
      n++;
    }
    OUTPUTS(&l, pool[59], pool[58], pool[30]);
    const sn_groups groups = cut_graph(&l, seed % 2);
    sn_plan plan;
    assert_int_equal(sn_plan_memory(&l.arena, &groups, donate, 4, &plan), SN_OK);
    if (!sn_plan_is_sound(&groups, &plan)) fail_msg("seed %d", (int)seed);
    arena += plan.arena_bytes;
    naive += plan.naive_bytes;
    for (size_t v = 0; v < plan.n_values; v++) donated += plan.places[v].kind == SN_PLACE_DONATED;
    lab_close(&l);
  }
  print_message("arenas of %zu bytes, %zu op by op, %zu donations\n", arena, naive, donated);
  assert_true(arena * 4 < naive * 3);
  assert_true(donated > 10);
}

static void write_chain(lab *l, void *made) {
  OUTPUTS(l, chain(l, input(l, F32(4, 4)), 200));
  *(sn_groups *)made = cut_graph(l, true);
}

static sn_status plan_and_print(lab *l, void *made) {
  sn_plan plan;
  const char *text;
  const sn_status status = sn_plan_memory(&l->arena, made, NULL, 1, &plan);
  return status ? status : sn_plan_text(made, &plan, &l->arena, &text);
}

static void failures_give_back_what_they_took(void **state) {
  (void)state;
  sn_groups groups;
  fail_each_allocation(write_chain, plan_and_print, &groups);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_by_hand),
      cmocka_unit_test(too_much_is_told_in_bytes),
      cmocka_unit_test(blocks_against_a_model),
      cmocka_unit_test(a_chain_needs_two_blocks),
      cmocka_unit_test(a_stack_lies_beside_what_goes_into_it),
      cmocka_unit_test(elementwise_steps_run_in_place),
      cmocka_unit_test(what_is_read_elsewhere_is_not_overwritten),
      cmocka_unit_test(a_body_writes_carries_over_themselves),
      cmocka_unit_test(text_of_a_plan),
      cmocka_unit_test(donation),
      cmocka_unit_test(each_donated_argument_is_given_once),
      cmocka_unit_test(a_returned_argument_is_not_given),
      cmocka_unit_test(donated_memory_must_be_large_enough),
      cmocka_unit_test(values_without_elements),
      cmocka_unit_test(planted_overlaps_are_found),
      cmocka_unit_test(random_graphs_have_sound_plans),
      cmocka_unit_test(failures_give_back_what_they_took),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
