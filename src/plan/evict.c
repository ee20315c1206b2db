#include "plan/evict.h"

#include <math.h>

#include "fuse/in_place.h"
#include "plan/victims.h"

/* Most turns of an order per group of the program. If there are more, the limit is too low. */
#define MOST_TURNS 8
/* A group that touches more values than this is not checked for writing its result in place. */
#define MOST_READS 64
/* A value counts as out of reach if so many others would have to be made on the way to it. */
#define MOST_ANCESTORS 256

/* An entry of the stack that replaces recursion: a value that is being made again. */
typedef struct making {
  uint32_t value;
  size_t source; /* the next source to look at, numbered over all values that its writers read */
} making;

typedef struct evicter {
  const sn_touched *t;
  sn_arena *arena;
  size_t limit, in_use, most_turns; /* limit, in_use: bytes */
  uint32_t now;                     /* the group of the original order whose turn it is */
  uint8_t *is_there;                /* per value: it is in memory */
  /* Per value: how many are about to read it: values being made, and the current group. */
  uint32_t *pins;
  size_t *next;          /* per value: its next reader, as an index into readers.list */
  uint32_t *buffer;      /* per value: its buffer, or its last one if it is not in memory */
  uint32_t *seen, stamp; /* seen, per value: the stamp of the last price_now that counted it */
  uint32_t *ancestors;   /* the values that price_now has counted */
  making *stack;
  size_t n_making, making_capacity;
  bool is_making;
  /* Values made in this turn that no later group reads; they are kept until the turn ends. */
  uint32_t *idle;
  size_t n_idle, idle_capacity;
  sn_victims victims;
  sn_order *order;
  size_t turns_capacity, values_capacity, n_values, buffers_capacity;
} evicter;

static const uint32_t *values_of(const evicter *e, uint32_t group, size_t *n) {
  *n = sn_list_size(&e->t->of_group, group);
  return e->t->of_group.list + e->t->of_group.first[group];
}

/* Whether v is an intermediate: only these can leave memory and be made again. */
static bool is_temp(const evicter *e, uint32_t v) {
  return e->t->groups->values[v].kind == SN_VALUE_TEMP;
}

static uint32_t next_use(const evicter *e, uint32_t v) {
  return e->next[v] < e->t->readers.first[v + 1] ? e->t->readers.list[e->next[v]] : SN_NONE;
}

static uint32_t writer(const evicter *e, uint32_t v, size_t i) {
  return e->t->writers.list[e->t->writers.first[v] + i];
}

/* ---- who may leave --------------------------------------------------------------------------- */

/* Whether v may leave memory now. A value that several groups write in parts stays until it is whole. */
static bool may_leave(const evicter *e, uint32_t v) {
  const uint32_t next = next_use(e, v);
  const size_t n = sn_list_size(&e->t->writers, v);
  return e->is_there[v] && !e->pins[v] && e->t->bytes[v] && next != SN_NONE && next > e->now &&
         next <= e->t->until[v] && writer(e, v, n - 1) < e->now;
}

/* Adds to e->ancestors, each once, the values that the writers of v read and that are not in memory. */
static void add_ancestors(evicter *e, uint32_t v, uint32_t *n) {
  for (size_t w = 0; w < sn_list_size(&e->t->writers, v); w++) {
    size_t n_touched;
    const uint32_t g = writer(e, v, w), *values = values_of(e, g, &n_touched);
    for (size_t i = e->t->n_writes[g]; i < n_touched && *n < MOST_ANCESTORS; i++) {
      const uint32_t x = values[i];
      if (!is_temp(e, x) || e->is_there[x] || e->seen[x] == e->stamp) continue;
      e->seen[x] = e->stamp;
      e->ancestors[(*n)++] = x;
    }
  }
}

/* sn_victims.price: the cost, per byte of the victim, of making it and everything that would now have to be
 * made before. */
static double price_now(void *user, const sn_victim *victim) {
  evicter *e = user;
  const uint32_t v = victim->value;
  if (!may_leave(e, v) || next_use(e, v) != victim->next) return -1;
  double price = e->t->price[v];
  uint32_t n = 0;
  e->stamp++;
  add_ancestors(e, v, &n);
  for (uint32_t i = 0; i < n; i++) {
    price += e->t->price[e->ancestors[i]];
    add_ancestors(e, e->ancestors[i], &n);
  }
  return n == MOST_ANCESTORS ? INFINITY : price / (double)e->t->bytes[v];
}

static void leave(evicter *e, uint32_t v) {
  e->is_there[v] = 0;
  e->in_use -= e->t->bytes[v];
}

