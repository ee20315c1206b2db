/* recipes.c - a recipe is a list of steps, each with a seed of its own. A step names its operands
 * by the steps that made them, and takes the next earlier one in place of a step that is dropped.
 * So a recipe stays valid when steps are dropped, and a failing one shrinks by dropping what it
 * does not need. Sums and products take integers between -4 and 4 and are exact, so their order does
 * not matter. */
#include "recipes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/conv_shape.h"

typedef struct kitchen {
  twins w;
  case_random r; /* of the present step */
  int64_t most_elements;
  size_t step;
  bool powers;             /* a step has made a power */
  twin made[RECIPE_STEPS]; /* by each step before this one; t is NULL where it made nothing */
} kitchen;

/* ---- steps ----------------------------------------------------------------------------------- */

static const sn_type *type_of(const kitchen *k, twin x) { return twin_type(&k->w, x); }

static void add(kitchen *k, twin x) { k->made[k->step] = x; }

static bool is_empty(const kitchen *k) {
  for (size_t i = 0; i < k->step; i++)
    if (k->made[i].t) return false;
  return true;
}

/* Any value, the later ones more often. */
static twin pick(kitchen *k) {
  const int64_t n = (int64_t)k->step, last = case_one_in(&k->r, 2) && n > 4 ? 4 : n;
  size_t i = (size_t)(n - 1 - case_below(&k->r, last));
  while (!k->made[i].t) i = i ? i - 1 : k->step - 1;
  return k->made[i];
}

static twin as(kitchen *k, twin x, sn_dtype dtype) {
  return type_of(k, x)->dtype == dtype ? x : twin_astype(&k->w, x, dtype);
}

static sn_dtype any_dtype(kitchen *k) {
  static const sn_dtype often[] = {SN_F32, SN_F32,  SN_F32, SN_F32, SN_F32,  SN_F32,
                                   SN_F64, SN_F64,  SN_I32, SN_I32, SN_BOOL, SN_BOOL,
                                   SN_F16, SN_BF16, SN_I8,  SN_U8};
  return often[case_below(&k->r, sizeof often / sizeof *often)];
}

static sn_dtype small_dtype(kitchen *k) {
  return (sn_dtype)(SN_F16 + case_below(&k->r, SN_DTYPES - SN_F16));
}

/* In a dtype that is computed with: the reference has no others for most ops. */
static twin widened(kitchen *k, twin x) { return as(k, x, sn_dtype_wide(type_of(k, x)->dtype)); }

static twin apply1(kitchen *k, sn_op op, twin x) { return twin_apply(&k->w, op, &x, 1); }
static twin apply2(kitchen *k, sn_op op, twin x, twin y) {
  return twin_apply(&k->w, op, (twin[]){x, y}, 2);
}

static void step_input(kitchen *k) {
  if (k->w.n_inputs == TWIN_MAX_INPUTS) return;
  const sn_type type =
      case_shape(&k->r, any_dtype(k), case_one_in(&k->r, 8) ? 8 : 3, k->most_elements);
  const bool donate = case_one_in(&k->r, 3);
  add(k, twin_viewed_input(&k->w, &k->r, TWIN_PLAIN, SN_OP_add, 0, CASE_MIXED, &type));
  k->w.donate[k->w.n_inputs - 1] = donate;
  k->w.hold[k->w.n_inputs - 1] = case_one_in(&k->r, 3);
}

static void step_leaf(kitchen *k) {
  static const double numbers[] = {0, 1, -1, -0.0, 0.1, 3, 7.5, -1e9};
  const sn_type type = case_shape(&k->r, any_dtype(k), 3, 100);
  if (type.rank && type.dtype < SN_BOOL && case_one_in(&k->r, 2))
    add(k, twin_iota(&k->w, &type, (int)case_below(&k->r, type.rank)));
  else
    add(k, twin_full(&k->w, &type, numbers[case_below(&k->r, 8)]));
}

static bool broadcasts(const kitchen *k, const sn_type *a, const sn_type *b, sn_type *out) {
  const int rank = a->rank > b->rank ? a->rank : b->rank;
  *out = (sn_type){.dtype = a->dtype, .rank = rank};
  for (int i = 1; i <= rank; i++) {
    const int64_t da = i > a->rank ? 1 : a->dims[a->rank - i];
    const int64_t db = i > b->rank ? 1 : b->dims[b->rank - i];
    if (da != db && da != 1 && db != 1) return false;
    out->dims[rank - i] = da == 1 ? db : da;
  }
  return sn_type_size(out) <= k->most_elements;
}

