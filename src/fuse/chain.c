/* chain.c - which groups go together through blocks of rows.
 *
 * From a contraction on, or a map or row group that makes much, the next few groups are looked at
 * in order: one that reads what a member wrote joins if it has the members' outer dims and reads it
 * in step, at the same outer index; else it, and all that needs it, comes after the chain. A
 * contraction that needs no member joins with its first reader; a reduction of rows becomes a row
 * group. Values that only members read stay in the workers' own memory. A chain is made where these
 * are many bytes, also compared with what its contractions read again for every block. */
#include "fuse/chain.h"

#include <string.h>

#include "base/text.h"
#include "fuse/chain_fit.h"
#include "fuse/fuse.h"
#include "fuse/group_visit.h"
#include "fuse/in_place.h"
#include "fuse/row.h"

/* How many groups are looked at from the first member on: bounds the compiler's work. */
enum { REACH = 64 };

typedef struct finder {
  sn_groups *groups;
  sn_arena *arena, *scratch;
  sn_chain_fit fit;             /* the chain being looked for */
  uint32_t *n_reads, *n_writes; /* per value: operands of all groups that read and write it */
  uint8_t *state;               /* per value: sn_chain_state */
  uint32_t *writer;             /* per value in state SN_CHAIN_BESIDE: the place of its group */
  bool *is_local;               /* per value: whether it is local to the chain being made */
  sn_value_set set;             /* of the groups being looked at */
  uint8_t *mask_facts;          /* per node: sn_mask_facts */
  uint32_t *id, *chained_to;    /* id: per place, the group's original number. chained_to: per
                                 * original number, that of the group that it is a part of now */
  /* the chain being looked for */
  size_t members[SN_CHAIN_MEMBERS], first;
  uint32_t n_members;
} finder;

/* ---- what a group touches -------------------------------------------------------------------- */

typedef sn_status value_fn(finder *f, uint32_t value, bool write, void *user);

typedef struct value_visit {
  finder *f;
  value_fn *fn;
  void *user;
} value_visit;

static sn_status visit_value(void *user, const sn_touch *touch) {
  const value_visit *v = user;
  const uint32_t value = touch->operand->value;
  return value == SN_NONE ? SN_OK : v->fn(v->f, value, sn_touch_writes(touch), v->user);
}

static sn_status each_value(finder *f, const sn_group *g, value_fn *fn, void *user) {
  value_visit v = {f, fn, user};
  return sn_group_visit(g, visit_value, &v);
}

static sn_status count_use(finder *f, uint32_t value, bool write, void *user) {
  (void)user;
  (write ? f->n_writes : f->n_reads)[value]++;
  return SN_OK;
}

static sn_status note_reads(finder *f, uint32_t value, bool write, void *user) {
  bool *reads = user; /* per state */
  if (!write) reads[f->state[value]] = true;
  return SN_OK;
}

static sn_status mark_writes(finder *f, uint32_t value, bool write, void *user) {
  if (write) f->state[value] = *(uint8_t *)user;
  return SN_OK;
}

/* ---- members --------------------------------------------------------------------------------- */

static sn_group *member(const finder *f, uint32_t m) { return &f->groups->groups[f->members[m]]; }

static sn_status begin_chain(finder *f, size_t first) {
  const sn_group *g = &f->groups->groups[first];
  f->first = first;
  f->n_members = 0;
  f->fit.outer = g->space_rank - (g->kind != SN_GROUP_ROW);
  memcpy(f->fit.dims, g->space, sizeof f->fit.dims);
  f->fit.columns = g->kind == SN_GROUP_CONTRACTION ? g->space[f->fit.outer] : 0;
  f->fit.results = 0;
  return SN_OK;
}

static sn_status join(finder *f, size_t at) {
  const sn_group *g = &f->groups->groups[at];
  const bool consumes_scores = sn_chain_consumes_scores(&f->fit, g);
  uint8_t state = consumes_scores ? SN_CHAIN_LATE : SN_CHAIN_INSIDE;
  uint32_t m = f->n_members++;
  for (; m && f->members[m - 1] > at; m--) f->members[m] = f->members[m - 1];
  f->members[m] = at;
  if (consumes_scores) f->fit.results += g->space[f->fit.outer];
  return each_value(f, g, mark_writes, &state);
}

/* Groups beside the chain that write what a group reads. */
typedef struct beside {
  uint32_t places[REACH], n;
} beside;

