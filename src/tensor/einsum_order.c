/* einsum_order.c - which two to multiply next. The letters of a result do not depend on how it came
 * about: those of its operands that the output or an operand outside of it has. So a set of
 * operands has one best cost, and the best way to the whole is made of best ways to parts.
 *
 *   join(S, T) = product of the sizes of all letters of both, twice where some are summed
 *   best(S) = min over S = P + Q of best(P) + best(Q) + join(P, Q)
 *
 * No tensor has more than SN_MAX_RANK dimensions: a set with more letters is of infinite cost. */
#include <math.h>

#include "tensor/einsum.h"

enum { SUBSETS = 1 << SN_EINSUM_OPTIMAL };

typedef struct cost {
  double operations;
  double elements; /* of all intermediates together; where operations are equal */
} cost;

typedef struct plan {
  sn_env *env;
  const int64_t *size;
  sn_letters output;
  sn_letters *sets; /* of every operand and result */
  size_t *alive;    /* numbers of what is left */
  size_t n_alive, next;
  sn_einsum_step *steps;
  size_t n_steps;
  size_t users[SN_LETTERS]; /* how many of those left have a letter */
} plan;

static double elements_of(const plan *p, sn_letters set) {
  double product = 1;
  for (; set; set &= set - 1) product *= (double)p->size[__builtin_ctzll(set)];
  return product;
}

static bool fits(sn_letters set) { return __builtin_popcountll(set) <= SN_MAX_RANK; }

/* The letters of x and y together that something else needs. */
static sn_letters kept(const plan *p, sn_letters x, sn_letters y) {
  sn_letters keep = (x | y) & p->output;
  for (sn_letters rest = (x | y) & ~keep; rest; rest &= rest - 1) {
    const int letter = __builtin_ctzll(rest);
    const sn_letters bit = sn_letter_bit(letter);
    if (p->users[letter] > (size_t) !!(x & bit) + (size_t) !!(y & bit)) keep |= bit;
  }
  return keep;
}

static double operations(const plan *p, sn_letters x, sn_letters y, sn_letters keep) {
  return elements_of(p, x | y) * (keep == (x | y) ? 1 : 2);
}

static void count_users(plan *p, sn_letters set, size_t change) {
  for (; set; set &= set - 1) p->users[__builtin_ctzll(set)] += change;
}

/* Appends the step; the number of its result. */
static size_t emit(plan *p, size_t left, size_t right, sn_letters keep) {
  p->steps[p->n_steps++] = (sn_einsum_step){left, right, keep};
  p->sets[p->next] = keep;
  return p->next++;
}

static sn_status no_order(const plan *p) {
  return sn_fail(p->env, SN_ERR_UNSUPPORTED,
                 "einsum: every order of multiplication has a result of more than %d dimensions",
                 SN_MAX_RANK);
}

/* ---- many ------------------------------------------------------------------------------------ */

typedef struct partner { /* the best one that stands behind in alive[] */
  size_t at;
  cost cost;
} partner;

static bool is_less(cost a, cost b) {
  return a.operations != b.operations ? a.operations < b.operations : a.elements < b.elements;
}

/* Operations for each element that need not be looked at again: on chains of random matrices that
 * comes within a quarter of the best order, where fewest operations or smallest result first take
 * five times as many. */
static cost price(const plan *p, size_t i, size_t j) {
  const sn_letters x = p->sets[p->alive[i]], y = p->sets[p->alive[j]], keep = kept(p, x, y);
  if (!fits(keep)) return (cost){INFINITY, INFINITY};
  const double gone = elements_of(p, x) + elements_of(p, y);
  return (cost){operations(p, x, y, keep) / fmax(gone, 1), elements_of(p, keep)};
}

static void find_partner(const plan *p, size_t i, partner *best) {
  best[i] = (partner){i, {INFINITY, INFINITY}};
  for (size_t j = i + 1; j < p->n_alive; j++) {
    const cost c = price(p, i, j);
    if (is_less(c, best[i].cost)) best[i] = (partner){j, c};
  }
}

/* Joining two others changes no pair's price, as what they needed their result needs. So a partner
 * is searched anew only where it was one of the two. */
