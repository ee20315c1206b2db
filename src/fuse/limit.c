/* limit.c - columns of a chain's scores that need not be computed, as those behind a causal mask: a
 * comparison of the numbers of row and column makes them -infinity, which no maximum sees, and
 * which e^x makes 0, which no sum sees.
 *
 *   s = where(column <= row, q k^T, -inf)     where false:  -inf
 *   m = max s                                               m
 *   p = e^(s - m) / sum e^(s - m)                           0
 *   o = p v                                                 o + 0
 *
 * The bodies are followed once with the comparison false. Then all that read scores must be able
 * to do without those columns, and nothing else may read them. Every column has to count for some
 * row, and every row needs a column, so that where all is finite the bits are the same. */
#include <math.h>

#include "fuse/chain.h"

typedef enum fact { ANYTHING, FALSE, ZERO, NEVER } fact; /* false, +-0, -infinity */

enum { MOST_INSNS = 64 };

typedef struct limiter {
  sn_chain *c;
  const sn_value *values;
  const size_t *local_at;
  uint8_t *known; /* per value */
  int column;     /* the dim */
} limiter;

static bool is_scores(const limiter *l, uint32_t value) {
  const sn_chain *c = l->c;
  return value != SN_NONE && l->local_at[value] != SN_NOT_LOCAL &&
         sn_type_size(&l->values[value].type) == c->batch * c->rows * c->columns;
}

/* Numbers of rows, columns or both, and those with a constant added. */
static bool is_index(const sn_body *b, const sn_insn *insn, sn_operand *index) {
  int64_t more = 0;
  for (int k = 0; k < 2 && insn->op == SN_OP_add; k++) {
    const sn_insn *c = &b->insns[insn->args[k]];
    if (c->kind != SN_INSN_CONST) continue;
    more = (int64_t)c->value;
    insn = &b->insns[insn->args[!k]];
  }
  if (insn->kind != SN_INSN_LOAD || insn->dtype != SN_I32) return false;
  *index = b->operands[insn->args[0]];
  index->offset += more;
  return index->value == SN_NONE;
}

/* column <= row - limit, or row <= column - limit: all such comparisons of a chain are the same. */
static bool is_mask(const limiter *l, const sn_body *b, const sn_insn *insn) {
  sn_chain *c = l->c;
  const bool turned = insn->op == SN_OP_greater || insn->op == SN_OP_greater_equal;
  const bool strict = insn->op == SN_OP_less || insn->op == SN_OP_greater;
  if (!turned && !strict && insn->op != SN_OP_less_equal) return false;
  sn_operand x, y;
  if (insn->in_dtype != SN_I32 || !is_index(b, &b->insns[insn->args[turned]], &x) ||
      !is_index(b, &b->insns[insn->args[!turned]], &y))
    return false;
  const int64_t limit = x.offset - y.offset + strict;
  const int64_t side = x.strides[l->column] - y.strides[l->column];
  if (side * side != 1 || limit > 0) return false;
  for (int i = 0; i < l->column; i++)
    if (x.strides[i] - y.strides[i] != (i + 1 == l->column ? -side : 0)) return false;
  if (!c->side) c->limit = limit;
  if (!c->side) c->side = side;
  return c->side == side && c->limit == limit;
}

static fact result_of(const limiter *l, const sn_body *b, const sn_insn *insn, const uint8_t *v) {
  const fact x = v[insn->args[0]], y = v[insn->args[1]];
  switch (insn->op) {
  case SN_OP_where: return x == FALSE ? v[insn->args[2]] : ANYTHING;
  case SN_OP_exp: return x == NEVER ? ZERO : ANYTHING;
  case SN_OP_sub: return x == NEVER ? x : ANYTHING;
  case SN_OP_div: return x == ZERO ? x : ANYTHING;
  case SN_OP_mul: return x == ZERO || y == ZERO ? ZERO : ANYTHING;
  default: return is_mask(l, b, insn) ? FALSE : ANYTHING;
  }
}

static fact known_of(const limiter *l, const sn_body *b, const sn_insn *insn, const uint8_t *v,
                     const uint8_t *kept) {
  const uint32_t arg = insn->args[0];
  switch (insn->kind) {
  case SN_INSN_LOAD:
    return b->operands[arg].value == SN_NONE ? 0 : l->known[b->operands[arg].value];
  case SN_INSN_CONST: return insn->value == 0 ? ZERO : insn->value == -INFINITY ? NEVER : ANYTHING;
  case SN_INSN_KEPT: return kept[arg];
  case SN_INSN_OP: return result_of(l, b, insn, v);
  default: return ANYTHING;
  }
}