/* A value that can stand beside one of type `dims`; dims grows to what both broadcast to. */
static twin beside(kitchen *k, sn_type *dims, sn_dtype dtype) {
  for (int tries = 0; tries < 6; tries++) {
    const twin y = pick(k);
    sn_type both;
    if (!broadcasts(k, dims, type_of(k, y), &both)) continue;
    *dims = both;
    return as(k, y, dtype);
  }
  const sn_type scalar = sn_type_scalar(dtype);
  return twin_full(&k->w, &scalar, case_between(&k->r, -3, 3));
}

static sn_op any_elementwise(kitchen *k) {
  for (;;) {
    const sn_op op = (sn_op)case_below(&k->r, SN_OP_COUNT);
    if (sn_op_is_elementwise(op) && sn_op_describe(op)->kind != SN_CLASS_CAST) return op;
  }
}

static void step_elementwise(kitchen *k) {
  const sn_op op = any_elementwise(k);
  const sn_op_info *row = sn_op_describe(op);
  twin x[SN_MAX_ARITY];
  x[0] = pick(k);
  sn_type dims = *type_of(k, x[0]);
  sn_dtype dtype = dims.dtype;
  while (!case_takes(op, dtype)) dtype = (sn_dtype)case_below(&k->r, 4);
  const bool select = row->kind == SN_CLASS_SELECT;
  k->powers = k->powers || op == SN_OP_pow;
  x[0] = as(k, x[0], select ? SN_BOOL : dtype);
  for (size_t i = 1; i < row->arity; i++) x[i] = beside(k, &dims, dtype);
  if (row->arity == 2 && case_one_in(&k->r, 2)) {
    const twin t = x[0];
    x[0] = x[1];
    x[1] = t;
  }
  add(k, twin_apply(&k->w, op, x, row->arity));
}

static void step_cast(kitchen *k) {
  const twin x = pick(k);
  const sn_dtype from = type_of(k, x)->dtype;
  if (from == SN_I32 && case_one_in(&k->r, 3)) {
    add(k, twin_bitcast(&k->w, x, SN_F32));
  } else if (from == SN_F32 && case_one_in(&k->r, 3)) { /* the bits of a NaN are not promised */
    const sn_type scalar = sn_type_scalar(SN_F32);
    const twin choice[] = {apply1(k, SN_OP_isnan, x), twin_full(&k->w, &scalar, 1), x};
    add(k, twin_bitcast(&k->w, twin_apply(&k->w, SN_OP_where, choice, 3), SN_I32));
  } else {
    add(k, twin_astype(&k->w, x, any_dtype(k)));
  }
}

/* ---- views ----------------------------------------------------------------------------------- */

static twin shuffled(kitchen *k, twin x) {
  const int rank = type_of(k, x)->rank;
  int perm[SN_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    const int j = (int)case_below(&k->r, i + 1), t = perm[i];
    perm[i] = perm[j];
    perm[j] = t;
  }
  return twin_transpose(&k->w, x, perm);
}

static void step_transpose(kitchen *k) { add(k, shuffled(k, pick(k))); }

static void step_slice(kitchen *k) {
  const twin x = pick(k);
  const sn_type type = *type_of(k, x);
  int64_t begin[SN_MAX_RANK], size[SN_MAX_RANK], stride[SN_MAX_RANK];
  for (int i = 0; i < type.rank; i++) {
    const int64_t n = type.dims[i];
    stride[i] = case_one_in(&k->r, 3) ? -(1 + case_below(&k->r, 3)) : 1 + case_below(&k->r, 2);
    begin[i] = n ? case_below(&k->r, n) : 0;
    if (case_one_in(&k->r, 2)) begin[i] = n && stride[i] < 0 ? n - 1 : 0;
    const int64_t room =
        stride[i] > 0 ? (n - begin[i] + stride[i] - 1) / stride[i] : begin[i] / -stride[i] + 1;
    size[i] = n == 0 ? 0 : case_one_in(&k->r, 2) ? room : case_below(&k->r, room + 1);
  }
  add(k, twin_slice(&k->w, x, begin, size, stride));
}

