/* einsum_order.c - dynamic programming over sets of operands. The letters of a set's product do not
 * depend on the order: they are those that the output or an operand outside of the set has, too. So
 * a set has one best cost, and the best order for the whole consists of best orders for its parts.
 *
 *   join(S, T) = product of the sizes of all letters of both, times 2 if some are summed
 *   best(S) = min over S = P + Q of best(P) + best(Q) + join(P, Q)
 *
 * No tensor has more than SN_MAX_RANK dimensions, so a set with more letters has infinite cost. */
#include <math.h>

#include "tensor/einsum_order.h"

enum {
  SUBSETS = 1 << SN_EINSUM_OPTIMAL, /* 64: a set of subsets fits in a uint64_t */
  REACH = 32 /* most distance of a pair in the list: a thousand operands then take a second, not a minute */
};

typedef struct plan {
  const int64_t *size;
  sn_letters output;
  sn_letters *sets; /* letters of every operand and result */
  size_t *alive;    /* numbers of the factors that are left, in order */
  size_t n_alive, next;
  sn_einsum_step *steps;
} plan;

static double elements_of(const plan *p, sn_letters set) {
  double product = 1;
  for (; set; set &= set - 1) product *= (double)p->size[__builtin_ctzll(set)];
  return product;
}

static double operations(const plan *p, sn_letters both, sn_letters keep) {
  if (__builtin_popcountll(keep) > SN_MAX_RANK) return INFINITY;
  return elements_of(p, both) * (keep == both ? 1 : 2);
}

static size_t emit(plan *p, size_t left, size_t right, sn_letters keep) {
  *p->steps++ = (sn_einsum_step){left, right, keep};
  p->sets[p->next] = keep;
  return p->next++;
}

/* ---- many operands: greedy ------------------------------------------------------------------- */

/* Joins the pair with the fewest operations per element that is then gone. On chains of random matrices
 * this comes within a quarter of the best order, while choosing fewest operations or the smallest result
 * takes five times as many. connected: only pairs with a letter in common. Returns false if no pair can be joined. */
static bool join_cheapest(plan *p, bool connected) {
  double least = INFINITY;
  size_t i = 0, j = 0;
  sn_letters one = p->output, two = p->output, three = p->output, keep = 0;
  for (size_t a = 0; a < p->n_alive; a++) { /* letters of at least one, two, three of the factors and the output */
    const sn_letters set = p->sets[p->alive[a]];
    three |= two & set;
    two |= one & set;
    one |= set;
  }
  for (size_t a = 0; a < p->n_alive; a++)
    for (size_t b = a + 1; b < p->n_alive && b <= a + REACH; b++) {
      const sn_letters x = p->sets[p->alive[a]], y = p->sets[p->alive[b]];
      if (connected && !(x & y)) continue;
      const double gone = elements_of(p, x) + elements_of(p, y);
      const sn_letters needed = (x | y) & (three | (two & ~(x & y)));
      const double price = operations(p, x | y, needed) / fmax(gone, 1);
      if (price >= least) continue;
      least = price;
      keep = needed;
      i = a;
      j = b;
    }
  if (!j) return false;
  p->alive[i] = emit(p, p->alive[i], p->alive[j], keep);
  p->n_alive--;
  memmove(p->alive + j, p->alive + j + 1, (p->n_alive - j) * sizeof *p->alive);
  return true;
}

/* ---- few operands: optimal ------------------------------------------------------------------- */

typedef struct subset {
  sn_letters letters;
  unsigned part; /* one of the two subsets that it is best joined of; 0: it is a single factor */
  double cost;
  size_t number; /* of the factor that is its product */
} subset;

static sn_letters letters_of(const plan *p, unsigned members) {
  sn_letters inside = 0, outside = p->output;
  for (size_t i = 0; i < p->n_alive; i++)
    *(members >> i & 1 ? &inside : &outside) |= p->sets[p->alive[i]];
  return inside & outside;
}

static void find_parts(const plan *p, subset *table, unsigned whole) {
  subset *s = &table[whole];
  s->cost = INFINITY;
  for (unsigned part = (whole - 1) & whole; 2 * part >= whole; part = (part - 1) & whole) {
    const subset *a = &table[part], *b = &table[whole ^ part];
    const double cost = a->cost + b->cost + operations(p, a->letters | b->letters, s->letters);
    if (cost >= s->cost) continue;
    s->cost = cost;
    s->part = part;
  }
}

/* Parts have smaller numbers than their whole: subsets that are needed are marked from the last one down, and
 * emitted from the first one up. Returns false if every order needs too many letters. */
static bool join_optimally(plan *p) {
  subset table[SUBSETS] = {{0}};
  const unsigned all = (1u << p->n_alive) - 1;
  for (unsigned s = 1; s <= all; s++) {
    table[s].letters = letters_of(p, s);
    if (s & (s - 1))
      find_parts(p, table, s);
    else
      table[s].number = p->alive[__builtin_ctz(s)];
  }
  if (isinf(table[all].cost)) return false;
  uint64_t wanted = (uint64_t)1 << all;
  for (unsigned s = all; s; s--)
    if (wanted >> s & 1 && table[s].part)
      wanted |= (uint64_t)1 << table[s].part | (uint64_t)1 << (s ^ table[s].part);
  for (unsigned s = 1; s <= all; s++) {
    const unsigned part = table[s].part;
    if (wanted >> s & 1 && part)
      table[s].number = emit(p, table[part].number, table[s ^ part].number, table[s].letters);
  }
  return true;
}

/* Products of factors without a common letter may each be cheap, but pile up more letters than a tensor may have dimensions.
 * With `connected`, pairs with a common letter are joined first, which avoids that for a chain. */
static bool find_order(plan *p, const sn_letters *sets, size_t n, bool connected) {
  p->next = n;
  for (p->n_alive = 0; p->n_alive < n; p->n_alive++) {
    p->sets[p->n_alive] = sets[p->n_alive];
    p->alive[p->n_alive] = p->n_alive;
  }
  while (p->n_alive > SN_EINSUM_OPTIMAL)
    if (!(connected && join_cheapest(p, true)) && !join_cheapest(p, false)) return false;
  return join_optimally(p);
}

sn_status sn_einsum_order(sn_arena *arena, const sn_letters *sets, size_t n, sn_letters output,
                          const int64_t size[SN_LETTERS], sn_einsum_step *steps) {
  plan p = {.size = size, .output = output};
  SN_TRY(sn_arena_alloc(arena, 2 * n, sizeof *p.sets, (void **)&p.sets));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *p.alive, (void **)&p.alive));
  for (int connected = 0; connected < 2; connected++) {
    p.steps = steps;
    if (find_order(&p, sets, n, connected)) return SN_OK;
  }
  return SN_FAIL(arena->env, SN_ERR_UNSUPPORTED, "einsum",
                 "found no order with results of rank 0..%d", SN_MAX_RANK);
}
