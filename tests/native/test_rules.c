/* test_rules.c - every rule of the passes, with a row each: the expression that it makes, and that the
 * reference gives the same bits before and after on all pairs of special values. Then random graphs
 * through each pass alone and through all of them, and what the passes make of gradients. */
#include "graph_support.h"
#include "op_cases.h"

#include <math.h>
#include <stdio.h>

#include "graph/reference.h"
#include "passes/passes.h"

static const sn_pass_context sharing = {.target = &sn_cpu_target, .share = true};

static case_random rng;

/* ---- evaluation by the reference ------------------------------------------------------------- */

/* The values of output `number`, in the lab's arena; data: those of the arguments. */
static const void *evaluate(lab *l, const sn_graph *g, size_t number, void *const *data) {
  void **values = NULL;
  assert_int_equal(sn_arena_alloc(&l->arena, g->n_nodes, sizeof *values, (void **)&values), SN_OK);
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_node *node = sn_graph_node(g, id);
    const void *in[16];
    assert_true(node->n_inputs <= 16);
    for (uint32_t k = 0; k < node->n_inputs; k++) in[k] = values[sn_graph_inputs(g, id)[k]];
    if (node->op == SN_OP_input) {
      values[id] = data[*sn_graph_attrs(g, id)];
      continue;
    }
    assert_int_equal(sn_arena_alloc(&l->arena, sn_type_bytes(&node->type) + 1, 1, &values[id]),
                     SN_OK);
    sn_ref_node(g, false, id, in, values[id]);
  }
  return values[g->outputs[number]];
}

/* Equal bits, one NaN as good as another; or, where tolerance is given, as near as that. */
static bool is_same(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (sn_double_attr(a) == sn_double_attr(b)) return true;
  return tolerance > 0 && isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance * fabs(a);
}

static void expect_same(lab *l, const sn_graph *before, const sn_graph *after, void *const *data,
                        double tolerance, const char *what) {
  assert_int_equal(after->n_outputs, before->n_outputs);
  for (size_t o = 0; o < before->n_outputs; o++) {
    const sn_type *type = &before->nodes[before->outputs[o]].type;
    assert_true(sn_type_equal(type, &after->nodes[after->outputs[o]].type));
    const void *a = evaluate(l, before, o, data), *b = evaluate(l, after, o, data);
    for (int64_t i = 0; i < sn_type_size(type); i++) {
      const double x = sn_ref_load(type->dtype, a, i), y = sn_ref_load(type->dtype, b, i);
      if (is_same(x, y, tolerance)) continue;
      const char *text, *rewritten;
      sn_graph_text(before, &l->arena, &text);
      sn_graph_text(after, &l->arena, &rewritten);
      fail_msg("%s: output %zu, element %lld: %a became %a\n%s\n%s", what, o, (long long)i, x, y,
               text, rewritten);
    }
  }
}

static sn_graph *run_pass(lab *l, const sn_graph *from, int pass) {
  sn_graph *to = NULL;
  assert_int_equal(sn_arena_alloc(&l->arena, 1, sizeof *to, (void **)&to), SN_OK);
  to->arena = &l->arena;
  assert_int_equal(sn_pass_table[pass].run(&sharing, from, to), SN_OK);
  assert_int_equal(sn_graph_verify(to), SN_OK);
  return to;
}

/* ---- rules, a row each ----------------------------------------------------------------------- */

/* The node as an expression: x and y are the arguments, numbers stand for all that is one value. */
static void write_expression(const sn_graph *g, sn_id id, char *out, size_t bytes) {
  const sn_node *node = sn_graph_node(g, id);
  double value;
  size_t at = strlen(out);
  if (sn_graph_uniform(g, id, &value)) {
    snprintf(out + at, bytes - at, "%g", value);
    return;
  }
  if (node->op == SN_OP_input) {
    snprintf(out + at, bytes - at, "%c", "xyz"[*sn_graph_attrs(g, id)]);
    return;
  }
  at += (size_t)snprintf(out + at, bytes - at, "%s(", sn_op_describe(node->op)->name);
  for (uint32_t k = 0; k < node->n_inputs; k++) {
    if (k) snprintf(out + strlen(out), bytes - strlen(out), ", ");
    write_expression(g, sn_graph_inputs(g, id)[k], out, bytes);
  }
  snprintf(out + strlen(out), bytes - strlen(out), ")");
}

/* Short ways to write the left sides. l is the lab; x, y arguments of the row's dtype. */
#define U(op, a) sn_build_unary(&l->b, SN_OP_##op, (a))
#define B(op, p, q) sn_build_binary(&l->b, SN_OP_##op, (p), (q))
#define W(c, p, q) sn_build_where(&l->b, (c), (p), (q))
#define N(v) sn_build_like(&l->b, x, (v))
#define AS(to, a) sn_build_cast(&l->b, SN_OP_astype, (a), SN_##to)
#define TR(a, p, q) sn_build_transpose(&l->b, (a), (const int64_t[]){p, q})
#define RED(op, a, axes) sn_build_reduce(&l->b, SN_OP_##op, (a), (axes))
#define TIMES(p, q) sn_build_matmul(&l->b, (p), (q))
#define LESS B(less, x, y)

static sn_id shaped(lab *l, sn_op op, sn_id a, int rank, const int64_t *dims) {
  const sn_type type = type_of_dims(sn_build_type(&l->b, a)->dtype, rank, dims);
  return sn_build_op(&l->b, op, &a, 1, NULL, 0, &type);
}
#define RESHAPE(a, ...) shaped(l, SN_OP_reshape, (a), DIMS(__VA_ARGS__))
#define CUBE(a) RESHAPE(a, 4, 6, S) /* the matrix, its rows in 4 x 6 */
#define CROSS(a) TR(U(exp, a), 1, 0)
#define REPEAT(a, ...) shaped(l, SN_OP_broadcast, (a), DIMS(__VA_ARGS__))