/* Drops idle values that are not pinned, until at most in_use bytes are in use. */
static void drop_idle(evicter *e, size_t in_use) {
  while (e->n_idle && e->in_use > in_use) {
    const uint32_t v = e->idle[--e->n_idle];
    if (e->is_there[v] && !e->pins[v]) leave(e, v);
  }
}

/* Removes values from memory until there is room for so many more bytes, or no value may leave. */
static sn_status make_room(evicter *e, size_t bytes) {
  if (e->in_use + bytes > e->limit) drop_idle(e, bytes < e->limit ? e->limit - bytes : 0);
  while (e->in_use + bytes > e->limit) {
    bool found;
    sn_victim victim;
    SN_TRY(sn_victims_take(&e->victims, e->now, &found, &victim));
    if (!found) break;
    leave(e, victim.value);
  }
  return SN_OK;
}

/* Ends the use of a value that no later group reads. While values are made again, it becomes idle instead:
 * it may still be a source of another one in this turn. */
static sn_status end_use(evicter *e, uint32_t v) {
  if (!e->is_making) {
    leave(e, v);
    return SN_OK;
  }
  SN_TRY(sn_arena_grow(e->arena, (void **)&e->idle, &e->idle_capacity, e->n_idle, sizeof v));
  e->idle[e->n_idle++] = v;
  return SN_OK;
}

/* Called when v may have lost its last pin: if nobody needs v it leaves memory, else it may become a victim. */
static sn_status let_go(evicter *e, uint32_t v) {
  if (!e->is_there[v] || e->pins[v] || !is_temp(e, v)) return SN_OK;
  const uint32_t next = next_use(e, v);
  if (next == SN_NONE) return end_use(e, v);
  if (!may_leave(e, v)) return SN_OK;
  return sn_victims_add(&e->victims, (sn_victim){v, next}, e->t->price[v] / (double)e->t->bytes[v]);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* Gives v another buffer: a value that is made again does not lie where it lay before. */
static sn_status new_buffer(evicter *e, uint32_t v) {
  sn_order *o = e->order;
  SN_TRY(sn_arena_grow(e->arena, (void **)&o->value_of, &e->buffers_capacity, o->n_buffers,
                       sizeof *o->value_of));
  e->buffer[v] = (uint32_t)o->n_buffers;
  o->value_of[o->n_buffers++] = v;
  return SN_OK;
}

static sn_status add_turn(evicter *e, uint32_t g, bool is_repeat) {
  size_t n;
  sn_order *o = e->order;
  const uint32_t *values = values_of(e, g, &n);
  SN_TRY(sn_arena_grow(e->arena, (void **)&o->turns, &e->turns_capacity, o->n_turns,
                       sizeof *o->turns));
  if (e->n_values + n > e->values_capacity)
    SN_TRY(sn_arena_reserve(e->arena, (void **)&o->values, &e->values_capacity, e->n_values,
                            2 * (e->n_values + n), sizeof *o->values));
  o->turns[o->n_turns++] = (sn_turn){g, is_repeat, e->n_values};
  for (size_t i = 0; i < n; i++) o->values[e->n_values++] = e->buffer[values[i]];
  return SN_OK;
}

/* Whether the running group is the last user of x, so that its result may take the place of x. */
static bool dies_here(const evicter *e, uint32_t x, bool is_repeat) {
  const size_t after = e->next[x] + !is_repeat;
  return is_temp(e, x) && e->is_there[x] && e->pins[x] == 1 && after == e->t->readers.first[x + 1];
}

/* Whether v, which a group writes, is scrap: the group runs again for another value, `made`, and v goes to a
 * new buffer that nobody reads. This is so for an output, which is complete already, and for a value of which
 * other groups write parts, too. made is SN_NONE if the group runs for the first time. */
static bool is_scrap(const evicter *e, uint32_t v, uint32_t made) {
  if (made == SN_NONE || v == made) return false;
  return !is_temp(e, v) || (!e->is_there[v] && sn_list_size(&e->t->writers, v) > 1);
}

/* Whether result v of group g can be written in place over a value that g is the last to read. */
static bool takes_over(const evicter *e, uint32_t g, uint32_t v, bool is_repeat) {
  size_t n;
  const uint32_t *values = values_of(e, g, &n);
  if (e->t->n_writes[g] > 1 || n > MOST_READS) return false;
  for (size_t k = e->t->n_writes[g]; k < n; k++)
    if (dies_here(e, values[k], is_repeat) && e->t->bytes[values[k]] == e->t->bytes[v] &&
        sn_takes_over_in_step(&e->t->groups->groups[g], v, values[k]))
      return true;
  return false;
}

static size_t bytes_of_results(const evicter *e, uint32_t g, uint32_t made) {
  size_t n, bytes = 0;
  const uint32_t *values = values_of(e, g, &n);
  for (size_t i = 0; i < e->t->n_writes[g]; i++) {
    const uint32_t v = values[i];
    const bool is_new = is_temp(e, v) && !e->is_there[v] && !takes_over(e, g, v, made != SN_NONE);
    if (is_new || is_scrap(e, v, made)) bytes += e->t->bytes[v];
  }
  return bytes;
}

/* Adds a turn of group g, whose inputs are all in memory and pinned. made: as for is_scrap. Other results that
 * are still in memory are written again in place, with the same bits. */
static sn_status run(evicter *e, uint32_t g, uint32_t made) {
  size_t n;
  const bool is_repeat = made != SN_NONE;
  const uint32_t *values = values_of(e, g, &n);
  SN_TRY(make_room(e, bytes_of_results(e, g, made)));
  for (size_t i = 0; i < e->t->n_writes[g]; i++) {
    const uint32_t v = values[i];
    const bool scrap = is_scrap(e, v, made);
    if (is_repeat && (scrap || !e->is_there[v])) SN_TRY(new_buffer(e, v));
    if (scrap || e->is_there[v] || !is_temp(e, v)) continue;
    e->is_there[v] = 1;
    e->in_use += e->t->bytes[v];
  }
  SN_TRY(add_turn(e, g, is_repeat));
  for (size_t i = 0; i < e->t->n_writes[g]; i++)
    if (!is_temp(e, values[i])) e->buffer[values[i]] = values[i];
  return SN_OK;
}

static void pin(evicter *e, const uint32_t *values, size_t n) {
  for (size_t i = 0; i < n; i++) e->pins[values[i]]++;
}

static sn_status unpin(evicter *e, const uint32_t *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    e->pins[values[i]]--;
    SN_TRY(let_go(e, values[i]));
  }
  return SN_OK;
}

