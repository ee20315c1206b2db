#include "jit/walk.h"

#include "jit/access.h"

/* ---- describing ------------------------------------------------------------------------------ */

sn_status sn_walk_begin(sn_walk *k, sn_arena *arena, sn_wasm *w, sn_vec_target target, int rank,
                        const int64_t *dims, sn_walk_bases *bases) {
  *k = (sn_walk){.arena = arena,
                 .w = w,
                 .rank = rank,
                 .bases = bases,
                 .most_copies = SN_WALK_COPIES,
                 .unit = 1};
  if (bases) bases->now++;
  memcpy(k->dims, dims, (size_t)rank * sizeof *dims);
  if (rank == 0) k->dims[k->rank++] = 1;
  sn_vecs_init(&k->lanes, arena, target);
  return SN_OK;
}

static bool same_walk(const sn_walker *a, const sn_walker *b) {
  return a->base.kind == b->base.kind && a->base.number == b->base.number &&
         a->base.follows == b->base.follows && a->base.restarts == b->base.restarts &&
         a->offset == b->offset && a->section == b->section &&
         memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

/* How many of the newest walkers are searched. Scalar programs have thousands of leaves, but on few buffers. */
#define RECENT 64

static uint32_t find_walker(sn_walk *k, const sn_walker *wanted) {
  for (size_t i = k->n_walkers; i-- && i + RECENT >= k->n_walkers;)
    if (same_walk(&k->walkers[i], wanted)) return (uint32_t)i;
  k->status =
      sn_arena_grow(k->arena, (void **)&k->walkers, &k->cap_walkers, k->n_walkers, sizeof *wanted);
  if (k->status) return 0;
  k->walkers[k->n_walkers] = *wanted;
  return (uint32_t)k->n_walkers++;
}

static uint32_t add_leaf(sn_walk *k, const sn_leaf *leaf) {
  if (k->status) return 0;
  k->status =
      sn_arena_grow(k->arena, (void **)&k->leaves, &k->cap_leaves, k->n_leaves, sizeof *leaf);
  if (k->status) return 0;
  k->leaves[k->n_leaves] = *leaf;
  return (uint32_t)k->n_leaves++;
}

uint32_t sn_walk_leaf(sn_walk *k, sn_dtype dtype, sn_walk_base base, int64_t offset,
                      const int64_t *strides) {
  const bool number = base.kind == SN_BASE_NUMBER;
  const int64_t bytes = number ? 1 : (int64_t)sn_dtype_bytes(dtype);
  sn_walker walker = {.base = base, .section = k->lanes.section, .fixed = true};
  bool backward = false;
  for (int i = 0; i < k->rank; i++) {
    const bool goes_on = base.follows && i == k->rank - 1; /* its pointer moves on from run to run, even of one element */
    if (strides[i] == 0 || (k->dims[i] == 1 && !goes_on)) continue;
    walker.strides[i] = (int32_t)(strides[i] * bytes);
    walker.fixed = false;
    backward = backward || strides[i] < 0;
  }
  if (walker.fixed) walker.section = 0;
  if (backward || number) walker.offset = (int32_t)(offset * bytes);
  sn_leaf leaf = {.kind = number ? SN_LEAF_INDEX : SN_LEAF_MEMORY,
                  .dtype = dtype,
                  .offset = backward || number ? 0 : (uint32_t)(offset * bytes),
                  .step = walker.strides[k->rank - 1],
                  .section = walker.section};
  leaf.level = leaf.step ? 2 : walker.fixed ? 0 : 1;
  if (base.level > leaf.level) leaf.level = base.level;
  if (!k->status) leaf.walker = find_walker(k, &walker);
  return add_leaf(k, &leaf);
}

void sn_walk_look_up(sn_walk *k, uint32_t number, uint32_t index, int64_t stride, int64_t length) {
  if (k->status) return;
  sn_leaf *leaf = &k->leaves[number];
  const int level = k->leaves[index].level;
  leaf->lookup = (sn_lookup){.index = index,
                             .length = (int32_t)length,
                             .stride = (int32_t)(stride * (int64_t)sn_dtype_bytes(leaf->dtype))};
  if (level > 0) leaf->section = k->lanes.section;
  if (level > leaf->level) leaf->level = level;
}

uint32_t sn_walk_number(sn_walk *k, uint32_t param) {
  const sn_walker walker = {.base = {.kind = SN_BASE_PARAM, .number = param}, .fixed = true};
  sn_leaf leaf = {.kind = SN_LEAF_INDEX, .dtype = SN_I32};
  if (!k->status) leaf.walker = find_walker(k, &walker);
  return add_leaf(k, &leaf);
}

sn_vec_value sn_walk_read(sn_walk *k, uint32_t leaf) {
  if (k->status) return (sn_vec_value){{0, 0}};
  const sn_leaf *at = &k->leaves[leaf];
  sn_vec_value value = {{sn_vec_input(&k->lanes, at->level, 2 * leaf)}};
  if (at->dtype == SN_F64)
    value.half[1] =
        at->level < 2 ? value.half[0] : sn_vec_input(&k->lanes, at->level, 2 * leaf + 1);
  return value;
}

void sn_walk_write(sn_walk *k, uint32_t leaf, const sn_vec_value *value) {
  if (k->status || k->lanes.status) return;
  k->status =
      sn_arena_grow(k->arena, (void **)&k->stores, &k->cap_stores, k->n_stores, sizeof *k->stores);
  if (k->status) return;
  k->stores[k->n_stores++] = (sn_walk_store){k->lanes.section, leaf, *value};
  for (int h = 0; h < sn_vec_halves(k->leaves[leaf].dtype); h++)
    sn_vec_root(&k->lanes, value->half[h]);
}

/* ---- lookups --------------------------------------------------------------------------------- */

/* Computes the lookups whose index has this level: those that stay the same during a run (1) at its begin. */
static void find_places(sn_walk *k, uint32_t section, int level) {
  for (size_t i = 0; i < k->n_leaves; i++) {
    sn_leaf *leaf = &k->leaves[i];
    if (!leaf->lookup.length || leaf->section != section) continue;
    if (k->leaves[leaf->lookup.index].level != level) continue;
    sn_access_find_place(k, leaf, 0);
    sn_emit_get(k->w, k->place);
    sn_emit_set(k->w, leaf->lookup.bytes);
  }
}

void sn_walk_enter(sn_walk *k, uint32_t section) {
  find_places(k, section, 1);
  sn_write_pass(&k->writer, section, 1);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static uint32_t base_local(sn_walk *k, const sn_walk_base *base) {
  if (base->kind == SN_BASE_PARAM) return base->number;
  sn_walk_bases *bases = k->bases;
  uint32_t *local = &bases->local[base->number];
  if (bases->walk[base->number] != bases->now) {
    bases->walk[base->number] = bases->now;
    *local = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
    sn_emit_get(k->w, k->values);
    sn_emit_memory(k->w, SN_WASM_i32_load, base->number * 4);
    sn_emit_set(k->w, *local);
  }
  return *local;
}

sn_status sn_walk_start(sn_walk *k) {
  SN_TRY(k->status);
  sn_vecs_count(&k->lanes);
  SN_TRY(sn_writer_begin(&k->writer, k->arena, k->w, &k->lanes, sn_access_load, k));
  for (size_t i = 0; i < k->n_walkers; i++) {
    sn_walker *walker = &k->walkers[i];
    if (walker->base.kind != SN_BASE_NUMBER) walker->pointer = base_local(k, &walker->base);
    if (!walker->fixed) walker->pointer = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
  }
  for (int i = 0; i < k->rank; i++) k->index[i] = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
  k->count = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
  for (size_t i = 0; i < k->n_leaves; i++) {
    if (!k->leaves[i].lookup.length) continue;
    if (!k->place) {
      k->place = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
      k->places = sn_wasm_local(k->w, SN_WASM_TYPE_V128);
    }
    k->leaves[i].lookup.bytes = sn_wasm_local(k->w, SN_WASM_TYPE_I32);
  }
  for (uint32_t s = 0; s <= k->lanes.section; s++) find_places(k, s, 0);
  sn_write_pass(&k->writer, 0, 0);
  return SN_OK;
}

void sn_walk_locate(sn_walk *k, int from, int to, uint32_t flat) {
  int64_t below = 1;
  for (int i = to - 1; i >= from; below *= k->dims[i--]) {
    sn_emit_get(k->w, flat);
    if (below > 1) {
      sn_emit_i32(k->w, (int32_t)below);
      sn_emit(k->w, SN_WASM_i32_div_u);
    }
    if (i > from) {
      sn_emit_i32(k->w, (int32_t)k->dims[i]);
      sn_emit(k->w, SN_WASM_i32_rem_u);
    }
    sn_emit_set(k->w, k->index[i]);
  }
}

static void set_pointer(sn_walk *k, const sn_walker *walker) {
  sn_wasm *w = k->w;
  if (walker->base.kind == SN_BASE_NUMBER) {
    sn_emit_i32(w, walker->offset);
  } else {
    sn_emit_get(w, base_local(k, &walker->base));
    if (walker->offset) {
      sn_emit_i32(w, walker->offset);
      sn_emit(w, SN_WASM_i32_add);
    }
  }
  for (int i = 0; i < k->rank && !walker->base.follows; i++) {
    if (walker->strides[i] == 0) continue;
    sn_emit_get(w, k->index[i]);
    sn_emit_i32(w, walker->strides[i]);
    sn_emit(w, SN_WASM_i32_mul);
    sn_emit(w, SN_WASM_i32_add);
  }
  sn_emit_set(w, walker->pointer);
}

void sn_walk_point(sn_walk *k, uint32_t section) {
  for (size_t i = 0; i < k->n_walkers; i++)
    if (k->walkers[i].section == section && !k->walkers[i].fixed) set_pointer(k, &k->walkers[i]);
}

void sn_walk_reset(sn_walk *k, uint32_t leaf) {
  set_pointer(k, &k->walkers[k->leaves[leaf].walker]);
}

void sn_walk_reserve(sn_walk *k, uint32_t leaf, uint32_t vectors) {
  k->leaves[leaf].registers = sn_wasm_local(k->w, SN_WASM_TYPE_V128);
  while (--vectors) sn_wasm_local(k->w, SN_WASM_TYPE_V128);
}

void sn_walk_spill(const sn_walk *k, uint32_t leaf, uint32_t vectors, uint32_t to, uint32_t bytes) {
  for (uint32_t i = 0; i < vectors; i++) {
    sn_emit_get(k->w, to);
    sn_emit_get(k->w, k->leaves[leaf].registers + i);
    sn_emit_memory(k->w, SN_WASM_v128_store, bytes + 16 * i);
  }
}

/* Lengths are in nodes per vector (sn_walk_length). */
#define LONG_BODY 16
#define PART 16
#define MOST_PARTS 4
/* Most nodes of all copies together, outside of a RARE and inside: engines take long to compile more. Nodes inside may be
 * more, since a loop that seldom gets to them is no slower. */
#define MOST_NODES 800
#define MOST_RARE_NODES 2400
#define RARELY_WRITTEN 100 /* a body of at least this length gets no further copy for single whole vectors */

/* ---- loops ----------------------------------------------------------------------------------- */

/* One copy of the body, at k->shift and k->copy_number. */
static void write_copy(sn_walk *k, uint32_t section, sn_copy copy) {
  k->copy = copy;
  sn_write_pass(&k->writer, section, 2);
  for (size_t i = 0; i < k->n_stores; i++)
    if (k->stores[i].section == section) sn_access_store(k, &k->stores[i]);
}

void sn_walk_copy(sn_walk *k, uint32_t section, sn_copy copy, uint32_t number) {
  k->copy_number = number;
  k->shift = 4 * number;
  write_copy(k, section, copy);
}

void sn_walk_copy_at(sn_walk *k, uint32_t section, uint32_t shift) {
  k->copy_number = 0;
  k->shift = shift;
  write_copy(k, section, SN_COPY_FULL);
}

void sn_walk_advance(sn_walk *k, uint32_t section, int32_t elements) {
  for (size_t i = 0; i < k->n_walkers; i++) {
    const sn_walker *walker = &k->walkers[i];
    const int32_t step = walker->strides[k->rank - 1];
    if (walker->section == section && step) sn_emit_add(k->w, walker->pointer, elements * step);
  }
}

static void advance_by_count(sn_walk *k, uint32_t section) {
  for (size_t i = 0; i < k->n_walkers; i++) {
    const sn_walker *walker = &k->walkers[i];
    const int32_t step = walker->strides[k->rank - 1];
    if (walker->section != section || !step) continue;
    sn_emit_get(k->w, walker->pointer);
    sn_emit_get(k->w, k->count);
    sn_emit_i32(k->w, step);
    sn_emit(k->w, SN_WASM_i32_mul);
    sn_emit(k->w, SN_WASM_i32_add);
    sn_emit_set(k->w, walker->pointer);
  }
}

uint32_t sn_walk_length(const sn_walk *k, uint32_t section, bool rare) {
  uint32_t n = 0;
  for (sn_vec i = 1; i < k->lanes.n_nodes; i++) {
    const sn_vec_node *node = &k->lanes.nodes[i];
    n += node->uses && node->level == 2 && node->section == section && (rare || !node->region);
  }
  return n;
}

/* How many copies a loop has. The cost of a short body is mostly pointers and branches, which the copies share; long bodies
 * have copies to be staggered (below). */
static int32_t copies_of(const sn_walk *k, uint32_t section, uint32_t length) {
  const uint32_t rare = sn_walk_length(k, section, true) - length;
  int32_t copies = length > 8 && length < LONG_BODY ? 2 : 4;
  if (copies > k->most_copies) copies = k->most_copies;
  if (k->dims[k->rank - 1] < 8 * copies) return 1;
  while (copies > 1 &&
         ((uint32_t)copies * length > MOST_NODES || (uint32_t)copies * rare > MOST_RARE_NODES))
    copies /= 2;
  return copies;
}

/* A long body is one long chain of dependent operations, and a processor looks only two or three
 * bodies ahead. So the copies are written in parts, each beside an earlier part of the next copy: A0,
 * A1 B0, A2 B1, A3 B2, B3. The operations in the processor's window then depend on half as many others. */
static void staggered_copies(sn_walk *k, uint32_t section, uint32_t copies, uint32_t parts) {
  sn_vec cuts[MOST_PARTS + 1];
  for (uint32_t part = 0; part <= parts; part++)
    cuts[part] = sn_write_cut(&k->writer, section, part, parts);
  k->copy = SN_COPY_FULL;
  for (uint32_t step = 0; step < copies + parts - 1; step++) {
    for (uint32_t part = 0; part < parts; part++) {
      if (part > step || step - part >= copies) continue;
      k->writer.copy = k->copy_number = step - part;
      k->shift = 4 * k->copy_number;
      sn_write_part(&k->writer, section, 2, cuts[part], cuts[part + 1]);
      for (size_t i = 0; i < k->n_stores && part + 1 == parts; i++)
        if (k->stores[i].section == section) sn_access_store(k, &k->stores[i]);
    }
  }
  k->writer.copy = 0;
}

static void vector_loop(sn_walk *k, uint32_t section, int32_t copies, uint32_t length) {
  const uint32_t parts = length < LONG_BODY ? 1 : length / PART + 1;
  sn_emit_while(k->w, k->count, 4 * copies);
  if (copies > 1 && parts > 1)
    staggered_copies(k, section, (uint32_t)copies, parts < MOST_PARTS ? parts : MOST_PARTS);
  else
    for (int32_t i = 0; i < copies; i++) sn_walk_copy(k, section, SN_COPY_FULL, (uint32_t)i);
  sn_walk_advance(k, section, 4 * copies);
  sn_emit_add(k->w, k->count, -4 * copies);
  sn_emit_repeat(k->w, k->count, 4 * copies);
}

static void partial_vector(sn_walk *k, uint32_t section) {
  sn_emit_get(k->w, k->count);
  sn_emit_block(k->w, SN_WASM_if);
  sn_walk_copy(k, section, SN_COPY_PARTIAL, 0);
  advance_by_count(k, section);
  sn_emit(k->w, SN_WASM_end);
}

/* The rest of a run, whole vectors written as partial ones, too. The last step advances by 4, whatever was left, and count,
 * now 0 or negative, takes the pointers back. */
static void partial_loop(sn_walk *k, uint32_t section) {
  sn_emit_while(k->w, k->count, 1);
  sn_walk_copy(k, section, SN_COPY_PARTIAL, 0);
  sn_walk_advance(k, section, 4);
  sn_emit_add(k->w, k->count, -4);
  sn_emit_repeat(k->w, k->count, 1);
  advance_by_count(k, section);
}

/* A run of k->count elements, a multiple of `unit`. Loops for remainders that cannot occur are not written. */
static void run_of(sn_walk *k, uint32_t section, int64_t unit) {
  const uint32_t length = sn_walk_length(k, section, false);
  const int32_t copies = copies_of(k, section, length);
  if (copies > 1) vector_loop(k, section, copies, length);
  if (unit % (4 * copies) == 0 && copies > 1) return;
  if (unit % 4 && copies == 2 && length >= RARELY_WRITTEN) {
    partial_loop(k, section);
    return;
  }
  if (k->dims[k->rank - 1] >= 4) vector_loop(k, section, 1, length);
  if (unit % 4) partial_vector(k, section);
}

void sn_walk_run(sn_walk *k, uint32_t section) { run_of(k, section, 1); }

/* The pointers stand behind a whole run along dim i + 1: moves them to its begin at the next index of dim i, and carries into
 * outer dims down to `first`. */
static void next_index(sn_walk *k, uint32_t section, int i, int first) {
  int opened = 0;
  for (; i >= first; i--) {
    for (size_t n = 0; n < k->n_walkers; n++) {
      const sn_walker *walker = &k->walkers[n];
      if (walker->section != section || walker->fixed || walker->base.follows) continue;
      const uint32_t back = (uint32_t)k->dims[i + 1] * (uint32_t)walker->strides[i + 1];
      const int32_t change = (int32_t)((uint32_t)walker->strides[i] - back);
      if (change) sn_emit_add(k->w, walker->pointer, change);
    }
    if (i == first) break; /* the last one never wraps */
    sn_emit_add(k->w, k->index[i], 1);
    sn_emit_get(k->w, k->index[i]);
    sn_emit_i32(k->w, (int32_t)k->dims[i]);
    sn_emit(k->w, SN_WASM_i32_eq);
    sn_emit_block(k->w, SN_WASM_if);
    opened++;
    sn_emit_i32(k->w, 0);
    sn_emit_set(k->w, k->index[i]);
  }
  while (opened--) sn_emit(k->w, SN_WASM_end);
}

void sn_walk_wrap(sn_walk *k, uint32_t section, int first) {
  const int last = k->rank - 1;
  sn_emit_get(k->w, k->index[last]);
  sn_emit_i32(k->w, (int32_t)k->dims[last]);
  sn_emit(k->w, SN_WASM_i32_eq);
  sn_emit_block(k->w, SN_WASM_if);
  sn_emit_i32(k->w, 0);
  sn_emit_set(k->w, k->index[last]);
  next_index(k, section, last - 1, first);
  sn_walk_enter(k, section);
  sn_emit(k->w, SN_WASM_end);
}

/* count = min(left, elements left in the innermost dim) */
static void take_run(sn_walk *k, uint32_t left) {
  const int last = k->rank - 1;
  sn_emit_i32(k->w, (int32_t)k->dims[last]);
  sn_emit_get(k->w, k->index[last]);
  sn_emit(k->w, SN_WASM_i32_sub);
  sn_emit_set(k->w, k->count);
  sn_emit_get(k->w, k->count);
  sn_emit_get(k->w, left);
  sn_emit(k->w, SN_WASM_i32_gt_s);
  sn_emit_block(k->w, SN_WASM_if);
  sn_emit_get(k->w, left);
  sn_emit_set(k->w, k->count);
  sn_emit(k->w, SN_WASM_end);
}

/* The largest power of two that divides both numbers. */
static int64_t common_unit(int64_t a, int64_t b) { return (a | b) & -(a | b); }

void sn_walk_points(sn_walk *k, uint32_t section, int first, uint32_t left) {
  const int last = k->rank - 1;
  const int64_t unit = common_unit(k->unit, k->dims[last]);
  if (last == first) {
    sn_emit_get(k->w, left);
    sn_emit_set(k->w, k->count);
    sn_walk_enter(k, section);
    run_of(k, section, unit);
    return;
  }
  sn_emit_while(k->w, left, 1);
  take_run(k, left);
  sn_emit_get(k->w, left);
  sn_emit_get(k->w, k->count);
  sn_emit(k->w, SN_WASM_i32_sub);
  sn_emit_set(k->w, left);
  sn_walk_enter(k, section);
  run_of(k, section, unit);
  sn_emit_i32(k->w, 0);
  sn_emit_set(k->w, k->index[last]);
  next_index(k, section, last - 1, first);
  sn_emit_repeat(k->w, left, 1);
}