static sn_status list_beside(finder *f, uint32_t value, bool write, void *user) {
  beside *b = user;
  if (write || f->state[value] != SN_CHAIN_BESIDE) return SN_OK;
  for (uint32_t i = 0; i < b->n; i++)
    if (b->places[i] == f->writer[value]) return SN_OK;
  b->places[b->n++] = f->writer[value];
  return SN_OK;
}

static sn_status note_writer(finder *f, uint32_t value, bool write, void *user) {
  if (!write) return SN_OK;
  f->writer[value] = *(uint32_t *)user;
  f->state[value] = SN_CHAIN_BESIDE;
  return SN_OK;
}

/* Decides whether the group at this place joins the chain, comes after it, stands beside it, or has
 * nothing to do with it. Groups beside the chain whose results it reads join with it, or not at all. */
static sn_status look_at(finder *f, size_t at) {
  sn_group *g = &f->groups->groups[at];
  bool reads[SN_CHAIN_STATES] = {false};
  uint8_t late = SN_CHAIN_LATE, outside = SN_CHAIN_OUTSIDE;
  uint32_t place = (uint32_t)at;
  beside b = {.n = 0};
  SN_TRY(each_value(f, g, note_reads, reads));
  SN_TRY(each_value(f, g, list_beside, &b));
  const bool suits = f->n_members + b.n < SN_CHAIN_MEMBERS && sn_chain_fits(&f->fit, g);
  const bool joins = (at == f->first || reads[SN_CHAIN_INSIDE]) && !reads[SN_CHAIN_LATE] && suits;
  for (uint32_t i = 0; i < b.n; i++)
    SN_TRY(joins ? join(f, b.places[i])
                 : each_value(f, &f->groups->groups[b.places[i]], mark_writes, &outside));
  if (joins) return join(f, at);
  if (reads[SN_CHAIN_INSIDE] || reads[SN_CHAIN_LATE]) return each_value(f, g, mark_writes, &late);
  return suits && g->kind == SN_GROUP_CONTRACTION ? each_value(f, g, note_writer, &place) : SN_OK;
}

static sn_status forget(finder *f, size_t end) {
  uint8_t state = SN_CHAIN_OUTSIDE;
  for (size_t i = f->first; i < end; i++)
    SN_TRY(each_value(f, &f->groups->groups[i], mark_writes, &state));
  return SN_OK;
}

/* ---- worth ----------------------------------------------------------------------------------- */

typedef struct local {
  uint32_t value;
  uint32_t writer, last; /* members: the one that writes it, and its last reader */
  uint32_t reads;        /* by members */
  uint32_t slot;         /* place in the list of the first value with the same memory */
  int64_t row_bytes;
} local;

typedef struct worth {
  local locals[SN_CHAIN_MEMBERS * 4];
  uint32_t n, member; /* the one being looked at */
  int64_t row_bytes;  /* of a row of all local values */
  int64_t slot_bytes; /* of a row of all slots, the memory that they need */
  int64_t n_slots;
} worth;

static sn_status list_writes(finder *f, uint32_t value, bool write, void *user) {
  worth *w = user;
  (void)f;
  if (write && w->n < sizeof w->locals / sizeof *w->locals)
    w->locals[w->n++] = (local){.value = value, .writer = w->member};
  return SN_OK;
}

static sn_status count_reads(finder *f, uint32_t value, bool write, void *user) {
  worth *w = user;
  (void)f;
  for (uint32_t i = 0; i < w->n && !write; i++) {
    if (w->locals[i].value != value) continue;
    w->locals[i].reads++;
    w->locals[i].last = w->member;
  }
  return SN_OK;
}

/* Gives the memory of a value that is dead, or that its last reader may overwrite, to the next value
 * of the same size. */
static void choose_slots(finder *f, worth *w) {
  for (uint32_t i = 0; i < w->n; i++) {
    local *v = &w->locals[i], *last[SN_CHAIN_MEMBERS * 4]; /* per slot: the latest value in it */
    v->slot = i;
    for (uint32_t u = 0; u < i; u++) last[w->locals[u].slot] = &w->locals[u];
    for (uint32_t u = 0; u < i && v->slot == i; u++) {
      const local *old = last[w->locals[u].slot];
      const bool free = old->last < v->writer ||
                        (old->last == v->writer &&
                         sn_takes_over_in_step(member(f, v->writer), v->value, old->value));
      if (old->row_bytes == v->row_bytes && free) v->slot = old->slot;
    }
    if (v->slot != i) continue;
    w->slot_bytes += v->row_bytes;
    w->n_slots++;
  }
}

