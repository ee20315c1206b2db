/* einsum.c - einsum as a graph of other ops: diagonals are strided slices, letters that only one operand
 * has and the output lacks are summed first, then two operands at a time are contracted by one product of
 * matrices:
 *
 *   letters of      both, kept   left   right   both, summed
 *   left operand    batch        rows           inner          (batch, m, k)
 *   right operand   batch               cols    inner          (batch, k, n)
 *
 * Rows and columns of several letters are merged by a reshape, which products read in place.
 * Dimensions of size 1 are dropped at the beginning and put back at the end, so broadcasting needs no
 * special case. */
#include "tensor/einsum_order.h"

#include "tensor/compose.h"

typedef struct factor { /* a tensor whose axes are letters, each once */
  sn_tensor *x;         /* NULL: failed */
  sn_term axes;
} factor;

typedef struct job {
  sn_context *ctx;
  sn_einsum_spec spec;
  sn_dtype dtype, result; /* of all factors; of the tensor that is returned */
  sn_term output;         /* its letters, without those of size 1 */
  sn_letters output_set;
  sn_einsum_step *steps;
  factor *factors; /* the operands, then the results of steps */
  size_t n;
} job;

static void put(factor *f, sn_tensor *x) {
  sn_release(f->x);
  f->x = x;
}

static bool has(sn_letters set, int letter) { return set & sn_letter_bit(letter); }

static sn_letters set_of(const sn_term *term) {
  sn_letters set = 0;
  for (int i = 0; i < term->rank; i++) set |= sn_letter_bit(term->letter[i]);
  return set;
}

/* Appends the letters of `from` that are in set, in that order. */
static void append(sn_term *to, const sn_term *from, sn_letters set) {
  for (int i = 0; i < from->rank; i++)
    if (has(set, from->letter[i])) to->letter[to->rank++] = from->letter[i];
}

static const sn_letters ALL = ~(sn_letters)0;

/* ---- views ----------------------------------------------------------------------------------- */

static void reshape(factor *f, int rank, const int64_t *dims) {
  if (!f->x) return;
  sn_type type = {.dtype = f->x->type.dtype, .rank = rank};
  for (int i = 0; i < rank; i++) type.dims[i] = dims[i];
  put(f, sn_as_reshaped(f->x, &type));
}

/* Reshapes f to the given axes; those that are not in `present` get size 1. */
static void show(const job *j, factor *f, const sn_term *axes, sn_letters present) {
  int64_t dims[SN_MAX_RANK];
  for (int i = 0; i < axes->rank; i++)
    dims[i] = has(present, axes->letter[i]) ? j->spec.size[axes->letter[i]] : 1;
  f->axes = *axes;
  reshape(f, axes->rank, dims);
}

/* Axis i becomes what axis perm[i] was. */
static void permute(factor *f, const int64_t *perm) {
  bool moves = false;
  const sn_term was = f->axes;
  for (int i = 0; i < was.rank; i++) {
    f->axes.letter[i] = was.letter[perm[i]];
    moves = moves || perm[i] != i;
  }
  if (f->x && moves)
    put(f, sn_node_of(f->x->ctx, SN_OP_transpose, &f->x, 1, perm, (size_t)was.rank, &f->x->type));
}