/* rows [begin, begin + n step) of a matrix */
static sn_id rows(lab *l, sn_id a, int64_t begin, int64_t n, int64_t step) {
  sn_type type = *sn_build_type(&l->b, a);
  type.dims[0] = n;
  const int64_t attrs[] = {begin, 0, step, 1};
  return sn_build_op(&l->b, SN_OP_slice, &a, 1, attrs, 4, &type);
}
#define ROWS(a, begin, n, step) rows(l, (a), (begin), (n), (step))

/* `low` rows of a value before, one between, two behind */
static sn_id padded(lab *l, sn_id a, int64_t low, double value) {
  sn_type type = *sn_build_type(&l->b, a);
  type.dims[0] = low + 2 * type.dims[0] + 1;
  const int64_t attrs[] = {low, 0, 2, 1, sn_double_attr(value)};
  return sn_build_op(&l->b, SN_OP_pad, &a, 1, attrs, 5, &type);
}

static sn_id joined(lab *l, sn_id a, sn_id b) {
  const int64_t axis = 0;
  return sn_build_op(&l->b, SN_OP_concat, (sn_id[]){a, b}, 2, &axis, 1, NULL);
}

static sn_id softmax_of(lab *l, sn_id x) {
  const sn_type type = *sn_build_type(&l->b, x);
  const sn_id top = sn_build_broadcast_back(&l->b, RED(max, x, 2), &type, 2);
  const sn_id e = U(exp, B(sub, x, top));
  return B(div, e, sn_build_broadcast_back(&l->b, RED(sum, e, 2), &type, 2));
}

#define LEAVE NULL /* the pass finds nothing */

#define S 24 /* x and y are matrices of S by S: more than the pairs of special values */