/* Lists in w->locals the values that the first n members write and that only they read. */
static sn_status find_local(finder *f, uint32_t n, worth *w) {
  *w = (worth){.n = 0};
  for (w->member = 0; w->member < n; w->member++)
    SN_TRY(each_value(f, member(f, w->member), list_writes, w));
  for (w->member = 0; w->member < n; w->member++)
    SN_TRY(each_value(f, member(f, w->member), count_reads, w));
  uint32_t kept = 0;
  for (uint32_t i = 0; i < w->n; i++) {
    local *v = &w->locals[i];
    const sn_value *value = &f->groups->values[v->value];
    if (value->kind != SN_VALUE_TEMP || v->reads != f->n_reads[v->value]) continue;
    v->row_bytes =
        sn_chain_row_elements(&f->fit, v->value) * (int64_t)sn_dtype_bytes(value->type.dtype);
    w->row_bytes += v->row_bytes;
    w->locals[kept++] = *v;
  }
  w->n = kept;
  choose_slots(f, w);
  return SN_OK;
}

static bool is_worth(const finder *f, uint32_t n, const worth *w) {
  const sn_target *target = f->groups->target;
  const int64_t points = sn_chain_outer_points(&f->fit), rows = f->fit.dims[f->fit.outer - 1];
  const int64_t batch = points / rows, tile = target->limits.tile_rows;
  if ((size_t)(w->row_bytes * points) < target->costs.chain_bytes) return false;
  const int64_t block =
      tile ? tile : sn_target_block_rows(target, batch, rows, w->slot_bytes, w->n_slots);
  if (!block) return false;
  const int64_t blocks = batch * ((rows + block - 1) / block);
  if (blocks < target->costs.least_tasks) return false;
  double again = 0; /* bytes that contractions read again for every block */
  for (uint32_t m = 0; m < n; m++) {
    const sn_group *g = member(f, m);
    if (g->kind == SN_GROUP_CONTRACTION)
      again += (double)g->contraction.k * (double)g->space[f->fit.outer] *
               (double)sn_dtype_bytes(g->contraction.total_dtype);
  }
  again *= (double)blocks;
  return again <= 8.0 * (double)w->row_bytes * (double)points;
}

/* ---- the group of a chain -------------------------------------------------------------------- */

/* Lists what the members read and write that is not local to the chain. */
static sn_status list_outside(finder *f, const sn_chain *c, sn_group *g) {
  sn_value_set *set = &f->set;
  const size_t n_writes = sn_group_buffers(c->members, c->n_members, set);
  SN_TRY(sn_arena_alloc(f->arena, set->n, sizeof *g->stores, (void **)&g->stores));
  SN_TRY(sn_arena_alloc(f->arena, set->n, sizeof *g->post.operands, (void **)&g->post.operands));
  for (size_t i = 0; i < set->n; i++) {
    const uint32_t v = set->ids[i];
    const sn_operand operand = {.value = v, .dtype = f->groups->values[v].type.dtype};
    if (f->is_local[v]) continue;
    if (i < n_writes)
      g->stores[g->n_stores++] = (sn_store){.target = operand};
    else
      g->post.operands[g->post.n_operands++] = operand;
  }
  return SN_OK;
}

static sn_status describe(finder *f, sn_group *g, sn_chain *c) {
  sn_text name = sn_text_in(f->arena);
  const double share = sn_chain_unmasked_share(c);
  *g = (sn_group){.kind = SN_GROUP_CHAIN, .space_rank = f->fit.outer, .chain = c};
  memcpy(g->space, f->fit.dims, (size_t)f->fit.outer * sizeof *g->space);
  for (uint32_t m = 0; m < c->n_members; m++) {
    sn_text_add(&name, m ? ", %s" : "%s", c->members[m].name);
    g->flops += c->members[m].flops * (c->members[m].limited ? share : 1);
    g->bytes += c->members[m].bytes;
  }
  g->name = name.data;
  SN_TRY(list_outside(f, c, g));
  return name.status;
}

