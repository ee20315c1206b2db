#include "plan/victims.h"

#include <math.h>

/* The heap for a price per byte. Prices below 2^-16 share the first heap; those above 2^46, which are
 * as good as infinite, the last. */
static size_t class_of(double price) {
  enum { LOWEST = -16 };
  int power;
  if (price == INFINITY) return SN_VICTIM_CLASSES - 1;
  frexp(price, &power);
  power -= LOWEST;
  return power < 0 ? 0 : power < SN_VICTIM_CLASSES ? (size_t)power : SN_VICTIM_CLASSES - 1;
}

static sn_status push(sn_victims *s, size_t to, sn_victim victim) {
  sn_victim_heap *h = &s->heaps[to];
  SN_TRY(sn_arena_grow(s->arena, (void **)&h->items, &h->capacity, h->n, sizeof victim));
  size_t at = h->n++;
  for (; at && h->items[(at - 1) / 2].next < victim.next; at = (at - 1) / 2)
    h->items[at] = h->items[(at - 1) / 2];
  h->items[at] = victim;
  return SN_OK;
}

static sn_victim pop(sn_victim_heap *h) {
  const sn_victim first = h->items[0], last = h->items[--h->n];
  size_t at = 0;
  for (size_t child = 1; child < h->n; child = 2 * at + 1) {
    if (child + 1 < h->n && h->items[child + 1].next > h->items[child].next) child++;
    if (h->items[child].next <= last.next) break;
    h->items[at] = h->items[child];
    at = child;
  }
  h->items[at] = last;
  return first;
}

sn_status sn_victims_add(sn_victims *s, sn_victim victim, double price) {
  return push(s, class_of(price), victim);
}

/* Removes or moves heads of heap i until one is valid and not dearer than its heap. A price grows when
 * values that are needed to make the victim have left memory, too. */
static sn_status settle(sn_victims *s, size_t i, double *price) {
  sn_victim_heap *h = &s->heaps[i];
  while (h->n) {
    *price = s->price(s->user, &h->items[0]);
    const size_t to = class_of(*price);
    if (*price >= 0 && to <= i) return SN_OK;
    const sn_victim moved = pop(h);
    if (*price >= 0) SN_TRY(push(s, to, moved));
  }
  return SN_OK;
}

sn_status sn_victims_take(sn_victims *s, uint32_t now, bool *found, sn_victim *out) {
  size_t best = 0;
  double best_score = INFINITY;
  *found = false;
  for (size_t i = 0; i < SN_VICTIM_CLASSES; i++) {
    double price = 0;
    SN_TRY(settle(s, i, &price));
    if (!s->heaps[i].n) continue;
    const uint32_t next = s->heaps[i].items[0].next;
    const double score = price / (double)(next > now ? next - now : 1);
    if (*found && score >= best_score) continue;
    *found = true;
    best = i;
    best_score = score;
  }
  if (*found) *out = pop(&s->heaps[best]);
  return SN_OK;
}