/* pass, dtype, left side, right side */
#define RULES(ROW)                                                                     \
  ROW(simplify, F32, B(mul, x, N(1)), "x")                                             \
  ROW(simplify, F32, B(mul, N(-1), x), "neg(x)")                                       \
  ROW(simplify, I32, B(mul, x, N(0)), "0")                                             \
  ROW(simplify, F32, B(mul, x, N(0)), LEAVE)                                           \
  ROW(simplify, F32, B(mul, U(neg, x), U(neg, y)), "mul(x, y)")                        \
  ROW(simplify, F32, B(mul, U(neg, x), y), "neg(mul(x, y))")                           \
  ROW(simplify, I32, B(mul, U(neg, x), y), "neg(mul(x, y))")                           \
  ROW(simplify, F32, B(mul, U(neg, x), N(3)), "mul(x, -3)")                            \
  ROW(simplify, F64, B(mul, x, x), "square(x)")                                        \
  ROW(simplify, F32, B(div, x, N(1)), "x")                                             \
  ROW(simplify, F32, B(div, x, N(-1)), "neg(x)")                                       \
  ROW(simplify, F32, B(div, x, N(8)), "mul(x, 0.125)")                                 \
  ROW(simplify, F64, B(div, x, N(-0.25)), "mul(x, -4)")                                \
  ROW(simplify, F32, B(div, x, N(3)), LEAVE)                                           \
  ROW(simplify, F32, B(div, x, N(0x1p-127)), LEAVE)                                    \
  ROW(simplify, F32, B(div, N(1), x), "reciprocal(x)")                                 \
  ROW(simplify, F32, B(div, U(neg, x), U(neg, y)), "div(x, y)")                        \
  ROW(simplify, F32, B(add, x, N(-0.0)), "x")                                          \
  ROW(simplify, F32, B(add, x, N(0)), LEAVE)                                           \
  ROW(simplify, I32, B(add, x, N(0)), "x")                                             \
  ROW(simplify, F32, B(add, U(exp, x), N(0)), "exp(x)")                                \
  ROW(simplify, F32, B(add, B(add, x, N(0)), N(0)), "add(x, 0)")                       \
  ROW(simplify, F32, B(add, B(add, x, N(0)), U(abs, y)), "add(x, abs(y))")             \
  ROW(simplify, F32, B(add, B(add, x, N(0)), y), LEAVE)                                \
  ROW(simplify, F32, B(add, x, U(neg, y)), "sub(x, y)")                                \
  ROW(simplify, F32, B(add, U(neg, x), y), "sub(y, x)")                                \
  ROW(simplify, F32, B(sub, x, N(0)), "x")                                             \
  ROW(simplify, F32, B(sub, x, N(-0.0)), LEAVE)                                        \
  ROW(simplify, F32, B(sub, x, U(neg, y)), "add(x, y)")                                \
  ROW(simplify, F32, B(sub, N(-0.0), x), "neg(x)")                                     \
  ROW(simplify, F32, B(sub, N(0), x), LEAVE)                                           \
  ROW(simplify, I32, B(sub, N(0), x), "neg(x)")                                        \
  ROW(simplify, I32, B(sub, x, x), "0")                                                \
  ROW(simplify, F32, B(sub, x, x), LEAVE)                                              \
  ROW(simplify, F32, U(neg, U(neg, x)), "x")                                           \
  ROW(simplify, F32, U(abs, U(neg, x)), "abs(x)")                                      \
  ROW(simplify, I32, U(square, U(neg, x)), "square(x)")                                \
  ROW(simplify, F32, U(square, U(abs, x)), "square(x)")                                \
  ROW(simplify, I32, U(abs, U(abs, x)), "abs(x)")                                      \
  ROW(simplify, F32, U(relu, U(relu, x)), "relu(x)")                                   \
  ROW(simplify, F32, U(sign, U(sign, x)), "sign(x)")                                   \
  ROW(simplify, F32, U(abs, U(square, x)), "square(x)")                                \
  ROW(simplify, I32, U(abs, U(square, x)), LEAVE)                                      \
  ROW(simplify, F32, U(abs, U(sqrt, x)), LEAVE)                                        \
  ROW(simplify, F32, U(relu, U(exp, x)), "exp(x)")                                     \
  ROW(simplify, F32, U(floor, U(round, x)), "round(x)")                                \
  ROW(simplify, F64, U(trunc, U(ceil, x)), "ceil(x)")                                  \
  ROW(simplify, I32, U(round, AS(F32, x)), "astype(x)")                                \
  ROW(simplify, F32, B(pow, x, N(0)), "1")                                             \
  ROW(simplify, F32, AS(F32, AS(F64, x)), "x")                                         \
  ROW(simplify, F32, AS(I32, AS(F64, x)), "astype(x)")                                 \
  ROW(simplify, I32, AS(I32, AS(F64, x)), "x")                                         \
  ROW(simplify, I32, AS(I32, AS(F32, x)), "astype(astype(x))")                         \
  ROW(simplify, F64, AS(F64, AS(F32, x)), "astype(astype(x))")                         \
  ROW(simplify, F32, B(less, x, x), "0")                                               \
  ROW(simplify, F32, B(equal, x, x), LEAVE)                                            \
  ROW(simplify, I32, B(less_equal, x, x), "1")                                         \
  ROW(simplify, I32, B(not_equal, x, x), "0")                                          \
  ROW(simplify, F32, B(greater, AS(F32, LESS), N(0)), "less(x, y)")                    \
  ROW(simplify, F32, B(equal, AS(F32, LESS), N(1)), "less(x, y)")                      \
  ROW(simplify, I32, B(equal, AS(I32, LESS), N(0)), "greater_equal(x, y)")             \
  ROW(simplify, F32, U(logical_not, U(logical_not, LESS)), "less(x, y)")               \
  ROW(simplify, F32, U(logical_not, B(equal, x, y)), "not_equal(x, y)")                \
  ROW(simplify, F32, U(logical_not, LESS), LEAVE)                                      \
  ROW(simplify, BOOL, B(logical_and, x, x), "x")                                       \
  ROW(simplify, BOOL, B(logical_and, x, N(1)), "x")                                    \
  ROW(simplify, BOOL, B(logical_and, x, N(0)), "0")                                    \
  ROW(simplify, BOOL, B(logical_or, x, N(1)), "1")                                     \
  ROW(simplify, BOOL, B(logical_or, x, N(0)), "x")                                     \
  ROW(simplify, BOOL, B(logical_xor, x, N(1)), "logical_not(x)")                       \
  ROW(simplify, BOOL, B(logical_xor, x, x), "0")                                       \
  ROW(simplify, I32, B(bitwise_and, x, N(-1)), "x")                                    \
  ROW(simplify, I32, B(bitwise_xor, x, N(0)), "x")                                     \
  ROW(simplify, I32, B(shift_left, x, N(0)), "x")                                      \
  ROW(simplify, F32, B(maximum, x, x), "x")                                            \
  ROW(simplify, F32, B(maximum, x, N(-INFINITY)), "x")                                 \
  ROW(simplify, F32, B(minimum, x, N(INFINITY)), "x")                                  \
  ROW(simplify, F32, B(maximum, x, N(0)), "relu(x)")                                   \
  ROW(simplify, F32, B(maximum, x, N(-0.0)), LEAVE)                                    \
  ROW(simplify, I32, B(maximum, N(0), x), "relu(x)")                                   \
  ROW(simplify, F32, W(LESS, x, x), "x")                                               \
  ROW(simplify, F32, W(U(logical_not, LESS), x, y), "where(less(x, y), y, x)")         \
  ROW(simplify, F32, W(LESS, W(LESS, x, y), N(0)), "where(less(x, y), x, 0)")          \
  ROW(simplify, F32, W(LESS, x, W(LESS, y, N(0))), "where(less(x, y), x, 0)")          \
  ROW(simplify, BOOL, W(x, N(1), N(0)), "x")                                           \
  ROW(simplify, F32, RED(sum, RESHAPE(x, 1, S, S), 1), "add(x, 0)")                    \
  ROW(simplify, F32, RED(prod, RESHAPE(x, S, S, 1), 4), "x")                           \
  ROW(simplify, F32, RED(max, RED(max, x, 1), 1), "max(x)")                            \
  ROW(simplify, I32, RED(sum, RED(sum, x, 2), 1), "sum(x)")                            \
  ROW(simplify, F32, RED(sum, RED(sum, x, 2), 1), LEAVE)                               \
  ROW(layout, F32, TR(TR(x, 1, 0), 1, 0), "x")                                         \
  ROW(layout, F32, RESHAPE(RESHAPE(x, S *S), S, S), "x")                               \
  ROW(layout, F32, TR(RESHAPE(x, S *S, 1), 1, 0), "reshape(x)")                        \
  ROW(layout, F32, REPEAT(REPEAT(RED(max, x, 3), 3, 1), 2, 3, 4), "broadcast(max(x))") \
  ROW(layout, F32, RESHAPE(REPEAT(RED(max, x, 3), 3, 8), S), "broadcast(max(x))")      \
  ROW(layout, F32, ROWS(x, 0, S, 1), "x")                                              \
  ROW(layout, F32, ROWS(ROWS(x, 11, 6, -2), 4, 2, -3), "slice(x)")                     \
  ROW(layout, F32, ROWS(REPEAT(RED(max, x, 1), 3, S), 1, 2, 1), "broadcast(max(x))")   \
  ROW(layout, F32, ROWS(joined(l, x, y), S, S, 1), "y")                                \
  ROW(layout, F32, ROWS(joined(l, x, y), 11, 6, -2), "slice(x)")                       \
  ROW(layout, F32, ROWS(joined(l, x, y), S / 2, S, 1), LEAVE)                          \
  ROW(layout, F32, joined(l, ROWS(x, 0, 5, 1), ROWS(x, 5, 19, 1)), "x")                \
  ROW(layout, F32, joined(l, ROWS(x, 0, 5, 1), ROWS(x, 6, 18, 1)), LEAVE)              \
  ROW(layout, F32, ROWS(padded(l, x, 3, 7), 3, S, 2), "x")                             \
  ROW(layout, F32, ROWS(padded(l, x, 3, 7), 9, 2, -4), "slice(x)")                     \
  ROW(layout, F32, ROWS(padded(l, x, 3, 7), 0, 3, 1), "7")                             \
  ROW(layout, F32, ROWS(padded(l, x, 3, 7), 3, 4, 1), LEAVE)                           \
  ROW(layout, F32, TR(B(mul, TR(x, 1, 0), N(2)), 1, 0), "mul(x, 2)")                   \
  ROW(layout, F32, RESHAPE(U(exp, RESHAPE(x, S *S)), S, S), "exp(x)")                  \
  ROW(layout, F32, U(exp, REPEAT(RED(max, x, 1), 9, S)), "broadcast(exp(max(x)))")     \
  ROW(layout, F32, B(sub, REPEAT(RED(max, x, 3), 9), REPEAT(RED(min, y, 3), 9)),       \
      "broadcast(sub(max(x), min(y)))")                                                \
  ROW(layout, F32, U(neg, REPEAT(x, 3, S, S)), LEAVE)                                  \
  ROW(layout, F32, RED(max, REPEAT(x, 3, S, S), 3), "max(x)")                          \
  ROW(layout, F32, U(neg, CUBE(U(exp, x))), "reshape(neg(exp(x)))")                    \
  ROW(layout, F32, U(neg, CUBE(x)), LEAVE)                                             \
  ROW(layout, F32, B(add, CUBE(y), CUBE(U(exp, x))), "reshape(add(y, exp(x)))")        \
  ROW(layout, F32, B(add, CUBE(U(exp, x)), U(neg, CUBE(y))), LEAVE)                    \
  ROW(layout, F32, W(B(less, CUBE(U(exp, x)), CUBE(y)), CUBE(N(1)), CUBE(N(2))),       \
      "reshape(where(less(exp(x), y), 1, 2))")                                         \
  ROW(layout, F32, B(add, CUBE(U(exp, x)), REPEAT(RED(max, y, 1), 4, 6, S)),           \
      "reshape(add(exp(x), broadcast(reshape(max(y)))))")                              \
  ROW(layout, F32, B(add, CUBE(U(exp, x)), REPEAT(ROWS(y, 0, 6, 1), 4, 6, S)), LEAVE)  \
  ROW(layout, F32, RED(sum, CUBE(U(exp, x)), 3), "sum(exp(x))")                        \
  ROW(layout, F32, RED(max, CUBE(U(exp, x)), 4), "reshape(max(exp(x)))")               \
  ROW(layout, F32, RED(sum, CUBE(U(exp, x)), 1), LEAVE)                                \
  ROW(layout, F32, B(mul, CROSS(x), N(2)), "transpose(mul(2, exp(x)))")                \
  ROW(layout, F32, U(neg, TR(x, 1, 0)), LEAVE)                                         \
  ROW(layout, F32, B(sub, CROSS(x), CROSS(y)), "transpose(sub(exp(x), exp(y)))")       \
  ROW(layout, F32, TR(U(neg, U(abs, CROSS(x))), 1, 0), "neg(abs(exp(x)))")             \
  ROW(layout, F32, B(add, CROSS(x), y), LEAVE)                                         \
  ROW(layout, F32, B(add, CROSS(x), REPEAT(RED(max, y, 1), S, S)),                     \
      "transpose(add(exp(x), transpose(broadcast(max(y)))))")                          \
  ROW(layout, F32, B(sub, CROSS(x), REPEAT(RED(max, CROSS(x), 1), S, S)), LEAVE)       \
  ROW(fold, F32, B(mul, N(3), U(exp, N(0))), "3")                                      \
  ROW(fold, F32, RED(sum, N(0.5), 3), "288")                                           \
  ROW(fold, F32, RED(sum, N(-0.0), 3), "0")                                            \
  ROW(fold, F32, RED(sum, N(0.1), 3), LEAVE)                                           \
  ROW(fold, F32, RED(sum, N(INFINITY), 3), "inf")                                      \
  ROW(fold, I32, RED(sum, N(100000000), 3), "1.76543e+09")                             \
  ROW(fold, F32, RED(max, N(3), 1), "3")                                               \
  ROW(fold, F32, RED(prod, N(1), 1), "1")                                              \
  ROW(fold, F32, joined(l, N(2), N(2)), "2")                                           \
  ROW(fold, F32, joined(l, N(0), N(-0.0)), LEAVE)                                      \
  ROW(fold, F32, padded(l, N(2), 1, 2), "2")