static sn_status make_chain(finder *f, const worth *w, sn_group *out) {
  sn_chain *c;
  SN_TRY(sn_arena_alloc(f->arena, 1, sizeof *c, (void **)&c));
  SN_TRY(sn_arena_alloc(f->arena, f->n_members, sizeof *c->members, (void **)&c->members));
  SN_TRY(sn_arena_alloc(f->arena, w->n, sizeof *c->locals, (void **)&c->locals));
  for (uint32_t m = 0; m < f->n_members; m++) {
    c->members[m] = *member(f, m);
    if (c->members[m].kind == SN_GROUP_REDUCE) c->members[m].kind = SN_GROUP_ROW;
  }
  c->n_members = f->n_members;
  c->rows = f->fit.dims[f->fit.outer - 1];
  c->batch = sn_chain_outer_points(&f->fit) / c->rows;
  c->n_locals = w->n;
  for (uint32_t i = 0; i < w->n; i++) {
    const local *v = &w->locals[i];
    c->locals[i] = (sn_chain_local){v->value, v->slot, v->row_bytes};
    f->is_local[v->value] = true;
  }
  sn_chain_limit(c, f->fit.outer, f->mask_facts, f->groups->values, f->is_local);
  SN_TRY(describe(f, out, c));
  for (uint32_t i = 0; i < w->n; i++) {
    const local *v = &w->locals[i];
    out->bytes -= (double)(v->reads + 1) * (double)(v->row_bytes * c->rows * c->batch);
    f->is_local[v->value] = false;
  }
  return SN_OK;
}

int64_t sn_chain_block(const sn_target *target, const sn_chain *c) {
  int64_t row_bytes = 0, n_slots = 0;
  for (uint32_t i = 0; i < c->n_locals; i++) {
    if (c->locals[i].slot != i) continue;
    row_bytes += c->locals[i].row_bytes;
    n_slots++;
  }
  return sn_target_block_rows(target, c->batch, c->rows, row_bytes, n_slots);
}

/* ---- putting it into its place --------------------------------------------------------------- */

static bool is_member(const finder *f, size_t at) {
  for (uint32_t m = 0; m < f->n_members; m++)
    if (f->members[m] == at) return true;
  return false;
}

static bool is_hole(const sn_group *g) { return g->kind == SN_GROUP_KIND_COUNT; }

/* Puts, in place of all groups from the first to the last member: holes, the groups that do not need
 * the chain, the chain, the groups that need it. */
static sn_status replace(finder *f, const sn_group *chain) {
  const size_t n = f->members[f->n_members - 1] + 1 - f->first;
  sn_group *list = f->groups->groups + f->first, *sorted;
  uint32_t *id = f->id + f->first, ids[REACH];
  const uint32_t chain_id = id[0];
  size_t at = 0;
  SN_TRY(sn_arena_alloc(f->scratch, n, sizeof *sorted, (void **)&sorted));
  for (size_t i = 0; i < n; i++) {
    if (!is_member(f, f->first + i)) continue;
    f->chained_to[id[i]] = chain_id;
    if (i) sorted[at++] = (sn_group){.kind = SN_GROUP_KIND_COUNT};
  }
  for (int late = 0; late < 2; late++) {
    for (size_t i = 0; i < n; i++) {
      bool reads[SN_CHAIN_STATES] = {false};
      if (is_member(f, f->first + i)) continue;
      SN_TRY(each_value(f, &list[i], note_reads, reads));
      if ((reads[SN_CHAIN_INSIDE] || reads[SN_CHAIN_LATE]) != late) continue;
      ids[at] = id[i];
      sorted[at++] = list[i];
    }
    if (late) continue;
    ids[at] = chain_id;
    sorted[at++] = *chain;
  }
  memcpy(list, sorted, n * sizeof *list);
  memcpy(id + f->n_members - 1, ids + f->n_members - 1, (n - f->n_members + 1) * sizeof *id);
  return SN_OK;
}

/* Shortens the list of members to the longest one that pays, and in which the last member makes one
 * more value local. */
static sn_status choose_members(finder *f, worth *w) {
  for (; f->n_members > 1; f->n_members--) {
    worth fewer;
    SN_TRY(find_local(f, f->n_members - 1, &fewer));
    SN_TRY(find_local(f, f->n_members, w));
    if (w->row_bytes > fewer.row_bytes && is_worth(f, f->n_members, w)) break;
  }
  return SN_OK;
}

/* Whether a chain may begin with the group: a product whose rows are longer than k, or a map or row
 * group over many points. */