/* Cuts the flat size into random factors, with ones between them. */
static void step_reshape(kitchen *k) {
  const twin x = pick(k);
  sn_type type = {.dtype = type_of(k, x)->dtype};
  int64_t left = sn_type_size(type_of(k, x));
  while (type.rank < 5 && (left != 1 || case_one_in(&k->r, 4))) {
    int64_t factor = left;
    if (left > 1 && type.rank < 4) {
      factor = 1 + case_below(&k->r, left < 20 ? left : 20);
      while (left % factor) factor--;
    }
    type.dims[type.rank++] = factor;
    if (left == 0) break;
    left /= factor;
  }
  if (left > 1) return;
  add(k, twin_reshape(&k->w, x, &type));
}

static void step_broadcast(kitchen *k) {
  const twin x = pick(k);
  sn_type type = *type_of(k, x);
  for (int i = 0; i < type.rank; i++)
    if (type.dims[i] == 1) type.dims[i] = 1 + case_below(&k->r, 5);
  if (type.rank < SN_MAX_RANK && case_one_in(&k->r, 2)) {
    memmove(type.dims + 1, type.dims, (size_t)type.rank * sizeof *type.dims);
    type.dims[0] = case_below(&k->r, 5);
    type.rank++;
  }
  if (sn_type_size(&type) <= k->most_elements) add(k, twin_broadcast(&k->w, x, &type));
}

/* ---- structure ------------------------------------------------------------------------------- */

static void step_pad(kitchen *k) {
  const twin x = pick(k);
  const sn_type type = *type_of(k, x);
  int64_t before[SN_MAX_RANK], after[SN_MAX_RANK], step[SN_MAX_RANK], size = 1;
  for (int i = 0; i < type.rank; i++) {
    before[i] = case_below(&k->r, 3);
    after[i] = case_below(&k->r, 3);
    step[i] = case_one_in(&k->r, 4) ? 2 : 1;
    size *= before[i] + type.dims[i] * step[i] + after[i];
  }
  if (size <= k->most_elements)
    add(k, twin_pad(&k->w, x, before, after, step, (double)case_below(&k->r, 3)));
}

static void step_concat(kitchen *k) {
  const twin x = pick(k);
  const sn_type type = *type_of(k, x);
  if (!type.rank) return;
  const int axis = (int)case_below(&k->r, type.rank);
  twin parts[4] = {x};
  size_t n = 1;
  int64_t size = sn_type_size(&type);
  for (int tries = 0; tries < 8 && n < 4; tries++) {
    const twin y = pick(k);
    const sn_type *other = type_of(k, y);
    sn_type dims = *other;
    if (dims.rank == type.rank) dims.dims[axis] = type.dims[axis];
    if (!sn_same_dims(&dims, &type) || size + sn_type_size(other) > k->most_elements) continue;
    size += sn_type_size(other);
    parts[n++] = as(k, y, type.dtype);
  }
  add(k, twin_concat(&k->w, parts, n, axis));
}

/* Whole numbers between -4 and 4; NaN stays. */
static twin whole(kitchen *k, twin x) {
  const sn_dtype dtype = type_of(k, x)->dtype;
  if (!sn_dtype_is_float(dtype) || sn_dtype_is_small(dtype)) return x;
  const twin low = twin_scalar(&k->w, dtype, -4), high = twin_scalar(&k->w, dtype, 4);
  return apply2(k, SN_OP_minimum, apply2(k, SN_OP_maximum, apply1(k, SN_OP_round, x), low), high);
}

static void step_reduce(kitchen *k) {
  twin x = pick(k);
  const sn_type type = *type_of(k, x);
  if (!type.rank) return;
  const uint32_t axes = 1 + (uint32_t)case_below(&k->r, (1 << type.rank) - 1);
  x = type.dtype == SN_BOOL ? as(k, x, SN_I32) : widened(k, x);
  bool empty = false;
  for (int i = 0; i < type.rank; i++) empty = empty || ((axes >> i & 1) && type.dims[i] == 0);
  static const sn_op ops[] = {SN_OP_sum, SN_OP_sum, SN_OP_max, SN_OP_min};
  const sn_op op = empty ? SN_OP_sum : ops[case_below(&k->r, 4)];
  add(k, twin_reduce(&k->w, op, op == SN_OP_sum ? whole(k, x) : x, axes));
}