typedef struct rule_case {
  int pass;
  sn_dtype dtype;
  const char *left, *right;
} rule_case;

/* The left side of row i. */
static sn_id build_left(lab *l, int i, sn_id x, sn_id y) {
  int row = 0;
  (void)y;
#define LEFT(pass_, dtype_, left, right) \
  if (i == row++) return left;
  RULES(LEFT)
#undef LEFT
  return SN_NONE;
}

static const rule_case rule_cases[] = {
#define DATA(pass_, dtype_, left, right) {SN_PASS_##pass_, SN_##dtype_, #left, right},
    RULES(DATA)
#undef DATA
};

static const int64_t case_dims[] = {S, S};

/* All pairs of special values. */
static void fill_case(sn_dtype dtype, void *data[2]) {
  const int64_t n = S * S, specials = (int64_t)case_special_count(dtype);
  assert_true(n >= specials * specials);
  for (int which = 0; which < 2; which++) {
    data[which] = malloc((size_t)n * 8);
    case_fill(&rng, SN_OP_add, which, dtype, CASE_SPECIALS, n, data[which]);
  }
}

static void every_rule(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rule_cases / sizeof *rule_cases; i++) {
    const rule_case *c = &rule_cases[i];
    lab lab_, *l = &lab_;
    void *data[2];
    lab_open(l, true);
    fill_case(c->dtype, data);
    const sn_type type = type_of_dims(c->dtype, 2, case_dims);
    const sn_id x = input(l, type), y = input(l, type);
    const sn_id made = build_left(l, (int)i, x, y);
    if (l->b.status) fail_msg("%s: %s", c->left, l->env.error.message);
    OUTPUTS(l, made);
    char before[512] = "", after[512] = "";
    write_expression(&l->graph, l->graph.outputs[0], before, sizeof before);
    const sn_graph *to = run_pass(l, &l->graph, c->pass);
    write_expression(to, to->outputs[0], after, sizeof after);
    if (strcmp(after, c->right ? c->right : before) != 0)
      fail_msg("%s of %s: %s -> %s, not %s", sn_pass_table[c->pass].name, sn_dtype_name(c->dtype),
               c->left, after, c->right ? c->right : before);
    expect_same(l, &l->graph, to, data, 0, c->left);
    free(data[0]);
    free(data[1]);
    lab_close(l);
  }
}