static bool is_column(const limiter *l, const sn_operand *o) {
  return o->offset == 0 && o->strides[l->column] == 1;
}

/* along: over columns of scores. v: what is known of its instructions. */
static bool follow(const limiter *l, const sn_body *b, const sn_store *stores, uint32_t n_stores,
                   bool along, const uint8_t *kept, uint8_t *v) {
  if (b->n_insns > MOST_INSNS) return false;
  for (uint32_t i = 0; i < b->n_operands; i++)
    if (is_scores(l, b->operands[i].value) && !(along && is_column(l, &b->operands[i])))
      return false;
  for (uint32_t i = 0; i < b->n_insns; i++)
    v[i] = (uint8_t)(along ? known_of(l, b, &b->insns[i], v, kept) : ANYTHING);
  for (uint32_t i = 0; i < n_stores; i++) {
    const sn_operand *to = &stores[i].target;
    if (along && !(is_scores(l, to->value) && is_column(l, to))) return false;
    l->known[to->value] = v[stores[i].insn];
  }
  return true;
}

static bool follow_phase(const limiter *l, const sn_phase *p, bool along, uint8_t *kept) {
  uint8_t v[MOST_INSNS];
  if (!follow(l, &p->body, p->stores, p->n_stores, along, kept, v)) return false;
  for (uint32_t i = 0; i < p->n_keeps; i++) kept[p->keeps[i].slot] = v[p->keeps[i].insn];
  for (uint32_t i = 0; i < p->n_reductions && along; i++) {
    const sn_reduction *r = &p->reductions[i];
    const fact identity = r->op == SN_OP_sum ? ZERO : r->op == SN_OP_max ? NEVER : FALSE;
    if (v[r->insn] != identity) return false;
  }
  return true;
}

static bool follow_member(const limiter *l, sn_group *g) {
  const sn_chain *c = l->c;
  uint8_t kept[SN_MAX_KEPT], v[MOST_INSNS];
  const bool product = g->kind == SN_GROUP_CONTRACTION;
  const bool terms = product && is_scores(l, g->a.value);
  if (terms && (l->known[g->a.value] != ZERO || g->k != c->columns || g->a.offset ||
                g->a.along.rank != 1 || g->a.along.strides[0] != 1))
    return false;
  const bool along = !terms && g->space_rank > l->column && g->space[l->column] == c->columns;
  const bool row = g->space_rank == l->column && g->n_phases && g->reduced[0] == c->columns;
  for (uint32_t p = 0; p < g->n_phases; p++)
    if (!follow_phase(l, &g->phases[p], row, kept)) return false;
  g->limited = terms                       ? SN_LIMITED_TERMS
               : (product && along) || row ? SN_LIMITED_COLUMNS
                                           : SN_LIMITED_NONE;
  return !(row && c->side < 0) && follow(l, &g->post, g->stores, g->n_stores, along, kept, v);
}

sn_range sn_chain_columns(const sn_chain *c, int64_t row) {
  sn_range r = {0, c->columns};
  const int64_t to = (row + c->block - c->limit + SN_LIMIT_UNIT - 1) & -SN_LIMIT_UNIT;
  const int64_t from = (row + c->limit) & -SN_LIMIT_UNIT;
  if (c->side > 0 && to < r.to) r.to = to;
  if (c->side < 0 && from > 0) r.from = from < r.to ? from : r.to;
  return r;
}

void sn_chain_limit(sn_chain *c, int outer, const sn_value *values, const size_t *local_at,
                    uint8_t *known) {
  const limiter l = {c, values, local_at, known, outer};
  double points = 0;
  c->columns = c->whole[0].space[outer];
  for (uint32_t m = 0; m < c->n_members; m++)
    if (!follow_member(&l, &c->whole[m])) {
      c->side = 0;
      break;
    }
  for (int64_t row = 0; row < c->rows; row += c->block) {
    const sn_range columns = sn_chain_columns(c, row);
    const int64_t left = c->rows - row;
    points += (double)(columns.to - columns.from) * (double)(left < c->block ? left : c->block);
  }
  c->share = points / ((double)c->rows * (double)c->columns);
}