/* The axes in another order, neighbours merged into a batch, rows and columns; sometimes turned. */
static twin merged(kitchen *k, twin x) {
  const twin t = shuffled(k, x);
  const sn_type from = *type_of(k, t);
  sn_type to = {.dtype = from.dtype, .rank = 2 + (int)case_below(&k->r, from.rank - 2)};
  int at = 0;
  for (int i = 0; i < to.rank; i++) { /* leaves an axis for each dim to come */
    const int left = from.rank - at - (to.rank - 1 - i);
    const int n = i == to.rank - 1 ? left : 1 + (int)case_below(&k->r, left);
    to.dims[i] = 1;
    for (int d = 0; d < n; d++) to.dims[i] *= from.dims[at++];
  }
  const twin y = twin_reshape(&k->w, t, &to);
  return case_one_in(&k->r, 3) ? shuffled(k, y) : y;
}

/* Of a matrix product that has `cols` columns; x may be empty and its product not. */
static bool product_fits(const kitchen *k, const sn_type *x, int64_t cols) {
  sn_type out = *x;
  out.dims[x->rank - 1] = cols;
  return sn_type_size(&out) <= k->most_elements;
}

/* x as numbers whose products are exact: int32 wraps. */
static twin factor(kitchen *k, twin x) {
  const sn_dtype dtype = type_of(k, x)->dtype;
  return dtype == SN_I32 ? x : whole(k, as(k, x, dtype == SN_F64 ? SN_F64 : SN_F32));
}

/* x times another matrix, a new one, or its own transpose. */
static void step_matmul(kitchen *k) {
  twin a = pick(k);
  if (type_of(k, a)->rank < 2 || k->w.n_inputs == TWIN_MAX_INPUTS) return;
  a = factor(k, a);
  if (type_of(k, a)->rank > 2 && case_one_in(&k->r, 2)) a = merged(k, a);
  const sn_type type = *type_of(k, a);
  const int r = type.rank;
  const int64_t rows = type.dims[r - 2], cols = type.dims[r - 1];
  twin b = a;
  if (case_one_in(&k->r, 2) && product_fits(k, &type, rows)) {
    int perm[SN_MAX_RANK];
    for (int i = 0; i < r; i++) perm[i] = i < r - 2 ? i : 2 * r - 3 - i;
    b = twin_transpose(&k->w, a, perm);
  } else {
    sn_type other = *type_of(k, a);
    for (int i = 0; i < r - 2; i++)
      if (case_one_in(&k->r, 2)) other.dims[i] = 1;
    other.dims[r - 2] = cols;
    other.dims[r - 1] = 1 + case_below(&k->r, 20);
    if (sn_type_size(&other) > k->most_elements) return;
    if (!product_fits(k, &type, other.dims[r - 1])) return;
    if (other.dtype == SN_F32 && case_one_in(&k->r, 2)) other.dtype = small_dtype(k);
    b = twin_viewed_input(&k->w, &k->r, (twin_view)case_below(&k->r, TWIN_VIEWS), SN_OP_matmul, 1,
                          CASE_WHOLE, &other);
    b = as(k, b, type.dtype);
  }
  add(k, twin_matmul(&k->w, a, b));
}

/* Sizes of 0 count as 1: a sum over them would leave the others. */
static bool is_small(const kitchen *k, const sn_type *type) {
  int64_t size = 1;
  for (int i = 0; i < type->rank; i++) size *= type->dims[i] ? type->dims[i] : 1;
  return size <= k->most_elements;
}

static void step_windows(kitchen *k) {
  const twin x = pick(k);
  const sn_type from = *type_of(k, x);
  if (!from.rank || from.rank == SN_MAX_RANK) return;
  const int axis = (int)case_below(&k->r, from.rank);
  const int64_t attrs[] = {axis, 1 + case_below(&k->r, 3), 1 + case_below(&k->r, 2)};
  const int64_t n = from.dims[axis], size = 1 + case_below(&k->r, 4);
  const int64_t room = n - (size - 1) * attrs[2];
  sn_type type;
  sn_windows_type(&from, axis, room > 0 ? (room - 1) / attrs[1] + 1 : 0, size, &type);
  if (is_small(k, &type)) add(k, twin_proposed(&k->w, SN_OP_windows, &x, attrs, 3, &type));
}