/* ---- rules of other rounding ----------------------------------------------------------------- */

/* pairs of rows, as windows (S / 2, 2, S), and as those along columns, (S, S / 2, 2) */
#define PAIRS(a) sn_build_windows(&l->b, (a), 0, S / 2, 2, 2, 1)
#define PAIRS_ALONG(a) sn_build_windows(&l->b, (a), 1, S / 2, 2, 2, 1)
/* windows of windows, (2, 6, 5, S), whose points are too many to be taken apart */
#define SIXTY(a) \
  sn_build_windows(&l->b, sn_build_windows(&l->b, (a), 0, 2, 10, 10, 1), 1, 6, 5, 1, 1)
#define TURNED(a) sn_build_transpose(&l->b, (a), (const int64_t[]){1, 0, 2})
/* two rows of y, a weight for each point of PAIRS and column */
#define WEIGHTS REPEAT(ROWS(y, 3, 2, 1), S / 2, 2, S)
#define AT(a) "reshape(slice(windows(" a ")))"

/* How many of each pair are the larger one. */
static sn_id largest(lab *l, sn_id x) {
  const sn_id pairs = PAIRS(x);
  const sn_type type = *sn_build_type(&l->b, pairs);
  const sn_id most = sn_build_broadcast_back(&l->b, RED(max, pairs, 2), &type, 2);
  return RED(sum, AS(F32, B(equal, pairs, most)), 2);
}
#define MOST_OF_PAIR "maximum(" AT("x") ", " AT("x") ")"
#define ABS_AT AT("abs(x)")
#define IS_MOST "astype(equal(" AT("x") ", " MOST_OF_PAIR "))"

#define STRENGTHS(ROW)                                                                           \
  ROW(strength, F32, B(pow, x, N(2)), "square(x)")                                               \
  ROW(strength, F64, B(pow, x, N(3)), "mul(x, square(x))")                                       \
  ROW(strength, F64, B(pow, x, N(1)), "x")                                                       \
  ROW(strength, F32, B(pow, x, N(-1)), "reciprocal(x)")                                          \
  ROW(strength, F32, TIMES(RESHAPE(x, S *S, 1), RESHAPE(y, 1, S *S)),                            \
      "add(mul(broadcast(reshape(x)), broadcast(reshape(y))), 0)")                               \
  ROW(strength, I32, TIMES(RESHAPE(x, S, S, 1), RESHAPE(y, S, 1, S)),                            \
      "mul(broadcast(reshape(x)), broadcast(reshape(y)))")                                       \
  ROW(strength, F32, TIMES(x, y), LEAVE)                                                         \
  ROW(strength, I32, RED(sum, TIMES(RESHAPE(x, 4, 6, S), RESHAPE(y, 4, S, 6)), 1),               \
      "matmul(reshape(transpose(reshape(x))), reshape(reshape(y)))")                             \
  ROW(strength, I32, RED(sum, TIMES(RESHAPE(x, 2, 3, 4, S), RESHAPE(y, 2, 3, S, 4)), 2), LEAVE)  \
  ROW(strength, I32, RED(sum, TIMES(RESHAPE(x, 2, 3, 4, S), RESHAPE(y, 2, 3, S, 4)), 3),         \
      "matmul(reshape(transpose(reshape(x))), reshape(reshape(y)))")                             \
  ROW(strength, I32, RED(sum, TIMES(RESHAPE(x, S, S, 1), RESHAPE(y, S, 1, S)), 1),               \
      "matmul(reshape(transpose(reshape(x))), reshape(reshape(y)))")                             \
  ROW(strength, F32, RED(sum, TIMES(RESHAPE(x, 4, 6, S), RESHAPE(y, 4, S, 6)), 2), LEAVE)        \
  ROW(strength, F32, RED(sum, TIMES(REPEAT(x, 4, S, S), RESHAPE(y, 4, S, 6)), 1), LEAVE)         \
  ROW(strength, F32, B(pow, x, N(0.5)), LEAVE)                                                   \
  ROW(strength, F32, RED(sum, REPEAT(x, 7, S, S), 1), "add(mul(x, 7), 0)")                       \
  ROW(strength, F32, RED(sum, REPEAT(U(abs, x), 7, S, S), 1), "mul(abs(x), 7)")                  \
  ROW(strength, F32, RED(sum, REPEAT(x, 5, S, S), 3), "mul(sum(x), 5)")                          \
  ROW(strength, I32, RED(sum, REPEAT(x, 5, S, S), 1), "mul(x, 5)")                               \
  ROW(strength, F32, RED(sum, RED(sum, x, 1), 1), "sum(x)")                                      \
  ROW(strength, F32, U(log, softmax_of(l, x)),                                                   \
      "sub(sub(x, broadcast(reshape(max(x)))), broadcast(reshape(log(sum(exp(sub(x, "            \
      "broadcast(reshape(max(x))))))))))")                                                       \
  ROW(strength, F32, U(log, B(div, U(exp, x), y)), LEAVE)                                        \
  ROW(strength, F32, RED(max, PAIRS(x), 2), MOST_OF_PAIR)                                        \
  ROW(strength, I32, RED(min, PAIRS(x), 2), "minimum(" AT("x") ", " AT("x") ")")                 \
  ROW(strength, F64, RED(sum, PAIRS(x), 2), "add(add(" AT("x") ", " AT("x") "), 0)")             \
  ROW(strength, F32, RED(sum, PAIRS(U(abs, x)), 2), "add(" ABS_AT ", " ABS_AT ")")               \
  ROW(strength, F32, largest(l, x), "add(" IS_MOST ", " IS_MOST ")")                             \
  ROW(strength, F32, RED(max, PAIRS_ALONG(x), 4), LEAVE)                                         \
  ROW(strength, F32, RED(max, SIXTY(x), 7), LEAVE)                                               \
  ROW(strength, F32, RED(max, B(mul, PAIRS(x), WEIGHTS), 2),                                     \
      "maximum(mul(broadcast(reshape(slice(slice(y)))), reshape(slice(windows(x)))), "           \
      "mul(broadcast(reshape(slice(slice(y)))), reshape(slice(windows(x)))))")                   \
  ROW(strength, F32, RED(max, TURNED(PAIRS(x)), 1),                                              \
      "maximum(reshape(slice(transpose(windows(x)))), reshape(slice(transpose(windows(x)))))")   \
  ROW(strength, F32, RED(max, B(mul, REPEAT(ROWS(x, 0, 2, 1), S / 2, 2, S), WEIGHTS), 2), LEAVE) \
  ROW(strength, F32, RED(prod, PAIRS(x), 2), LEAVE)                                              \
  ROW(strength, F32, RED(max, B(add, PAIRS(x), RESHAPE(y, S / 2, 2, S)), 2), LEAVE)