static bool may_begin(const finder *f, const sn_group *g) {
  const int64_t points = sn_group_points(g) * sn_group_reduced_points(g);
  if (f->fit.outer < 1 || f->fit.dims[f->fit.outer - 1] < 2) return false;
  if (g->kind == SN_GROUP_CONTRACTION) return points && g->contraction.k < g->space[f->fit.outer];
  return (g->kind == SN_GROUP_MAP || g->kind == SN_GROUP_ROW) &&
         points >= f->groups->target->costs.chain_points;
}

static sn_status find_chain(finder *f, size_t at, bool *found) {
  sn_groups *groups = f->groups;
  const sn_group *g = &groups->groups[at];
  const size_t end = at + REACH < groups->n_groups ? at + REACH : groups->n_groups;
  worth w;
  SN_TRY(begin_chain(f, at));
  if (!may_begin(f, g)) return SN_OK;
  for (size_t i = at; i < end; i++)
    if (!is_hole(&groups->groups[i])) SN_TRY(look_at(f, i));
  SN_TRY(choose_members(f, &w));
  *found = f->n_members > 1;
  if (*found) {
    sn_group chain;
    SN_TRY(make_chain(f, &w, &chain));
    *found = chain.n_stores + chain.post.n_operands <= groups->target->limits.buffers;
    if (*found) SN_TRY(replace(f, &chain));
  }
  return forget(f, end);
}

/* Moves maps into products as their prologues. The maps leave holes, as members of chains do. */
static sn_status join_maps(finder *f) {
  uint32_t *joins = f->writer; /* which is not needed any more */
  SN_TRY(sn_join_prologues(f->groups, f->arena, f->n_reads, f->n_writes, &f->set, joins));
  for (size_t i = 0; i < f->groups->n_groups; i++) {
    if (joins[i] == SN_NONE) continue;
    f->chained_to[f->id[i]] = f->id[joins[i]];
    f->groups->groups[i].kind = SN_GROUP_KIND_COUNT;
  }
  return SN_OK;
}

static void close_holes(finder *f) {
  sn_groups *groups = f->groups;
  uint32_t *number = f->n_reads; /* per id: its final place. The counts are not needed any more. */
  size_t n = 0;
  for (size_t i = 0; i < groups->n_groups; i++) {
    if (is_hole(&groups->groups[i])) continue;
    number[f->id[i]] = (uint32_t)n;
    groups->groups[n++] = groups->groups[i];
  }
  groups->n_groups = n;
  for (sn_id id = 0; id < groups->graph->n_nodes; id++)
    if (groups->kernel_of[id] != SN_NONE)
      groups->kernel_of[id] = number[f->chained_to[groups->kernel_of[id]]];
}

sn_status sn_chain_groups(sn_groups *groups, sn_arena *arena, sn_arena *scratch) {
  finder f = {.groups = groups, .arena = arena, .scratch = scratch};
  const size_t n = groups->n_values > groups->n_groups ? groups->n_values : groups->n_groups;
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.n_reads, (void **)&f.n_reads));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.n_writes, (void **)&f.n_writes));
  SN_TRY(sn_arena_alloc(scratch, n, 1, (void **)&f.state));
  SN_TRY(sn_arena_alloc(scratch, groups->graph->n_nodes, 1, (void **)&f.mask_facts));
  sn_chain_find_masks(groups, f.mask_facts);
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.writer, (void **)&f.writer));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.is_local, (void **)&f.is_local));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.id, (void **)&f.id));
  SN_TRY(sn_arena_alloc(scratch, n, sizeof *f.chained_to, (void **)&f.chained_to));
  SN_TRY(sn_value_set_init(&f.set, scratch, groups));
  f.fit = (sn_chain_fit){.groups = groups, .n_writes = f.n_writes, .state = f.state};
  for (size_t i = 0; i < n; i++) f.id[i] = f.chained_to[i] = (uint32_t)i;
  for (size_t i = 0; i < groups->n_groups; i++)
    SN_TRY(each_value(&f, &groups->groups[i], count_use, NULL));
  for (size_t i = 0; i < groups->n_groups;) {
    bool found = false; /* if so, another group stands at place i now */
    SN_TRY(find_chain(&f, i, &found));
    i += !found;
  }
  SN_TRY(join_maps(&f));
  close_holes(&f);
  return SN_OK;
}
