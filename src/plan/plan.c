#include "plan/plan.h"

#include "base/size.h"
#include "base/text.h"
#include "fuse/fuse.h"
#include "fuse/in_place.h"
#include "plan/blocks.h"

/* ---- lives ----------------------------------------------------------------------------------- */

static void find_lives(const sn_groups *groups, sn_value_set *set, sn_plan *plan) {
  for (uint32_t i = 0; i < groups->n_groups; i++) {
    sn_group_buffers(&groups->groups[i], 1, set);
    for (size_t k = 0; k < set->n; k++) {
      sn_place *place = &plan->places[set->ids[k]];
      if (place->first == SN_NONE) place->first = i;
      place->last = i;
    }
  }
}

/* ---- placing --------------------------------------------------------------------------------- */

typedef struct placer {
  const sn_groups *groups;
  sn_plan *plan;
  const bool *donate;
  size_t n_arguments, n_carries;
  uint8_t *taken;           /* per value: another value has taken its memory, or it is returned */
  uint32_t *argument_value; /* per argument: its value, or SN_NONE */
  uint32_t *carry_of;       /* per value of a body: the carry whose next value it is, or SN_NONE */
  sn_blocks blocks;
  sn_value_set set;
} placer;

/* Compares exact bytes, not rounded ones as in places: a caller's buffer ends with its elements. */
static bool same_size(const sn_groups *groups, uint32_t u, uint32_t v) {
  return sn_type_bytes(&groups->values[u].type) == sn_type_bytes(&groups->values[v].type);
}

static bool can_donate(const placer *p, uint32_t argument) {
  return p->donate && p->donate[argument];
}

/* Whether the next value v of carry k, written by group i, may overwrite this round's in place. */
static bool stays(const placer *p, uint32_t k, uint32_t v, uint32_t i) {
  const uint32_t u = p->argument_value[k];
  if (u == SN_NONE || p->plan->places[u].first == SN_NONE) return true;
  const uint32_t last = p->plan->places[u].last;
  return last < i || (last == i && sn_takes_over_in_step(&p->groups->groups[i], v, u));
}

/* The argument whose memory output v, written by group i, may take: one that group i can overwrite in
 * place, or else one that is dead by then. SN_NONE if there is none. */
static uint32_t find_donor(const placer *p, uint32_t v, uint32_t i) {
  const uint32_t carry = p->carry_of[v];
  uint32_t dead = SN_NONE;
  if (carry != SN_NONE) return stays(p, carry, v, i) ? carry : SN_NONE;
  for (uint32_t a = 0; a < p->n_arguments; a++) {
    const uint32_t u = p->argument_value[a];
    if (!can_donate(p, a) || u == SN_NONE || p->taken[u]) continue;
    const sn_place *donor = &p->plan->places[u];
    if (!same_size(p->groups, u, v)) continue;
    if (p->groups->values[u].type.dtype != p->groups->values[v].type.dtype) continue;
    if (donor->first == SN_NONE) continue;
    if (donor->last == i && sn_takes_over_in_step(&p->groups->groups[i], v, u)) return a;
    if (donor->last < i && dead == SN_NONE) dead = a;
  }
  return dead;
}

static void place_output(placer *p, uint32_t v, uint32_t i) {
  sn_place *place = &p->plan->places[v];
  const uint32_t a = find_donor(p, v, i);
  if (a == SN_NONE) {
    place->kind = SN_PLACE_OUTPUT;
    place->index = p->plan->n_fresh++;
    return;
  }
  if (p->argument_value[a] != SN_NONE) p->taken[p->argument_value[a]] = 1;
  place->kind = SN_PLACE_DONATED;
  place->index = a;
}

static sn_status place_temp(placer *p, uint32_t v, const sn_group *g, const uint32_t *dying,
                            size_t n_dying) {
  sn_place *place = &p->plan->places[v];
  place->kind = SN_PLACE_ARENA;
  for (size_t k = 0; k < n_dying; k++) {
    const uint32_t u = dying[k];
    const sn_place *old = &p->plan->places[u];
    if (p->taken[u] || old->kind != SN_PLACE_ARENA || old->first == old->last ||
        old->bytes != place->bytes || !sn_takes_over_in_step(g, v, u))
      continue;
    p->taken[u] = 1;
    place->offset = old->offset;
    return SN_OK;
  }
  return sn_blocks_take(&p->blocks, place->bytes, &place->offset);
}

static sn_status place_group(placer *p, uint32_t i, const uint32_t *dying, size_t n_dying) {
  const sn_group *g = &p->groups->groups[i];
  sn_group_writes(g, &p->set);
  for (size_t k = 0; k < p->set.n; k++) {
    const uint32_t v = p->set.ids[k];
    if (p->plan->places[v].kind != SN_PLACE_NONE) continue; /* an earlier group wrote part of it */
    if (p->groups->values[v].kind == SN_VALUE_OUTPUT)
      place_output(p, v, i);
    else
      SN_TRY(place_temp(p, v, g, dying, n_dying));
  }
  for (size_t k = 0; k < n_dying; k++) {
    const sn_place *place = &p->plan->places[dying[k]];
    if (place->kind == SN_PLACE_ARENA && !p->taken[dying[k]])
      SN_TRY(sn_blocks_give(&p->blocks, place->offset, place->bytes));
  }
  return SN_OK;
}