static sn_id build_strength(lab *l, int i, sn_id x, sn_id y) {
  int row = 0;
#define LEFT(pass_, dtype_, left, right) \
  if (i == row++) return left;
  STRENGTHS(LEFT)
#undef LEFT
  return SN_NONE;
}

static const rule_case strength_cases[] = {
#define DATA(pass_, dtype_, left, right) {SN_PASS_##pass_, SN_##dtype_, #left, right},
    STRENGTHS(DATA)
#undef DATA
};

/* On special values only what is not rounded is compared: NaN, infinities and zeros stay what they
 * are; on common ones all within a few units in the last place. */
static void rules_of_other_rounding(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof strength_cases / sizeof *strength_cases; i++) {
    const rule_case *c = &strength_cases[i];
    for (int special = 0; special < 2; special++) {
      const bool is_sum = strstr(c->left, "RED(sum") || strstr(c->left, "softmax");
      lab lab_, *l = &lab_;
      void *data[2];
      lab_open(l, true);
      fill_case(c->dtype, data);
      if (!special)
        for (int which = 0; which < 2; which++)
          case_fill(&rng, SN_OP_add, which, c->dtype, is_sum ? CASE_WHOLE : CASE_DOMAIN, S * S,
                    data[which]);
      const sn_type type = type_of_dims(c->dtype, 2, case_dims);
      const sn_id x = input(l, type), y = input(l, type);
      OUTPUTS(l, build_strength(l, (int)i, x, y));
      char before[512] = "", after[512] = "";
      write_expression(&l->graph, l->graph.outputs[0], before, sizeof before);
      const sn_graph *to = run_pass(l, &l->graph, c->pass);
      write_expression(to, to->outputs[0], after, sizeof after);
      if (strcmp(after, c->right ? c->right : before) != 0)
        fail_msg("%s -> %s, not %s", c->left, after, c->right ? c->right : before);
      const double unit = c->dtype == SN_F64 ? 0x1p-52 : 0x1p-23;
      expect_same(l, &l->graph, to, data, 4 * unit, c->left);
      free(data[0]);
      free(data[1]);
      lab_close(l);
    }
  }
}

/* ---- random graphs --------------------------------------------------------------------------- */

#define MOST_NODES 24

/* A node on some of those before it, all of shape (4, 6) or views and reductions back to it, with
 * constants that rules look for. Sums take whole numbers below 2^24: exact in any order. */
static sn_id random_node(lab *l, sn_id *made, int n) {
  static const double numbers[] = {0, -0.0, 1, -1, 2, -0.5, 3, INFINITY, -INFINITY, NAN};
  const sn_id x = made[case_below(&rng, n)];
  sn_id y = made[case_below(&rng, n)];
  const int64_t R = 4, C = 6;
  if (case_below(&rng, 3) == 0) y = N(numbers[case_below(&rng, 10)]);
  switch (case_below(&rng, 13)) {
  case 0: return U(neg, x);
  case 1: return U(abs, x);
  case 2: return U(relu, x);
  case 3: {
    static const sn_op ops[] = {SN_OP_add, SN_OP_sub, SN_OP_mul,     SN_OP_div,
                                SN_OP_add, SN_OP_mul, SN_OP_maximum, SN_OP_minimum};
    return sn_build_binary(&l->b, ops[case_below(&rng, 8)], x, y);
  }
  case 4: return W(B(less, x, y), x, y);
  case 5: return W(U(logical_not, B(equal, x, y)), y, N(0));
  case 6: return TR(B(mul, TR(x, 1, 0), TR(y, 1, 0)), 1, 0);
  case 7: return RESHAPE(U(square, RESHAPE(x, 24)), R, C);
  case 8: {
    const sn_type type = *sn_build_type(&l->b, x);
    const sn_id top = sn_build_broadcast_back(&l->b, RED(max, x, 2), &type, 2);
    return B(sub, U(floor, top), B(add, top, N(0)));
  }
  case 9: return ROWS(joined(l, x, y), case_below(&rng, 5), R, 1);
  case 10: return ROWS(padded(l, x, 2, 0), case_below(&rng, 8), R, 1);
  case 11: return AS(F32, B(greater_equal, x, y));
  default: return AS(F32, AS(F64, B(add, x, y)));
  }
}