/* x, its last axis as channels, with a filter of whole numbers. */
static void step_conv(kitchen *k) {
  twin x[2] = {pick(k)};
  const int axes = type_of(k, x[0])->rank - 2;
  if (axes < 1 || axes > SN_CONV_AXES || k->w.n_inputs == TWIN_MAX_INPUTS) return;
  x[0] = factor(k, x[0]);
  sn_type y = *type_of(k, x[0]), w = y;
  const int64_t channels = y.dims[axes + 1], filters = 1 + case_below(&k->r, 3);
  const int64_t groups = channels % 2 == 0 && case_one_in(&k->r, 3) ? 2
                         : channels && case_one_in(&k->r, 3)        ? channels
                                                                    : 1;
  const bool transposes = case_one_in(&k->r, 3);
  int64_t attrs[SN_CONV_ATTRS(SN_CONV_AXES)];
  for (int i = 0; i < axes; i++) {
    w.dims[i] = 1 + case_below(&k->r, 3);
    y.dims[i + 1] = case_below(&k->r, 7);
    attrs[axes + i] = 1 + case_below(&k->r, 2);
    attrs[2 * axes + i] = 1 + case_below(&k->r, 2);
    attrs[3 * axes + i] = 1 + case_below(&k->r, 2);
    attrs[i] = case_below(&k->r, (w.dims[i] - 1) * attrs[2 * axes + i] + 1);
  }
  attrs[4 * axes] = groups;
  attrs[4 * axes + 1] = transposes;
  y.dims[axes + 1] = groups * filters;
  w.dims[axes] = transposes ? filters : channels / groups;
  w.dims[axes + 1] = transposes ? channels : groups * filters;
  if (!is_small(k, &y) || !is_small(k, &w)) return;
  if (w.dtype == SN_F32 && case_one_in(&k->r, 3)) w.dtype = small_dtype(k);
  x[1] = twin_viewed_input(&k->w, &k->r, (twin_view)case_below(&k->r, TWIN_VIEWS), SN_OP_matmul, 1,
                           CASE_WHOLE, &w);
  x[1] = as(k, x[1], y.dtype);
  add(k, twin_proposed(&k->w, SN_OP_conv, x, attrs, SN_CONV_ATTRS((size_t)axes), &y));
}

/* int32 in the shape of like: numbers that other steps have made, or counts. */
static twin any_indices(kitchen *k, const sn_type *like, int axis) {
  const twin y = pick(k);
  if (sn_same_dims(type_of(k, y), like)) return as(k, y, SN_I32);
  sn_type type = *like;
  type.dtype = SN_I32;
  return apply1(k, SN_OP_neg, twin_iota(&k->w, &type, axis));
}

static void step_along(kitchen *k) {
  static const sn_op ops[] = {SN_OP_gather,      SN_OP_scatter_add, SN_OP_scatter_set,
                              SN_OP_scatter_mul, SN_OP_scatter_max, SN_OP_scatter_min,
                              SN_OP_scatter_or,  SN_OP_sort,        SN_OP_argsort,
                              SN_OP_cumsum,      SN_OP_cumprod,     SN_OP_recurrence};
  const sn_op op = ops[case_below(&k->r, sizeof ops / sizeof *ops)];
  const sn_op_class kind = sn_op_describe(op)->kind;
  twin x[SN_MAX_ARITY] = {pick(k)};
  if (!type_of(k, x[0])->rank) return;
  if (type_of(k, x[0])->dtype == SN_BOOL && kind != SN_CLASS_SORT) x[0] = as(k, x[0], SN_I32);
  if (kind == SN_CLASS_SCAN || (kind == SN_CLASS_SCATTER && op != SN_OP_scatter_set))
    x[0] = widened(k, x[0]);
  if (op == SN_OP_scatter_or) x[0] = as(k, x[0], SN_I32);
  const sn_type type = *type_of(k, x[0]);
  const int64_t attrs[3] = {case_below(&k->r, type.rank), case_below(&k->r, 2),
                            op == SN_OP_recurrence ? 0 : case_below(&k->r, 2)};
  const int axis = (int)attrs[0];
  if (kind == SN_CLASS_SORT && type.dims[axis] > 300) return; /* the reference is quadratic */
  x[1] = kind == SN_CLASS_SCAN ? apply1(k, SN_OP_neg, x[0]) : any_indices(k, &type, axis);
  x[2] = case_one_in(&k->r, 2) ? x[0] : twin_full(&k->w, &type, 2);
  add(k, twin_along(&k->w, op, x, attrs));
}