static sn_status join_best(plan *p, partner *best) {
  size_t i = 0;
  for (size_t k = 1; k < p->n_alive; k++)
    if (is_less(best[k].cost, best[i].cost)) i = k;
  const size_t j = best[i].at, last = p->n_alive - 1;
  if (j == i) return no_order(p);
  const sn_letters x = p->sets[p->alive[i]], y = p->sets[p->alive[j]], keep = kept(p, x, y);
  p->alive[i] = emit(p, p->alive[i], p->alive[j], keep);
  count_users(p, x, (size_t)-1);
  count_users(p, y, (size_t)-1);
  count_users(p, keep, 1);
  p->alive[j] = p->alive[last];
  p->n_alive = last;
  best[j] = best[last];
  for (size_t k = 0; k < last; k++) {
    const size_t at = best[k].at;
    if (k == i || k == j || at == i || at == j || at == last) {
      find_partner(p, k, best);
      continue;
    }
    for (size_t moved = 0; moved < 2; moved++) {
      const size_t other = moved ? j : i;
      if (other <= k || other >= last) continue;
      const cost c = price(p, k, other);
      if (is_less(c, best[k].cost)) best[k] = (partner){other, c};
    }
  }
  return SN_OK;
}

/* ---- few ------------------------------------------------------------------------------------- */

typedef struct subset {
  sn_letters letters;
  unsigned part; /* one of the two it is best made of; 0: a single one */
  cost cost;
  bool wanted;
  size_t number; /* of its result */
} subset;

static sn_letters letters_of(const plan *p, unsigned members) {
  sn_letters inside = 0, outside = p->output;
  for (size_t i = 0; i < p->n_alive; i++)
    *(members >> i & 1 ? &inside : &outside) |= p->sets[p->alive[i]];
  return inside & outside;
}

static void find_parts(const plan *p, subset *table, unsigned whole) {
  subset *s = &table[whole];
  s->cost = (cost){INFINITY, INFINITY};
  if (!fits(s->letters)) return;
  const unsigned first = whole & -whole;
  for (unsigned part = (whole - 1) & whole; part; part = (part - 1) & whole) {
    if (!(part & first)) continue; /* the other half is the same pair */
    const subset *a = &table[part], *b = &table[whole ^ part];
    const cost c = {a->cost.operations + b->cost.operations +
                        operations(p, a->letters, b->letters, s->letters),
                    a->cost.elements + b->cost.elements + elements_of(p, s->letters)};
    if (!is_less(c, s->cost)) continue;
    s->cost = c;
    s->part = part;
  }
}

/* Parts have smaller numbers than the whole: down the table to mark, up to emit. */
static sn_status join_optimally(plan *p) {
  subset table[SUBSETS] = {{0}};
  const unsigned all = (1u << p->n_alive) - 1;
  for (unsigned s = 1; s <= all; s++) {
    table[s].letters = letters_of(p, s);
    if (s & (s - 1))
      find_parts(p, table, s);
    else
      table[s].number = p->alive[__builtin_ctz(s)];
  }
  if (isinf(table[all].cost.operations)) return no_order(p);
  table[all].wanted = true;
  for (unsigned s = all; s; s--)
    if (table[s].wanted && table[s].part)
      table[table[s].part].wanted = table[s ^ table[s].part].wanted = true;
  for (unsigned s = 1; s <= all; s++) {
    if (!table[s].wanted || !table[s].part) continue;
    const subset *a = &table[table[s].part], *b = &table[s ^ table[s].part];
    table[s].number = emit(p, a->number, b->number, table[s].letters);
  }
  return SN_OK;
}

sn_status sn_einsum_order(sn_arena *arena, const sn_letters *sets, size_t n, sn_letters output,
                          const int64_t size[SN_LETTERS], sn_einsum_step *steps) {
  if (n < 2) return SN_OK;
  plan p = {.env = arena->env, .size = size, .output = output, .steps = steps, .next = n};
  partner *best = NULL;
  SN_TRY(sn_arena_alloc(arena, 2 * n, sizeof *p.sets, (void **)&p.sets));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *p.alive, (void **)&p.alive));
  memcpy(p.sets, sets, n * sizeof *sets);
  for (; p.n_alive < n; p.n_alive++) {
    p.alive[p.n_alive] = p.n_alive;
    count_users(&p, sets[p.n_alive], 1);
  }
  if (n > SN_EINSUM_OPTIMAL) {
    SN_TRY(sn_arena_alloc(arena, n, sizeof *best, (void **)&best));
    for (size_t i = 0; i < n; i++) find_partner(&p, i, best);
    while (p.n_alive > SN_EINSUM_OPTIMAL) SN_TRY(join_best(&p, best));
  }
  return join_optimally(&p);
}