static void random_graphs(void **state) {
  (void)state;
  const int times = case_short() ? 100 : 3000;
  rng.state = case_seed();
  for (int i = 0; i < times; i++) {
    lab lab_, *l = &lab_;
    void *data[2];
    lab_open(l, i % 4 != 0);
    for (int which = 0; which < 2; which++) {
      data[which] = malloc(24 * 8);
      case_fill(&rng, SN_OP_add, which, SN_F32, i % 2 ? CASE_SPECIALS : CASE_DOMAIN, 24,
                data[which]);
    }
    sn_id made[MOST_NODES];
    int n = 0;
    made[n++] = input(l, F32(4, 6));
    made[n++] = input(l, F32(4, 6));
    while (n < MOST_NODES) {
      made[n] = random_node(l, made, n);
      n++;
    }
    OUTPUTS(l, made[n - 1], made[n - 2], made[n / 2]);
    const sn_graph *all = &l->graph;
    for (int pass = 0; pass < SN_PASS_COUNT; pass++) {
      if (pass == SN_PASS_strength) continue;
      expect_same(l, &l->graph, run_pass(l, &l->graph, pass), data, 0, sn_pass_table[pass].name);
      all = run_pass(l, all, pass);
    }
    expect_same(l, &l->graph, all, data, 0, "all passes");
    free(data[0]);
    free(data[1]);
    lab_close(l);
  }
}

/* ---- what questions promise ------------------------------------------------------------------ */