static void take_step(kitchen *k) {
  static const struct {
    void (*fn)(kitchen *);
    int weight;
  } steps[] = {{step_elementwise, 50}, {step_input, 14},  {step_leaf, 4},    {step_cast, 5},
               {step_transpose, 6},    {step_slice, 8},   {step_reshape, 8}, {step_broadcast, 4},
               {step_pad, 3},          {step_concat, 4},  {step_reduce, 9},  {step_matmul, 6},
               {step_along, 6},        {step_windows, 4}, {step_conv, 4}};
  int total = 0;
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) total += steps[i].weight;
  int64_t at = case_below(&k->r, total);
  size_t i = 0;
  while (at >= steps[i].weight) at -= steps[i++].weight;
  if (is_empty(k))
    step_input(k);
  else
    steps[i].fn(k);
}

/* ---- one recipe ------------------------------------------------------------------------------ */

/* Off, the program is written down by the recipe's choices; the graph as text, for a failing
 * one. */
static void describe(const kitchen *k, bool compiled, uint32_t off, char *out, size_t bytes) {
  const char *graph;
  if (sn_graph_text(&k->w.graph, &((kitchen *)(uintptr_t)k)->w.arena, &graph)) graph = "?";
  snprintf(out, bytes, "%s, passes off %x, isa %s, %d threads\n%s", compiled ? "compiled" : "eager",
           off & ((1u << sn_pass_count()) - 1), sn_isa(k->w.ctx), sn_threads(k->w.ctx), graph);
}

size_t recipe_budgets_met;

bool recipe_cook(const recipe *given, sn_context *ctx, char text[TWIN_TEXT], char *shown,
                 size_t shown_bytes) {
  kitchen *k = calloc(1, sizeof *k);
  case_random choices = {given->seed};
  const bool compiled = case_below(&choices, 4) != 0;
  const uint32_t off = case_one_in(&choices, 2) ? 0 : (uint32_t)case_bits(&choices);
  k->most_elements = case_one_in(&choices, 16) ? 5000 : 600;
  twins_begin(&k->w, ctx, compiled);
  k->w.planted = given->planted;
  k->w.planted_as = given->planted_as;
  case_passes_off(ctx, off);
  for (size_t i = 0; i < given->n_steps; i++) {
    k->step = i;
    k->r.state = given->seed * 64 + i; /* splitmix64 mixes its counter: neighbours are unrelated */
    if (!given->dropped[i]) take_step(k);
  }
  k->step = given->n_steps;
  k->r = choices;
  const size_t n_outputs = is_empty(k) ? 0 : 1 + (size_t)case_below(&k->r, 4);
  for (size_t i = 0; i < n_outputs; i++) twins_output(&k->w, pick(k));
  /* x^2 as x * x, and its like, rounds otherwise than pow; sums of whole numbers do not. */
  if (k->powers) sn_pass_enable(ctx, "strength", false);
  bool agree = twins_agree(&k->w, text);
  k->w.budget_percent = 20 + given->seed % 75;
  agree = agree && (!compiled || twins_agree(&k->w, text));
  recipe_budgets_met += k->w.budgets_met;
  if (shown) describe(k, compiled, off, shown, shown_bytes);
  case_passes_off(ctx, 0);
  twins_end(&k->w);
  free(k);
  return agree;
}

size_t recipe_shrink(recipe *given, sn_context *ctx) {
  char text[TWIN_TEXT];
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (size_t i = given->n_steps; i-- > 0;) {
      if (given->dropped[i]) continue;
      given->dropped[i] = true;
      if (recipe_cook(given, ctx, text, NULL, 0))
        given->dropped[i] = false;
      else
        smaller = true;
    }
  }
  size_t left = 0;
  for (size_t i = 0; i < given->n_steps; i++) left += !given->dropped[i];
  return left;
}

recipe recipe_of(uint64_t seed) {
  case_random r = {~seed};
  return (recipe){.seed = seed, .n_steps = 1 + (size_t)case_below(&r, RECIPE_STEPS)};
}