/* Lists the values by the last group of their live range: dying[first[i] .. first[i + 1]) for group i. */
static sn_status list_dying(sn_arena *arena, const sn_groups *groups, const sn_plan *plan,
                            uint32_t **dying, uint32_t **first) {
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof **dying, (void **)dying));
  SN_TRY(sn_arena_alloc(arena, groups->n_groups + 2, sizeof **first, (void **)first));
  uint32_t *end = *first + 1;
  for (int fill = 0; fill < 2; fill++) {
    for (uint32_t v = 0; v < groups->n_values; v++) {
      if (plan->places[v].first == SN_NONE) continue;
      const uint32_t last = plan->places[v].last;
      if (fill)
        (*dying)[end[last]++] = v;
      else
        end[last + 1]++;
    }
    for (size_t i = 0; !fill && i < groups->n_groups; i++) end[i + 1] += end[i];
  }
  return SN_OK;
}

/* The bytes that a library would need that runs op by op and keeps everything: the sum of all computed
 * values that are not returned. */
static sn_status count_naive(sn_arena *arena, const sn_graph *g, uint64_t *bytes) {
  uint8_t *returned;
  SN_TRY(sn_arena_alloc(arena, g->n_nodes, 1, (void **)&returned));
  for (size_t i = 0; i < g->n_outputs; i++) {
    const sn_id id = g->outputs[i];
    const bool is_view = sn_op_describe(g->nodes[id].op)->kind == SN_CLASS_VIEW;
    returned[is_view ? *sn_graph_inputs(g, id) : id] = 1;
  }
  for (sn_id id = 0; id < g->n_nodes; id++) {
    const sn_op_class kind = sn_op_describe(g->nodes[id].op)->kind;
    if (returned[id] || kind == SN_CLASS_LEAF || kind == SN_CLASS_VIEW) continue;
    /* not checked: the number is only reported, and may exceed any memory */
    *bytes += sn_type_bytes(&g->nodes[id].type);
  }
  return SN_OK;
}

static sn_status place_arguments(placer *p, sn_arena *arena) {
  SN_TRY(sn_arena_alloc(arena, p->n_arguments, sizeof *p->argument_value,
                        (void **)&p->argument_value));
  for (size_t a = 0; a < p->n_arguments; a++) p->argument_value[a] = SN_NONE;
  for (uint32_t v = 0; v < p->groups->n_values; v++) {
    const sn_value *value = &p->groups->values[v];
    if (value->kind != SN_VALUE_ARGUMENT) continue;
    p->plan->places[v].kind = SN_PLACE_ARGUMENT;
    p->plan->places[v].index = value->argument;
    p->argument_value[value->argument] = v;
  }
  /* an argument that is returned must not be overwritten */
  for (size_t i = 0; i < p->groups->n_outputs; i++) {
    const uint32_t v = p->groups->outputs[i];
    if (p->groups->values[v].kind == SN_VALUE_ARGUMENT) p->taken[v] = 1;
  }
  return SN_OK;
}

static sn_status find_carries(placer *p, sn_arena *arena) {
  const sn_groups *groups = p->groups;
  SN_TRY(sn_arena_alloc(arena, groups->n_values, sizeof *p->carry_of, (void **)&p->carry_of));
  for (size_t v = 0; v < groups->n_values; v++) p->carry_of[v] = SN_NONE;
  for (uint32_t k = 0; k < p->n_carries; k++) p->carry_of[groups->outputs[k]] = k;
  return SN_OK;
}

static sn_status plan_in(sn_arena *arena, placer *p) {
  const sn_groups *groups = p->groups;
  sn_plan *plan = p->plan;
  for (size_t v = 0; v < groups->n_values; v++) {
    sn_place *place = &plan->places[v];
    place->first = place->last = SN_NONE;
    SN_CHECK(arena->env, sn_size_round_up(sn_type_bytes(&groups->values[v].type),
                                          groups->target->limits.alignment, &place->bytes));
  }
  SN_TRY(count_naive(arena, groups->graph, &plan->naive_bytes));
  SN_TRY(sn_value_set_init(&p->set, arena, groups));
  find_lives(groups, &p->set, plan);
  SN_TRY(sn_arena_alloc(arena, groups->n_values, 1, (void **)&p->taken));
  SN_TRY(place_arguments(p, arena));
  SN_TRY(find_carries(p, arena));
  uint32_t *dying, *first;
  SN_TRY(list_dying(arena, groups, plan, &dying, &first));
  p->blocks = (sn_blocks){.arena = arena};
  for (uint32_t i = 0; i < groups->n_groups; i++)
    SN_TRY(place_group(p, i, dying + first[i], first[i + 1] - first[i]));
  plan->arena_bytes = p->blocks.end;
  return SN_OK;
}