/* Ops of which rules.c says that they never give -0. */
static void never_minus_zero(void **state) {
  (void)state;
  static const sn_op ops[] = {SN_OP_abs,  SN_OP_square,  SN_OP_exp, SN_OP_exp2,
                              SN_OP_cosh, SN_OP_sigmoid, SN_OP_relu};
  for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += case_short() ? 999983 : 9973) {
      const uint32_t half = (uint32_t)bits;
      float x;
      memcpy(&x, &half, sizeof x);
      const double in[SN_MAX_ARITY] = {(double)x};
      for (int wide = 0; wide < 2; wide++) {
        const sn_dtype dtype = wide ? SN_F64 : SN_F32;
        const double y = sn_ref_scalar(false, ops[k], dtype, in, dtype);
        if (y == 0 && signbit(y)) fail_msg("%s(%a) = -0", sn_op_describe(ops[k])->name, in[0]);
        if (y < 0) fail_msg("%s(%a) = %a", sn_op_describe(ops[k])->name, in[0], y);
      }
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

static sn_id mean_square(lab *l, sn_id x) {
  const double n = (double)sn_type_size(sn_build_type(&l->b, x));
  const sn_id sum = RED(sum, U(square, x), 3);
  return B(div, sum, sn_build_like(&l->b, sum, n));
}

static sn_id loss_of_mlp(lab *l, sn_id x, sn_id w) {
  const sn_id h = U(relu, sn_build_matmul(&l->b, x, w));
  return mean_square(l, sn_build_matmul(&l->b, h, w));
}

static sn_id loss_of_softmax(lab *l, sn_id x, sn_id w) {
  return mean_square(l, B(mul, softmax_of(l, x), w));
}

static sn_id loss_of_log_softmax(lab *l, sn_id x, sn_id w) {
  return RED(sum, B(mul, U(log, softmax_of(l, x)), w), 3);
}

static sn_id loss_of_norm(lab *l, sn_id x, sn_id w) {
  const sn_type type = *sn_build_type(&l->b, x);
  const sn_id total = RED(sum, x, 2), n = sn_build_like(&l->b, total, (double)type.dims[1]);
  const sn_id centred = B(sub, x, sn_build_broadcast_back(&l->b, B(div, total, n), &type, 2));
  const sn_id spread = B(div, RED(sum, U(square, centred), 2), n);
  const sn_id scale = U(rsqrt, B(add, spread, sn_build_like(&l->b, spread, 1e-5)));
  return mean_square(l,
                     B(mul, B(mul, centred, sn_build_broadcast_back(&l->b, scale, &type, 2)), w));
}

static sn_id loss_of_parts(lab *l, sn_id x, sn_id w) {
  const sn_id both = joined(l, ROWS(x, 0, 8, 1), B(mul, ROWS(w, 8, 8, 1), ROWS(x, 8, 8, 1)));
  return mean_square(
      l, B(sub, ROWS(both, 4, 8, 1),
           W(B(less, ROWS(x, 0, 8, 1), ROWS(w, 0, 8, 1)), ROWS(x, 8, 8, 1), ROWS(w, 8, 8, 1))));
}

/* Nodes that are live when reverse mode has made them, without dead ones, and after all passes. */
static void gradients_shrink(void **state) {
  (void)state;
  static const struct {
    const char *name;
    sn_id (*loss)(lab *, sn_id, sn_id);
    size_t written, left;
  } cases[] = {
      {"mlp", loss_of_mlp, 29, 27},
      {"softmax", loss_of_softmax, 48, 42},
      {"log softmax", loss_of_log_softmax, 42, 36},
      {"layer norm", loss_of_norm, 58, 52},
      {"parts", loss_of_parts, 38, 36},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    lab lab_, *l = &lab_;
    void *data[2];
    lab_open(l, true);
    const sn_id x = input(l, F32(16, 16)), w = input(l, F32(16, 16));
    for (int which = 0; which < 2; which++) {
      data[which] = malloc(256 * 8);
      case_fill(&rng, SN_OP_sin, which, SN_F64, CASE_DOMAIN, 256, data[which]);
      for (int k = 0; k < 256; k++)
        sn_ref_store(SN_F32, data[which], k, sn_ref_load(SN_F64, data[which], k) / 20);
    }
    const sn_id loss = cases[i].loss(l, x, w);
    sn_id out[2];
    assert_int_equal(gradients(l, loss, (const sn_id[]){x, w}, 2, out), SN_OK);
    OUTPUTS(l, loss, out[0], out[1]);
    const sn_graph *before = run_pass(l, &l->graph, SN_PASS_dce), *after = before;
    for (int pass = 0; pass < SN_PASS_COUNT; pass++) after = run_pass(l, after, pass);
    if (before->n_nodes != cases[i].written || after->n_nodes != cases[i].left)
      fail_msg("%s: %zu nodes became %zu", cases[i].name, before->n_nodes, after->n_nodes);
    free(data[0]);
    free(data[1]);
    lab_close(l);
  }
}

static size_t count_ops(const sn_graph *g, sn_op op) {
  size_t n = 0;
  for (size_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == op;
  return n;
}

/* The loss of attention and its gradients by q, k and v. */
static void attend(lab *l, int64_t tokens, int64_t sources, sn_dtype dtype) {
  const int64_t q_dims[] = {2, tokens, 3}, k_dims[] = {2, sources, 3};
  const sn_id x[] = {input(l, type_of_dims(dtype, 3, q_dims)),
                     input(l, type_of_dims(dtype, 3, k_dims)),
                     input(l, type_of_dims(dtype, 3, k_dims))};
  const int64_t last[] = {2};
  sn_id out[4];
  const sn_id s = sn_build_matmul(&l->b, x[0], sn_build_swap_last(&l->b, x[1]));
  const sn_id p = sn_build_along(&l->b, SN_OP_softmax, last, s);
  const sn_id o = sn_build_unary(&l->b, SN_OP_tanh, sn_build_matmul(&l->b, p, x[2]));
  out[0] = sn_build_reduce(&l->b, SN_OP_sum, sn_build_unary(&l->b, SN_OP_square, o), 7);
  assert_int_equal(gradients(l, out[0], x, 3, out + 1), SN_OK);
  OUTPUTS(l, out[0], out[1], out[2], out[3]);
}

/* Softmax whole and expanded; scores kept and made again, which a hostile build does when they are
 * this small. */
static void attention_made_again(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    lab lab_, *l = &lab_;
    void *data[3];
    const sn_dtype dtype = k ? SN_F64 : SN_F32;
    const int64_t tokens = 40, sources = k ? 53 : 29;
    lab_open(l, true);
    attend(l, tokens, sources, dtype);
    for (int i = 0; i < 3; i++) {
      const int64_t n = 6 * (i ? sources : tokens);
      data[i] = malloc((size_t)n * 8);
      case_fill(&rng, SN_OP_sin, i, dtype, CASE_DOMAIN, n, data[i]);
      for (int64_t j = 0; j < n; j++)
        sn_ref_store(dtype, data[i], j, sn_ref_load(dtype, data[i], j) / 20);
    }
    sn_graph expanded = {.arena = &l->arena};
    assert_true(sn_needs_expanding(&l->graph));
    assert_int_equal(sn_expand(&sharing, &l->graph, &expanded), SN_OK);
    assert_int_equal(count_ops(&expanded, SN_OP_softmax), 0);
    expect_same(l, &l->graph, &expanded, data, k ? 1e-9 : 1e-2, "expand");
    const sn_graph *from = run_pass(l, &expanded, SN_PASS_layout);
    from = run_pass(l, from, SN_PASS_simplify);
    expect_same(l, from, run_pass(l, from, SN_PASS_rematerialize), data, 0, "rematerialize");
    for (int i = 0; i < 3; i++) free(data[i]);
    lab_close(l);
  }
}

/* Of 2,048 tokens: the scores for the forward pass, again for the gradient, and twice with rows
 * for columns; nothing is read through a transposed view of them. */
static void columns_become_rows(void **state) {
  (void)state;
  lab lab_, *l = &lab_;
  sn_graph expanded = {.arena = &lab_.arena};
  lab_open(l, true);
  attend(l, 2048, 2048, SN_F32);
  assert_int_equal(sn_expand(&sharing, &l->graph, &expanded), SN_OK);
  const sn_graph *from = run_pass(l, run_pass(l, &expanded, SN_PASS_layout), SN_PASS_simplify);
  const sn_graph *to = run_pass(l, from, SN_PASS_rematerialize);
  assert_int_equal(count_ops(from, SN_OP_matmul), 6);
  assert_int_equal(count_ops(to, SN_OP_matmul), 9);
  assert_int_equal(count_ops(to, SN_OP_barrier), 2); /* of q, do */
  for (sn_id id = 0; id < to->n_nodes; id++) {
    if (to->nodes[id].op != SN_OP_matmul) continue;
    for (int k = 0; k < 2; k++) {
      const sn_id x = sn_graph_inputs(to, id)[k];
      if (sn_type_size(&to->nodes[x].type) < 2048 * 2048) continue;
      assert_int_equal(k, 0);
      assert_int_not_equal(to->nodes[x].op, SN_OP_transpose);
    }
  }
  lab_close(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_rule),          cmocka_unit_test(rules_of_other_rounding),
      cmocka_unit_test(random_graphs),       cmocka_unit_test(never_minus_zero),
      cmocka_unit_test(gradients_shrink),    cmocka_unit_test(attention_made_again),
      cmocka_unit_test(columns_become_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