/* Permutes the axes of f into the order of `order`, which contains all of them. */
static void arrange(factor *f, const sn_term *order) {
  int64_t perm[SN_MAX_RANK], at = 0;
  for (int i = 0; i < order->rank; i++)
    for (int k = 0; k < f->axes.rank; k++)
      if (f->axes.letter[k] == order->letter[i]) perm[at++] = k;
  permute(f, perm);
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* Axes i < k have one letter and the size n; they become one axis, the diagonal. They are moved to the
 * front and merged into an axis of size n n, of which every (n + 1)-th element is taken. */
static void take_diagonal(factor *f, int i, int k) {
  int64_t perm[SN_MAX_RANK] = {i, k}, attrs[2 * SN_MAX_RANK] = {0};
  int rank = 2;
  for (int axis = 0; axis < f->axes.rank; axis++)
    if (axis != i && axis != k) perm[rank++] = axis;
  permute(f, perm);
  rank = --f->axes.rank;
  memmove(f->axes.letter, f->axes.letter + 1, (size_t)rank);
  if (!f->x) return;
  sn_type type = f->x->type;
  const int64_t n = type.dims[0];
  type.dims[1] *= n;
  reshape(f, rank, type.dims + 1);
  if (!f->x) return;
  type = f->x->type;
  type.dims[0] = n;
  for (int axis = 0; axis < rank; axis++) attrs[rank + axis] = axis ? 1 : n + 1;
  put(f, sn_node_of(f->x->ctx, SN_OP_slice, &f->x, 1, attrs, 2 * (size_t)rank, &type));
}

static void take_diagonals(factor *f) {
  for (int k = 1; k < f->axes.rank; k++)
    for (int i = 0; i < k; i++)
      if (f->axes.letter[i] == f->axes.letter[k]) {
        take_diagonal(f, i, k);
        k = 0; /* all axes have moved: starts over */
      }
}

static void sum_out(factor *f, sn_letters set) {
  uint32_t axes = 0;
  sn_term left = {0};
  for (int i = 0; i < f->axes.rank; i++) axes |= (uint32_t)has(set, f->axes.letter[i]) << i;
  if (!axes) return;
  put(f, f->x ? sn_reduce(SN_OP_sum, f->x, axes, false) : NULL);
  append(&left, &f->axes, ~set);
  f->axes = left;
}

static factor factor_of(const job *j, sn_tensor *x, size_t k) {
  factor f = {sn_as_dtype(x, j->dtype), j->spec.terms[k]};
  sn_term large = {0};
  if (!f.x) return f;
  for (int i = 0; i < f.axes.rank; i++)
    if (f.x->type.dims[i] != 1) large.letter[large.rank++] = f.axes.letter[i];
  show(j, &f, &large, ALL);
  take_diagonals(&f);
  sum_out(&f, ~j->spec.sets[k]);
  return f;
}

/* ---- two operands ---------------------------------------------------------------------------- */

/* The letters of a set in order: those of the output as they are there, then the others as in a and b. */
static sn_term in_order(const job *j, const factor *a, const factor *b, sn_letters set) {
  sn_term term = {0};
  append(&term, &j->output, set);
  append(&term, &a->axes, set & ~j->output_set);
  append(&term, &b->axes, set & ~j->output_set & ~set_of(&a->axes));
  return term;
}

/* Reshapes f to (batch, rows, cols), or (rows, cols) if batch has no letters. */
static void as_matrices(const job *j, factor *f, const sn_term *batch, const sn_term *rows,
                        const sn_term *cols) {
  const sn_term *terms[] = {batch, rows, cols};
  int64_t dims[] = {1, 1, 1};
  sn_term order = {0};
  for (int t = 0; t < 3; t++) {
    append(&order, terms[t], ALL);
    for (int i = 0; i < terms[t]->rank; i++) dims[t] *= j->spec.size[terms[t]->letter[i]];
  }
  arrange(f, &order);
  reshape(f, batch->rank ? 3 : 2, batch->rank ? dims : dims + 1);
}

/* Gives f all letters of the list as axes; those that it lacks have size 1. */
static void align(const job *j, factor *f, const sn_term *list) {
  const sn_letters own = set_of(&f->axes);
  arrange(f, list);
  show(j, f, list, own);
}

static void multiply_matrices(const job *j, factor *a, factor *b, sn_letters keep, factor *y) {
  const sn_letters left = set_of(&a->axes), right = set_of(&b->axes);
  sn_term batch = in_order(j, a, b, left & right & keep), rows = in_order(j, a, b, left & ~right),
          cols = in_order(j, a, b, right & ~left), inner = in_order(j, a, b, left & right & ~keep);
  as_matrices(j, a, &batch, &rows, &inner);
  as_matrices(j, b, &batch, &inner, &cols);
  if (a->x && b->x)
    y->x = sn_node_of(j->ctx, SN_OP_matmul, (sn_tensor *[]){a->x, b->x}, 2, NULL, 0, NULL);
  append(&batch, &rows, ALL);
  append(&batch, &cols, ALL);
  show(j, y, &batch, ALL);
}

/* Multiplies elementwise, then sums: for factors of which no element is used twice. */
static void multiply_elements(const job *j, factor *a, factor *b, sn_letters keep, factor *y) {
  const sn_letters summed = set_of(&a->axes) & ~keep;
  y->axes = in_order(j, a, b, keep);
  append(&y->axes, &a->axes, summed);
  align(j, a, &y->axes);
  align(j, b, &y->axes);
  if (a->x && b->x) y->x = sn_elementwise(SN_OP_mul, (sn_tensor *[]){a->x, b->x}, 2);
  sum_out(y, summed);
}

/* y = the contraction of a and b, which are released. */
static void multiply(const job *j, factor *a, factor *b, sn_letters keep, factor *y) {
  const sn_letters left = set_of(&a->axes), right = set_of(&b->axes);
  const sn_term *output = &j->output;
  if (a->x && b->x) {
    if (!(left & right & ~keep) || left == right)
      multiply_elements(j, a, b, keep, y);
    else if (output->rank && has(left & ~right, output->letter[output->rank - 1]))
      multiply_matrices(j, b, a, keep, y); /* the output's last letter becomes a column, the innermost axis */
    else
      multiply_matrices(j, a, b, keep, y);
  }
  put(a, NULL);
  put(b, NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Keeps of each operand's letters those that the output or another operand has; the others are summed at once. */
static void find_needed(job *j) {
  sn_letters once = 0, twice = 0;
  for (size_t k = 0; k < j->n; k++) {
    twice |= once & j->spec.sets[k];
    once |= j->spec.sets[k];
  }
  append(&j->output, &j->spec.output, once);
  j->output_set = set_of(&j->output);
  for (size_t k = 0; k < j->n; k++) j->spec.sets[k] &= twice | j->output_set;
}

/* Checks the size of every step's result before any is built. */
static sn_status check_sizes(const job *j) {
  for (size_t k = 0; k + 1 < j->n; k++) {
    sn_type type = {.dtype = j->dtype};
    for (sn_letters left = j->steps[k].keep; left; left &= left - 1)
      type.dims[type.rank++] = j->spec.size[__builtin_ctzll(left)];
    SN_TRY(sn_type_check(&j->ctx->env, &type, "einsum"));
  }
  return SN_OK;
}

static sn_status prepare(job *j, sn_arena *arena, const char *text, sn_tensor *const *operands) {
  SN_TRY(sn_common_dtype(operands, j->n, "einsum", &j->dtype));
  j->dtype = j->result = sn_product_dtype(j->dtype);
  j->dtype = sn_dtype_wide(j->dtype);
  SN_TRY(sn_einsum_parse(arena, text, operands, j->n, &j->spec));
  find_needed(j);
  SN_TRY(sn_arena_alloc(arena, j->n, sizeof *j->steps, (void **)&j->steps));
  SN_TRY(sn_arena_alloc(arena, 2 * j->n, sizeof *j->factors, (void **)&j->factors));
  SN_TRY(sn_einsum_order(arena, j->spec.sets, j->n, j->output_set, j->spec.size, j->steps));
  return check_sizes(j);
}

static sn_tensor *build(job *j, sn_tensor *const *operands) {
  for (size_t k = 0; k < j->n; k++) j->factors[k] = factor_of(j, operands[k], k);
  factor *y = j->factors + j->n - 1;
  for (size_t k = 0; k + 1 < j->n; k++) {
    const sn_einsum_step *s = &j->steps[k];
    multiply(j, &j->factors[s->left], &j->factors[s->right], s->keep, ++y);
  }
  if (y->x) arrange(y, &j->output);
  show(j, y, &j->spec.output, ALL);
  return y->x;
}

sn_tensor *sn_einsum(const char *spec, sn_tensor *const *operands, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!operands[k]) return NULL;
  if (!n) return NULL;
  job j = {.ctx = operands[0]->ctx, .n = n};
  sn_arena arena;
  sn_arena_init(&arena, &j.ctx->env);
  const sn_status status = prepare(&j, &arena, spec, operands);
  sn_tensor *y = status ? sn_refuse(j.ctx, status) : build(&j, operands);
  sn_arena_free(&arena);
  return sn_hand_out(sn_recast(y, j.result));
}