static sn_status make_plan(sn_arena *arena, placer *p) {
  sn_plan *plan = p->plan;
  *plan = (sn_plan){.n_values = p->groups->n_values};
  SN_TRY(sn_arena_alloc(arena, plan->n_values, sizeof *plan->places, (void **)&plan->places));
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = plan_in(&scratch, p);
  sn_arena_free(&scratch);
  return status;
}

sn_status sn_plan_memory(sn_arena *arena, const sn_groups *groups, const bool *donate,
                         size_t n_arguments, sn_plan *out) {
  placer p = {.groups = groups, .plan = out, .donate = donate, .n_arguments = n_arguments};
  return make_plan(arena, &p);
}

sn_status sn_plan_body(sn_arena *arena, const sn_groups *groups, size_t n_arguments,
                       size_t n_carries, sn_plan *out) {
  placer p = {.groups = groups, .plan = out, .n_arguments = n_arguments, .n_carries = n_carries};
  return make_plan(arena, &p);
}

/* ---- checking and printing ------------------------------------------------------------------- */

static bool same_memory(const sn_place *a, const sn_place *b) {
  if (!a->bytes || !b->bytes) return false;
  if (a->kind == SN_PLACE_ARENA && b->kind == SN_PLACE_ARENA)
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
  const bool ka = a->kind == SN_PLACE_ARGUMENT || a->kind == SN_PLACE_DONATED;
  const bool kb = b->kind == SN_PLACE_ARGUMENT || b->kind == SN_PLACE_DONATED;
  if (ka && kb) return a->index == b->index;
  return a->kind == SN_PLACE_OUTPUT && b->kind == SN_PLACE_OUTPUT && a->index == b->index;
}

bool sn_plan_takes_over(const sn_plan *plan, uint32_t v) {
  const sn_place *to = &plan->places[v];
  for (uint32_t u = 0; u < plan->n_values; u++) {
    const sn_place *from = &plan->places[u];
    const bool is_there = from->kind == SN_PLACE_ARGUMENT || from->first < to->first;
    if (u != v && from->first != SN_NONE && is_there && from->last >= to->first &&
        same_memory(from, to))
      return true;
  }
  return false;
}

/* Whether v takes over the memory of u in the group that writes v and reads u last. */
static bool taken_over(const sn_groups *groups, const sn_plan *plan, uint32_t u, uint32_t v) {
  const sn_place *from = &plan->places[u], *to = &plan->places[v];
  if (to->kind == SN_PLACE_DONATED && !same_size(groups, u, v)) return false;
  if (from->last > to->first) return false;
  if (from->last < to->first) return true;
  if (from->kind != SN_PLACE_ARGUMENT && from->first == to->first)
    return false; /* the group writes both */
  return sn_takes_over_in_step(&groups->groups[to->first], v, u);
}

bool sn_plan_is_sound(const sn_groups *groups, const sn_plan *plan) {
  for (uint32_t u = 0; u < plan->n_values; u++) {
    for (uint32_t v = u + 1; v < plan->n_values; v++) {
      const sn_place *a = &plan->places[u], *b = &plan->places[v];
      if (a->first == SN_NONE || b->first == SN_NONE || !same_memory(a, b)) continue;
      const bool u_first =
          a->kind == SN_PLACE_ARGUMENT || (b->kind != SN_PLACE_ARGUMENT && a->first <= b->first);
      if (!taken_over(groups, plan, u_first ? u : v, u_first ? v : u)) return false;
    }
  }
  return true;
}

sn_status sn_plan_text(const sn_groups *groups, const sn_plan *plan, sn_arena *arena,
                       const char **out) {
  static const char *const kinds[] = {"unused", "argument", "donated argument", "output", "arena"};
  sn_text t = sn_text_in(arena);
  for (uint32_t v = 0; v < plan->n_values; v++) {
    const sn_place *place = &plan->places[v];
    char shape[SN_SHAPE_TEXT];
    sn_text_add(&t, "b%u = %%%u %s%s %s", v, groups->values[v].node,
                sn_dtype_name(groups->values[v].type.dtype),
                sn_shape_text(&groups->values[v].type, shape), kinds[place->kind]);
    if (place->kind == SN_PLACE_ARENA)
      sn_text_add(&t, " at %zu", place->offset);
    else if (place->kind != SN_PLACE_NONE)
      sn_text_add(&t, " %u", place->index);
    if (place->first != SN_NONE) sn_text_add(&t, ", k%u..k%u", place->first, place->last);
    sn_text_add(&t, "\n");
  }
  sn_text_add(&t, "arena %zu bytes, op by op %llu\n", plan->arena_bytes,
              (unsigned long long)plan->naive_bytes);
  *out = t.data;
  return t.status;
}