/* The values that group g only reads. */
static const uint32_t *reads_of(const evicter *e, uint32_t g, size_t *n) {
  const uint32_t *values = values_of(e, g, n);
  *n -= e->t->n_writes[g];
  return values + e->t->n_writes[g];
}

/* Runs the writers of `made`, whose sources are all in memory, and unpins the sources. */
static sn_status end_making(evicter *e, uint32_t made) {
  const size_t n_writers = sn_list_size(&e->t->writers, made);
  for (size_t w = 0; w < n_writers; w++) SN_TRY(run(e, writer(e, made, w), made));
  for (size_t w = 0; w < n_writers; w++) {
    size_t n;
    const uint32_t g = writer(e, made, w), *values = values_of(e, g, &n);
    for (size_t i = 0; i < e->t->n_writes[g]; i++) SN_TRY(let_go(e, values[i]));
    SN_TRY(unpin(e, values + e->t->n_writes[g], n - e->t->n_writes[g]));
  }
  return SN_OK;
}

/* Pushes v onto the stack and pins its sources. */
static sn_status begin_making(evicter *e, uint32_t v) {
  SN_TRY(sn_arena_grow(e->arena, (void **)&e->stack, &e->making_capacity, e->n_making,
                       sizeof *e->stack));
  e->stack[e->n_making++] = (making){.value = v};
  for (size_t w = 0; w < sn_list_size(&e->t->writers, v); w++) {
    size_t n;
    const uint32_t *reads = reads_of(e, writer(e, v, w), &n);
    pin(e, reads, n);
  }
  return SN_OK;
}

/* Source number `at` of v, over all values that its writers read; SN_NONE if it has fewer. */
static uint32_t source_of(const evicter *e, uint32_t v, size_t at) {
  for (size_t w = 0; w < sn_list_size(&e->t->writers, v); w++) {
    size_t n;
    const uint32_t *reads = reads_of(e, writer(e, v, w), &n);
    if (at < n) return reads[at];
    at -= n;
  }
  return SN_NONE;
}

static bool went_too_far(const evicter *e) { return e->order->n_turns > e->most_turns; }

/* Makes v, which is pinned and not in memory, and before it everything that this needs. */
static sn_status make_again(evicter *e, uint32_t v) {
  SN_TRY(begin_making(e, v));
  while (e->n_making && !went_too_far(e)) {
    making *top = &e->stack[e->n_making - 1];
    const uint32_t x = source_of(e, top->value, top->source);
    if (x == SN_NONE) {
      e->n_making--;
      SN_TRY(end_making(e, e->stack[e->n_making].value));
    } else if (is_temp(e, x) && !e->is_there[x]) {
      SN_TRY(begin_making(e, x));
    } else {
      top->source++;
    }
  }
  return SN_OK;
}

