/* einsum.c - sums of products by a spec, as a graph of the table's ops: diagonals are strided
 * slices, letters of one operand alone are summed first, then two operands at a time become one
 * product of matrices:
 *
 *   letters of      both, kept   left   right   both, summed
 *   left operand    batch...     rows           cols           (batch..., m, k)
 *   right operand   batch...            cols    rows           (batch..., k, n)
 *
 * Rows and columns that are several letters are merged by a reshape, which is free where they lie
 * next to each other in memory in that order. Dimensions of size 1 are left out from the beginning
 * and put back at the end, so that broadcasting is no case of its own. */
#include "tensor/einsum.h"

#include "tensor/compose.h"

typedef struct factor { /* a tensor whose axes are letters, each once */
  sn_tensor *x;         /* NULL: failed */
  int rank;
  uint8_t letter[SN_MAX_RANK]; /* of each axis */
  uint8_t memory[SN_MAX_RANK]; /* the same ones, outermost in memory first */
} factor;

typedef struct letter_list {
  int n;
  uint8_t letter[SN_MAX_RANK];
} letter_list;

static void put(factor *f, sn_tensor *x) {
  sn_release(f->x);
  f->x = x;
}

static bool has(sn_letters set, int letter) { return set & sn_letter_bit(letter); }

static int axis_of(const factor *f, int letter) {
  for (int i = 0; i < f->rank; i++)
    if (f->letter[i] == letter) return i;
  return -1;
}