static sn_status make_all(evicter *e, const uint32_t *reads, size_t n) {
  e->is_making = true;
  for (size_t i = 0; i < n; i++)
    if (is_temp(e, reads[i]) && !e->is_there[reads[i]]) SN_TRY(make_again(e, reads[i]));
  drop_idle(e, 0);
  e->n_idle = 0;
  e->is_making = false;
  return SN_OK;
}

static sn_status take_turn(evicter *e, uint32_t g) {
  size_t n, n_reads;
  const uint32_t *values = values_of(e, g, &n), *reads = reads_of(e, g, &n_reads);
  e->now = g;
  pin(e, reads, n_reads);
  SN_TRY(make_all(e, reads, n_reads));
  if (went_too_far(e)) return SN_OK;
  SN_TRY(run(e, g, SN_NONE));
  for (size_t i = 0; i < n_reads; i++) e->next[reads[i]]++;
  e->now = g + 1; /* from now on the values it wrote may leave */
  SN_TRY(unpin(e, reads, n_reads));
  for (size_t i = 0; i < e->t->n_writes[g]; i++) SN_TRY(let_go(e, values[i]));
  return SN_OK;
}

/* Drops turns whose results nobody reads: a value may leave before its first use and be made again for it. If
 * the dropped turn was a group's first, a later one becomes the first, with is_repeat = false. */
static sn_status drop_turns(evicter *e) {
  sn_order *o = e->order;
  uint8_t *is_needed, *has_run;
  size_t n, kept = 0;
  SN_TRY(sn_arena_alloc(e->arena, o->n_buffers, 1, (void **)&is_needed));
  SN_TRY(sn_arena_alloc(e->arena, e->t->groups->n_groups, 1, (void **)&has_run));
  for (size_t v = 0; v < e->t->groups->n_values; v++)
    is_needed[v] = e->t->groups->values[v].kind == SN_VALUE_OUTPUT;
  for (size_t i = o->n_turns; i-- > 0;) {
    sn_turn *turn = &o->turns[i];
    const uint32_t *buffers = o->values + turn->first, n_writes = e->t->n_writes[turn->group];
    bool needed = false;
    values_of(e, turn->group, &n);
    for (size_t k = 0; k < n_writes; k++) needed = needed || is_needed[buffers[k]];
    for (size_t k = n_writes; k < n && needed; k++) is_needed[buffers[k]] = 1;
    if (!needed) turn->group = SN_NONE;
  }
  for (size_t i = 0; i < o->n_turns; i++) {
    sn_turn turn = o->turns[i];
    if (turn.group == SN_NONE) continue;
    turn.is_repeat = has_run[turn.group];
    has_run[turn.group] = 1;
    o->turns[kept++] = turn;
  }
  o->n_turns = kept;
  return SN_OK;
}

sn_status sn_order_within_limit(sn_arena *arena, const sn_touched *t, size_t limit, bool *found,
                                sn_order *out) {
  const size_t n = t->groups->n_values;
  evicter e = {.t = t, .arena = arena, .limit = limit, .order = out};
  e.victims = (sn_victims){.arena = arena, .price = price_now, .user = &e};
  *out = (sn_order){.n_buffers = n};
  SN_TRY(sn_arena_alloc(arena, n, 1, (void **)&e.is_there));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *e.pins, (void **)&e.pins));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *e.next, (void **)&e.next));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *e.buffer, (void **)&e.buffer));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *e.seen, (void **)&e.seen));
  SN_TRY(sn_arena_alloc(arena, MOST_ANCESTORS, sizeof *e.ancestors, (void **)&e.ancestors));
  SN_TRY(sn_arena_reserve(arena, (void **)&out->value_of, &e.buffers_capacity, 0, n,
                          sizeof *out->value_of));
  for (uint32_t v = 0; v < n; v++) {
    e.buffer[v] = out->value_of[v] = v;
    e.next[v] = t->readers.first[v];
  }
  e.most_turns = MOST_TURNS * t->groups->n_groups;
  for (uint32_t g = 0; g < t->groups->n_groups && !went_too_far(&e); g++) SN_TRY(take_turn(&e, g));
  *found = !went_too_far(&e);
  return *found ? drop_turns(&e) : SN_OK;
}