static sn_letters set_of(const factor *f) {
  sn_letters set = 0;
  for (int i = 0; i < f->rank; i++) set |= sn_letter_bit(f->letter[i]);
  return set;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void reshape(factor *f, int rank, const int64_t *dims) {
  if (!f->x) return;
  sn_type type = {.dtype = f->x->type.dtype, .rank = rank};
  if (rank) memcpy(type.dims, dims, (size_t)rank * sizeof *dims);
  put(f, sn_as_reshaped(f->x, &type));
}

/* Axis i becomes what axis perm[i] was. */
static void permute(factor *f, const int64_t *perm) {
  bool moves = false;
  const factor was = *f;
  for (int i = 0; i < f->rank; i++) {
    f->letter[i] = was.letter[perm[i]];
    moves = moves || perm[i] != i;
  }
  if (f->x && moves)
    put(f, sn_node_of(f->x->ctx, SN_OP_transpose, &f->x, 1, perm, (size_t)f->rank, &f->x->type));
}

/* Axes in the order of the list, which has all of them. */
static void arrange(factor *f, const letter_list *order) {
  int64_t perm[SN_MAX_RANK];
  for (int i = 0; i < order->n; i++) perm[i] = axis_of(f, order->letter[i]);
  permute(f, perm);
}

/* The letters of `from` that are in set, in that order, behind those in the list. */
static void append(letter_list *list, const uint8_t *from, int n, sn_letters set) {
  for (int i = 0; i < n; i++)
    if (has(set, from[i])) list->letter[list->n++] = from[i];
}

/* Only those of set stay, each once. */
static void keep_letters(uint8_t *letters, int n, sn_letters set) {
  int at = 0;
  for (int i = 0; i < n; i++) {
    if (!has(set, letters[i])) continue;
    set &= ~sn_letter_bit(letters[i]);
    letters[at++] = letters[i];
  }
}

/* A letter on count axes, the first of which is `first`: they are brought together, become one, and
 * every (1 + n + n^2 + ...)-th element of that is taken. */
static void take_diagonal(factor *f, int first, int count) {
  const int letter = f->letter[first], rank = f->rank - count + 1;
  int64_t perm[SN_MAX_RANK], dims[SN_MAX_RANK], attrs[2 * SN_MAX_RANK], step = 0, power = 1;
  int at = 0;
  for (int i = 0; i < first; i++) perm[at++] = i;
  for (int i = first; i < f->rank; i++)
    if (f->letter[i] == letter) perm[at++] = i;
  for (int i = first + 1; i < f->rank; i++)
    if (f->letter[i] != letter) perm[at++] = i;
  permute(f, perm);
  if (!f->x) return;
  const int64_t n = f->x->type.dims[first];
  for (int i = 0; i < count; i++) {
    step += power;
    power *= n;
  }
  for (int i = 0; i < rank; i++) {
    const int from = i <= first ? i : i + count - 1;
    dims[i] = i == first ? power : f->x->type.dims[from];
    f->letter[i] = f->letter[from];
    attrs[i] = 0;
    attrs[rank + i] = i == first && n ? step : 1;
  }
  f->rank = rank;
  reshape(f, rank, dims);
  if (!f->x) return;
  sn_type type = f->x->type;
  type.dims[first] = n;
  put(f, sn_node_of(f->x->ctx, SN_OP_slice, &f->x, 1, attrs, 2 * (size_t)rank, &type));
}

/* ---- one operand ----------------------------------------------------------------------------- */

/* The order in memory of the axes of a tensor that is, as far as one sees, another one transposed.
 */
static void find_memory_order(factor *f) {
  int64_t place[SN_MAX_RANK];
  for (int i = 0; i < f->rank; i++) place[i] = i;
  for (const sn_tensor *x = f->x; x->state == SN_TENSOR_LAZY && x->op == SN_OP_transpose;
       x = x->inputs[0])
    for (int i = 0; i < f->rank; i++) place[i] = x->attrs[place[i]];
  for (int i = 0; i < f->rank; i++) f->memory[place[i]] = f->letter[i];
}

static void drop_size_one(factor *f) {
  int64_t dims[SN_MAX_RANK];
  int rank = 0;
  uint8_t from[SN_MAX_RANK];
  sn_letters used = 0;
  for (int i = 0; i < f->rank; i++) {
    if (f->x->type.dims[i] == 1) continue;
    used |= sn_letter_bit(f->letter[i]);
    dims[rank] = f->x->type.dims[i];
    from[rank++] = f->letter[i];
  }
  keep_letters(f->memory, f->rank, used);
  memcpy(f->letter, from, (size_t)rank);
  f->rank = rank;
  reshape(f, rank, dims);
}

static void take_diagonals(factor *f) {
  for (int i = 0; i < f->rank; i++) {
    int count = 0;
    for (int j = i; j < f->rank; j++) count += f->letter[j] == f->letter[i];
    if (count > 1) take_diagonal(f, i, count);
  }
}

static void sum_out(factor *f, sn_letters set) {
  uint32_t axes = 0;
  for (int i = 0; i < f->rank; i++) axes |= (uint32_t)has(set, f->letter[i]) << i;
  if (!axes) return;
  put(f, f->x ? sn_reduce(SN_OP_sum, f->x, axes, false) : NULL);
  keep_letters(f->letter, f->rank, ~set);
  f->rank -= __builtin_popcount(axes);
  memcpy(f->memory, f->letter, (size_t)f->rank);
}

static factor operand_as_factor(sn_tensor *x, sn_dtype dtype, const sn_term *term,
                                sn_letters needed) {
  factor f = {.x = sn_retain(x), .rank = term->rank};
  memcpy(f.letter, term->letter, sizeof f.letter);
  put(&f, sn_as_dtype(x, dtype));
  if (!f.x) return f;
  find_memory_order(&f);
  drop_size_one(&f);
  take_diagonals(&f);
  sum_out(&f, ~needed);
  return f;
}

/* ---- two operands ---------------------------------------------------------------------------- */

typedef struct split { /* letters of a pair by what becomes of them */
  sn_letters batch, left, right, summed;
} split;

static split split_letters(const factor *a, const factor *b, sn_letters keep) {
  const sn_letters x = set_of(a), y = set_of(b);
  return (split){x & y & keep, x & ~y, y & ~x, x & y & ~keep};
}

/* Whether merging these letters of f, in this order, moves nothing. */
static bool is_adjacent(const factor *f, const letter_list *list) {
  int at = 0;
  while (list->n && f->memory[at] != list->letter[0]) at++;
  return at + list->n <= f->rank && memcmp(f->memory + at, list->letter, (size_t)list->n) == 0;
}

/* Elements that are copied when the summed letters are merged in this order. */
static int64_t copied(const factor *f, const letter_list *own, const letter_list *summed) {
  return is_adjacent(f, own) && is_adjacent(f, summed) ? 0 : sn_type_size(&f->x->type);
}

static int64_t merged_size(const factor *f, const letter_list *list) {
  int64_t size = 1;
  for (int i = 0; i < list->n; i++) size *= f->x->type.dims[axis_of(f, list->letter[i])];
  return size;
}

/* f as (batch..., rows, cols); several batch letters become one where there is no room for them. */
static void as_matrices(factor *f, const letter_list *batch, const letter_list *rows,
                        const letter_list *cols) {
  int64_t dims[SN_MAX_RANK];
  int rank = 0;
  letter_list order = *batch;
  append(&order, rows->letter, rows->n, ~(sn_letters)0);
  append(&order, cols->letter, cols->n, ~(sn_letters)0);
  if (batch->n + 2 > SN_MAX_RANK)
    dims[rank++] = merged_size(f, batch);
  else
    for (int i = 0; i < batch->n; i++) dims[rank++] = f->x->type.dims[axis_of(f, batch->letter[i])];
  dims[rank++] = merged_size(f, rows);
  dims[rank++] = merged_size(f, cols);
  arrange(f, &order);
  reshape(f, rank, dims);
}

/* The result takes the letters of the list, which are in memory in that order. */
static void label(factor *f, const letter_list *list, const int64_t *size) {
  int64_t dims[SN_MAX_RANK];
  for (int i = 0; i < list->n; i++) dims[i] = size[list->letter[i]];
  f->rank = list->n;
  memcpy(f->letter, list->letter, sizeof f->letter);
  memcpy(f->memory, list->letter, sizeof f->memory);
  reshape(f, list->n, dims);
}

/* One product of matrices. Takes both operands over. */
static factor multiply_matrices(factor *a, factor *b, const split *s, const letter_list *batch,
                                const int64_t *size) {
  letter_list rows = {0}, cols = {0}, by_a = {0}, by_b = {0}, out = *batch;
  append(&rows, a->memory, a->rank, s->left);
  append(&cols, b->memory, b->rank, s->right);
  append(&by_a, a->memory, a->rank, s->summed);
  append(&by_b, b->memory, b->rank, s->summed);
  const int64_t cost_a = copied(a, &rows, &by_a) + copied(b, &cols, &by_a);
  const int64_t cost_b = copied(a, &rows, &by_b) + copied(b, &cols, &by_b);
  const letter_list *summed = cost_b < cost_a ? &by_b : &by_a;
  append(&out, rows.letter, rows.n, s->left);
  append(&out, cols.letter, cols.n, s->right);
  as_matrices(a, batch, &rows, summed);
  as_matrices(b, batch, summed, &cols);
  factor y = {0};
  if (a->x && b->x)
    y.x = sn_node_of(a->x->ctx, SN_OP_matmul, (sn_tensor *[]){a->x, b->x}, 2, NULL, 0, NULL);
  label(&y, &out, size);
  return y;
}

/* f with all letters of the list as axes, of size 1 where it has none of them. */
static void align(factor *f, const letter_list *list) {
  letter_list own = {0};
  int64_t dims[SN_MAX_RANK];
  append(&own, list->letter, list->n, set_of(f));
  for (int i = 0; i < list->n; i++) {
    const int axis = axis_of(f, list->letter[i]);
    dims[i] = axis < 0 ? 1 : f->x->type.dims[axis];
  }
  arrange(f, &own);
  reshape(f, list->n, dims);
}

/* Elementwise, then summed: where no element is used twice, and for dtypes without matmul. */
static factor multiply_elements(factor *a, factor *b, const split *s, const letter_list *out,
                                const int64_t *size) {
  letter_list all = *out;
  factor y = {0};
  uint32_t axes = 0;
  append(&all, a->memory, a->rank, s->summed);
  for (int i = out->n; i < all.n; i++) axes |= 1u << i;
  align(a, &all);
  align(b, &all);
  if (a->x && b->x) y.x = sn_elementwise(SN_OP_mul, (sn_tensor *[]){a->x, b->x}, 2);
  if (y.x && axes) put(&y, sn_reduce(SN_OP_sum, y.x, axes, false));
  label(&y, out, size);
  return y;
}

/* As above where that would have too many dimensions: (batch, m, 1, k) times (batch, 1, n, k). */
static factor multiply_merged(factor *a, factor *b, const split *s, const letter_list *batch,
                              const int64_t *size) {
  letter_list rows = {0}, cols = {0}, summed = {0}, out = *batch;
  append(&rows, a->memory, a->rank, s->left);
  append(&cols, b->memory, b->rank, s->right);
  append(&summed, a->memory, a->rank, s->summed);
  append(&out, rows.letter, rows.n, s->left);
  append(&out, cols.letter, cols.n, s->right);
  const int64_t nb = merged_size(a, batch), m = merged_size(a, &rows), n = merged_size(b, &cols),
                k = merged_size(a, &summed);
  as_matrices(a, batch, &rows, &summed);
  as_matrices(b, batch, &cols, &summed);
  reshape(a, 4, (const int64_t[]){nb, m, 1, k});
  reshape(b, 4, (const int64_t[]){nb, 1, n, k});
  factor y = {0};
  if (a->x && b->x) y.x = sn_elementwise(SN_OP_mul, (sn_tensor *[]){a->x, b->x}, 2);
  put(&y, y.x ? sn_reduce(SN_OP_sum, y.x, 1u << 3, false) : NULL);
  label(&y, &out, size);
  return y;
}

/* ---- the whole ------------------------------------------------------------------------------- */

typedef struct job {
  sn_context *ctx;
  sn_einsum_spec spec;
  sn_dtype dtype;
  letter_list output; /* without those of size 1 */
  sn_letters output_set;
  sn_letters *sets; /* of the operands, as factors */
  sn_einsum_step *steps;
  factor *factors; /* operands, then results */
  size_t n;
} job;

/* The letters of a set as axes: of the output in its order, then by a and b. */
static letter_list in_order(const job *j, const factor *a, const factor *b, sn_letters set) {
  letter_list list = {0};
  append(&list, j->output.letter, j->output.n, set);
  append(&list, a->memory, a->rank, set & ~j->output_set);
  append(&list, b->memory, b->rank, set & ~j->output_set & ~set_of(a));
  return list;
}

/* a and b are used up. */
static factor multiply(const job *j, factor *a, factor *b, sn_letters keep) {
  factor y = {0};
  const int64_t *size = j->spec.size;
  if (a->x && b->x) {
    /* what ends the output comes out last when it belongs to the right operand */
    const int last = j->output.n ? j->output.letter[j->output.n - 1] : -1;
    if (last >= 0 && has(set_of(a) & ~set_of(b), last)) {
      factor *left = a;
      a = b;
      b = left;
    }
    const split s = split_letters(a, b, keep);
    const letter_list out = in_order(j, a, b, keep), batch = in_order(j, a, b, s.batch);
    if (sn_dtype_is_float(j->dtype) && s.summed && (s.left || s.right))
      y = multiply_matrices(a, b, &s, &batch, size);
    else if (out.n + __builtin_popcountll(s.summed) <= SN_MAX_RANK)
      y = multiply_elements(a, b, &s, &out, size);
    else
      y = multiply_merged(a, b, &s, &batch, size);
  }
  put(a, NULL);
  put(b, NULL);
  return y;
}

/* Promotes two at a time, as matmul does; bools count. */
static sn_status common_dtype(job *j, sn_tensor *const *operands) {
  const sn_tensor *best = operands[0];
  for (size_t k = 0; k < j->n; k++) {
    SN_FAIL_IF(&j->ctx->env, operands[k]->ctx != j->ctx, SN_ERR_ARGUMENT,
               "einsum: inputs of two contexts");
    j->dtype = sn_promote(best, operands[k]);
    if (j->dtype == operands[k]->type.dtype) best = operands[k];
  }
  if (j->dtype == SN_BOOL) j->dtype = SN_I32;
  return SN_OK;
}

/* Which letters each operand has when its own are summed: those of the output or of another. */
static sn_status find_sets(job *j, sn_arena *arena, sn_tensor *const *operands) {
  sn_letters once = 0, twice = 0;
  SN_TRY(sn_arena_alloc(arena, j->n, sizeof *j->sets, (void **)&j->sets));
  for (size_t k = 0; k < j->n; k++) {
    const sn_term *term = &j->spec.terms[k];
    for (int i = 0; i < term->rank; i++)
      if (operands[k]->type.dims[i] != 1) j->sets[k] |= sn_letter_bit(term->letter[i]);
    twice |= once & j->sets[k];
    once |= j->sets[k];
  }
  append(&j->output, j->spec.output.letter, j->spec.output.rank, once);
  for (int i = 0; i < j->output.n; i++) j->output_set |= sn_letter_bit(j->output.letter[i]);
  for (size_t k = 0; k < j->n; k++) j->sets[k] &= twice | j->output_set;
  return SN_OK;
}

/* Every result, before any is built. */
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
  SN_TRY(sn_einsum_parse(arena, text, operands, j->n, &j->spec));
  SN_TRY(common_dtype(j, operands));
  SN_TRY(find_sets(j, arena, operands));
  SN_TRY(sn_arena_alloc(arena, j->n, sizeof *j->steps, (void **)&j->steps));
  SN_TRY(sn_arena_alloc(arena, 2 * j->n, sizeof *j->factors, (void **)&j->factors));
  SN_TRY(sn_einsum_order(arena, j->sets, j->n, j->output_set, j->spec.size, j->steps));
  return check_sizes(j);
}

static sn_tensor *build(job *j, sn_tensor *const *operands) {
  for (size_t k = 0; k < j->n; k++)
    j->factors[k] = operand_as_factor(operands[k], j->dtype, &j->spec.terms[k], j->sets[k]);
  for (size_t k = 0; k + 1 < j->n; k++) {
    const sn_einsum_step *s = &j->steps[k];
    j->factors[j->n + k] = multiply(j, &j->factors[s->left], &j->factors[s->right], s->keep);
  }
  factor *y = &j->factors[2 * j->n - 2];
  int64_t dims[SN_MAX_RANK];
  const sn_term *output = &j->spec.output;
  for (int i = 0; i < output->rank; i++) dims[i] = j->spec.size[output->letter[i]];
  if (y->x) arrange(y, &j->output);
  reshape(y, output->rank, dims);
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
  return sn_hand_out(y);
}
