/* emit_serial.c - a loop over tiny programs (kernels/serial_loop.h) as one function.
 *
 * The function is described first, as a list of events in the order of writing: sections of straight-line code (each is a
 * section of vector.h), and between them the begins and ends of loops and branches. Within a section elements are nodes.
 * Elements that other sections read are kept in registers. Stacks that a scan slices or builds are in memory, where pointers
 * walk over them. A section sets registers when all of it has been computed, so carries keep their old values until then. */
#include "fuse/group_visit.h"
#include "jit/access.h"
#include "jit/lower_kernel.h"
#include "jit/serial_elements.h"

/* Limits: engines take long to compile larger functions. */
#define MOST_REGISTERS 1024
#define MOST_NODES 65536
#define MOST_ELEMENTS 4096 /* of a value that is accessed element by element */

typedef enum event_kind {
  EVENT_SECTION, /* the code of section `local` */
  EVENT_POINT,   /* local = other + n */
  EVENT_COUNT,   /* local = n */
  EVENT_LOOP,    /* while local > 0 */
  EVENT_TEST,    /* leaves the loop unless the register `local` is true */
  EVENT_REPEAT,  /* local += n, and the end of the loop's body */
  EVENT_IF,      /* if the register `local` is true */
  EVENT_ELSE,
  EVENT_END
} event_kind;

typedef struct event {
  event_kind kind;
  uint32_t local, other;
  int32_t n;
} event;

typedef struct writer {
  sn_serial s;
  event *events;
  size_t n_events, cap_events;
  uint32_t memory, used; /* local with the address of the memory for inner loops' stacks; bytes of it in use */
} writer;

enum { TABLE, ROUNDS, N_PARAMS };

static const int64_t still[SN_MAX_RANK];

static void add_event(writer *w, event_kind kind, uint32_t local, uint32_t other, int32_t n) {
  sn_walk *k = &w->s.j.walk;
  if (k->status) return;
  k->status = sn_arena_grow(w->s.j.arena, (void **)&w->events, &w->cap_events, w->n_events,
                            sizeof *w->events);
  if (!k->status) w->events[w->n_events++] = (event){kind, local, other, n};
}

/* Ends the section: adds the event that writes the code described since the previous one. */
static void end_section(writer *w) {
  sn_vecs *lanes = &w->s.j.walk.lanes;
  add_event(w, EVENT_SECTION, lanes->section, 0, 0);
  sn_vecs_section(lanes);
  if (lanes->n_nodes > MOST_NODES || lanes->section == UINT16_MAX) w->s.j.unable = true;
}

/* ---- elements -------------------------------------------------------------------------------- */

static uint32_t add_leaf(sn_serial *s, const sn_home *home, int64_t i) {
  sn_walk *k = &s->j.walk;
  const sn_dtype dtype = home->type->dtype;
  const sn_walk_base base = {.kind = SN_BASE_PARAM,
                             .number = home->in_memory ? home->pointer : TABLE,
                             .level = home->level};
  const uint32_t leaf = sn_walk_leaf(k, dtype, base, home->in_memory ? home->offset + i : 0, still);
  if (home->in_memory || k->status) return leaf;
  k->leaves[leaf].kind = SN_LEAF_REGISTERS;
  sn_walk_reserve(k, leaf, (uint32_t)sn_vec_halves(dtype));
  if (++s->n_registers > MOST_REGISTERS) s->j.unable = true;
  return leaf;
}

static sn_element *element_of(sn_serial *s, sn_home *home, int64_t i) {
  const int64_t n = sn_type_size(home->type);
  if (n > MOST_ELEMENTS) s->j.unable = true;
  if (s->j.unable || s->j.walk.status) return NULL;
  if (!home->elements) {
    s->j.walk.status =
        sn_arena_alloc(s->j.arena, (size_t)n, sizeof *home->elements, (void **)&home->elements);
    if (s->j.walk.status) return NULL;
    for (int64_t e = 0; e < n; e++) home->elements[e] = (sn_element){.leaf = SN_NONE};
  }
  return &home->elements[i];
}

static uint32_t leaf_of(sn_serial *s, const sn_home *home, int64_t i, sn_element *e) {
  if (e->leaf == SN_NONE) e->leaf = add_leaf(s, home, i);
  return e->leaf;
}

/* An element is in all lanes of its node, so the two halves of a float64 are the same node. */
sn_vec_value sn_serial_element(sn_serial *s, sn_home *home, int64_t i) {
  sn_element *e = element_of(s, home, i);
  if (!e) return (sn_vec_value){{0, 0}};
  const uint32_t section = s->j.walk.lanes.section + 1u;
  if (e->section == section) return e->now;
  if (!home->in_memory && !home->in_registers) s->j.unable = true;
  const uint32_t leaf = leaf_of(s, home, i, e);
  if (s->j.walk.status) return (sn_vec_value){{0, 0}};
  const sn_vec x = sn_vec_input(&s->j.walk.lanes, s->j.walk.leaves[leaf].level, 2 * leaf);
  e->section = section;
  e->now = (sn_vec_value){{x, x}};
  return e->now;
}

/* Stores the value to the element's leaf at the end of the section. Reads in this section still give the old value. */
static void keep(sn_serial *s, sn_home *home, int64_t i, const sn_vec_value *value) {
  sn_element *e = element_of(s, home, i);
  if (e) sn_walk_write(&s->j.walk, leaf_of(s, home, i, e), value);
}

void sn_serial_set(sn_serial *s, sn_home *home, int64_t i, sn_vec_value value) {
  sn_element *e = element_of(s, home, i);
  if (!e) return;
  e->section = s->j.walk.lanes.section + 1u;
  e->now = value;
  if (home->in_memory || home->in_registers) keep(s, home, i, &value);
}

/* Stores all elements of `from` to those of `to`, for later sections: this one may still read the old ones. */
static void copy(sn_serial *s, sn_home *to, sn_home *from) {
  for (int64_t i = 0; i < sn_type_size(to->type) && !s->j.unable; i++) {
    const sn_vec_value x = sn_serial_element(s, from, i);
    keep(s, to, i, &x);
  }
}

static sn_status new_home(sn_serial *s, const sn_type *type, sn_home **out) {
  SN_TRY(sn_arena_alloc(s->j.arena, 1, sizeof **out, (void **)out));
  **out = (sn_home){.type = type, .level = 2};
  return SN_OK;
}

static sn_status new_registers(sn_serial *s, const sn_type *type, sn_home **out) {
  SN_TRY(new_home(s, type, out));
  (*out)->in_registers = true;
  return SN_OK;
}

static uint32_t new_local(writer *w) { return sn_wasm_local(w->s.j.w, SN_WASM_TYPE_I32); }

/* Moves a value to memory: an inner scan takes it apart or stacks it. */
static void give_memory(writer *w, sn_home *home) {
  home->in_memory = true;
  home->pointer = new_local(w);
  add_event(w, EVENT_POINT, home->pointer, w->memory, (int32_t)w->used);
  w->used += ((uint32_t)sn_type_bytes(home->type) + 15) & ~15u;
}

/* ---- programs of regions --------------------------------------------------------------------- */

static sn_status describe_control(writer *w, const sn_serial_control *c, sn_home **inputs,
                                  sn_home **results, bool whole);

/* The state while finding which values of a region are read in other sections than the one that makes them. */
typedef struct uses {
  sn_home **homes;
  uint32_t *made; /* per value: the section that makes it, counted from 1; 0: none */
  uint32_t section;
  bool control; /* the group being visited is control flow */
} uses;

static sn_status note_use(void *user, const sn_touch *touch) {
  uses *u = user;
  const uint32_t v = touch->operand->value;
  if (v == SN_NONE) return SN_OK;
  if (u->control && touch->operand == touch->group->control.room) return SN_OK; /* this code needs no room */
  if (sn_touch_writes(touch)) u->made[v] = u->section;
  if ((u->control || u->made[v] != u->section) && !u->homes[v]->in_memory)
    u->homes[v]->in_registers = true;
  return SN_OK;
}

/* Gives registers to the values of a region that cross sections and are not in memory. */
static sn_status note_uses(writer *w, const sn_serial_region *region, sn_home **homes) {
  const sn_groups *groups = region->groups;
  uses u = {.homes = homes, .section = 1};
  SN_TRY(sn_arena_alloc(w->s.j.arena, groups->n_values, sizeof *u.made, (void **)&u.made));
  for (size_t i = 0; i < groups->n_groups; i++) {
    u.control = region->controls[i] != NULL;
    sn_group_visit(&groups->groups[i], note_use, &u);
    u.section += u.control;
  }
  for (size_t k = 0; k < groups->n_outputs; k++) {
    const uint32_t v = groups->outputs[k];
    if (u.made[v] != u.section && !homes[v]->in_memory) homes[v]->in_registers = true;
  }
  return SN_OK;
}

/* A home for what control flow reads of a value: elements of `base` from `offset` on, shared with it. */
static sn_status view_of(sn_serial *s, sn_home *base, const sn_type *type, int64_t offset,
                         sn_home **out) {
  if (!base->in_memory && sn_type_size(type)) element_of(s, base, offset);
  SN_TRY(new_home(s, type, out));
  **out = *base;
  (*out)->type = type;
  (*out)->offset += offset;
  if (base->elements) (*out)->elements += offset;
  return s->j.walk.status;
}

/* Describes control flow among the groups of a region. Homes of results become those where it leaves the results. */
static sn_status describe_inner(writer *w, const sn_graph *graph, const sn_serial_control *c,
                                sn_home **homes) {
  const sn_control_flow *flow = &c->group->control;
  const sn_id *x = sn_graph_inputs(graph, flow->node);
  sn_home **inputs, **results;
  SN_TRY(sn_arena_alloc(w->s.j.arena, flow->n_operands, sizeof *inputs, (void **)&inputs));
  SN_TRY(sn_arena_alloc(w->s.j.arena, c->control.n_results, sizeof *results, (void **)&results));
  for (uint32_t k = 0; k < flow->n_operands; k++) {
    const sn_operand *o = &flow->operands[k];
    SN_TRY(view_of(&w->s, homes[o->value], &graph->nodes[x[k]].type, o->offset, &inputs[k]));
  }
  for (uint32_t i = 0; i < c->group->n_stores; i++)
    results[flow->results[i]] = homes[c->group->stores[i].target.value];
  SN_TRY(describe_control(w, c, inputs, results, false));
  for (uint32_t i = 0; i < c->group->n_stores; i++)
    homes[c->group->stores[i].target.value] = results[flow->results[i]];
  w->s.homes = homes;
  return SN_OK;
}

/* Describes a region's program. Output k goes to outs[k] if that is not NULL: for k >= at_once it is computed right there,
 * for others copied at the end, since until then the region may read arguments at outs[k]. */
static sn_status describe_region(writer *w, const sn_serial_region *region, sn_home **arguments,
                                 sn_home **outs, size_t at_once) {
  const sn_groups *groups = region->groups;
  sn_serial *s = &w->s;
  sn_home **homes;
  SN_TRY(sn_arena_alloc(s->j.arena, groups->n_values, sizeof(sn_home *), (void **)&homes));
  for (size_t v = 0; v < groups->n_values; v++) {
    const sn_value *value = &groups->values[v];
    if (value->kind == SN_VALUE_ARGUMENT)
      homes[v] = arguments[value->argument];
    else
      SN_TRY(new_home(s, &value->type, &homes[v]));
  }
  for (size_t k = at_once; k < groups->n_outputs; k++)
    if (outs[k] && groups->values[groups->outputs[k]].kind != SN_VALUE_ARGUMENT)
      homes[groups->outputs[k]] = outs[k];
  SN_TRY(note_uses(w, region, homes));
  s->homes = homes;
  for (size_t i = 0; i < groups->n_groups && !s->j.unable; i++) {
    if (region->controls[i])
      SN_TRY(describe_inner(w, groups->graph, region->controls[i], homes));
    else
      SN_TRY(sn_serial_group(s, &groups->groups[i], &region->kernels[i]));
    SN_TRY(s->j.walk.lanes.status);
    if (s->j.walk.lanes.n_nodes > MOST_NODES) s->j.unable = true;
  }
  for (size_t k = 0; k < groups->n_outputs && !s->j.unable; k++) {
    sn_home *made = homes[groups->outputs[k]];
    if (outs[k] && made != outs[k]) copy(s, outs[k], made);
  }
  return s->j.walk.status;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static const sn_type bool_type = {.dtype = SN_BOOL};

static uint32_t register_of(sn_serial *s, sn_home *home) {
  sn_element *e = element_of(s, home, 0);
  const uint32_t leaf = e ? leaf_of(s, home, 0, e) : 0;
  return s->j.walk.status || !e ? 0 : s->j.walk.leaves[leaf].registers;
}

static sn_status describe_cond(writer *w, const sn_serial_control *c, sn_home **inputs,
                               sn_home **results) {
  sn_serial *s = &w->s;
  sn_home *chosen;
  SN_TRY(new_registers(s, &bool_type, &chosen));
  copy(s, chosen, inputs[0]);
  for (size_t k = 0; k < c->control.n_results; k++)
    if (results[k] && !results[k]->in_memory) results[k]->in_registers = true;
  for (int branch = 0; branch < 2; branch++) {
    end_section(w);
    add_event(w, branch ? EVENT_ELSE : EVENT_IF, register_of(s, chosen), 0, 0);
    SN_TRY(describe_region(w, &c->regions[branch], inputs + 1, results, 0));
  }
  end_section(w);
  add_event(w, EVENT_END, 0, 0, 0);
  return s->j.walk.status;
}

/* A slice of a stack: its pointer moves by `step` bytes in each round. */
typedef struct slice {
  uint32_t pointer;
  int32_t step;
} slice;

typedef struct loop {
  const sn_serial_control *c;
  sn_home **carries, **arguments, **outs;
  slice *slices;
  uint32_t n_slices;
} loop;

static bool fits(int64_t n) { return n <= INT32_MAX; }

/* *out = the home of the slice of `stack` in the first round. whole: for the outermost loop, whose table has that slice. */
static sn_status add_slice(writer *w, loop *l, sn_home *stack, const sn_type *type, bool whole,
                           sn_home **out) {
  const sn_control *c = &l->c->control;
  const size_t bytes = sn_type_bytes(type);
  const int64_t first = stack->offset * (int64_t)sn_dtype_bytes(type->dtype);
  slice *at = &l->slices[l->n_slices++];
  SN_TRY(new_home(&w->s, type, out));
  (*out)->in_memory = true;
  (*out)->pointer = at->pointer = whole ? stack->pointer : new_local(w);
  if (bytes > INT32_MAX || (!whole && !fits(first + (int64_t)bytes * c->length)))
    w->s.j.unable = true;
  if (w->s.j.unable) return SN_OK;
  at->step = c->reverse ? -(int32_t)bytes : (int32_t)bytes;
  if (!whole)
    add_event(w, EVENT_POINT, at->pointer, stack->pointer,
              (int32_t)(first + (c->reverse ? (int64_t)bytes * (c->length - 1) : 0)));
  return w->s.j.walk.status;
}

/* The type of a region's argument; NULL if the region does not read it. Only this tells the shape of a slice, since a stack
 * may be a view of a buffer of another shape. */
static const sn_type *argument_type(const sn_serial_region *region, size_t argument) {
  const sn_groups *groups = region->groups;
  for (size_t v = 0; v < groups->n_values; v++)
    if (groups->values[v].kind == SN_VALUE_ARGUMENT && groups->values[v].argument == argument)
      return &groups->values[v].type;
  return NULL;
}

/* Describes what comes before the loop: sets the carries, and puts stacks in memory with pointers to their slices. */
static sn_status enter_loop(writer *w, loop *l, sn_home **inputs, sn_home **results, bool whole) {
  sn_serial *s = &w->s;
  const sn_control *c = &l->c->control;
  const sn_graph *body = c->regions[0];
  const size_t n_inputs = sn_serial_inputs(c);
  sn_arena *arena = s->j.arena;
  SN_TRY(sn_arena_alloc(arena, c->n_carries, sizeof(sn_home *), (void **)&l->carries));
  SN_TRY(sn_arena_alloc(arena, n_inputs, sizeof(sn_home *), (void **)&l->arguments));
  SN_TRY(sn_arena_alloc(arena, c->n_results, sizeof(sn_home *), (void **)&l->outs));
  SN_TRY(sn_arena_alloc(arena, c->n_stacks + c->n_results, sizeof *l->slices, (void **)&l->slices));
  for (size_t k = 0; k < c->n_carries && !s->j.unable; k++) {
    SN_TRY(new_registers(s, &body->nodes[body->outputs[k]].type, &l->carries[k]));
    copy(s, l->carries[k], inputs[k]);
    l->arguments[k] = l->outs[k] = l->carries[k];
  }
  sn_home **stacks;
  SN_TRY(sn_arena_alloc(arena, c->n_stacks, sizeof(sn_home *), (void **)&stacks));
  for (size_t k = 0; k < c->n_stacks; k++) {
    stacks[k] = inputs[c->n_carries + k];
    if (!stacks[k] || stacks[k]->in_memory) continue;
    SN_TRY(new_home(s, stacks[k]->type, &stacks[k]));
    give_memory(w, stacks[k]);
    copy(s, stacks[k], inputs[c->n_carries + k]);
  }
  for (size_t k = c->n_carries; k < c->n_results; k++) {
    if (!results[k] || results[k]->in_memory) continue;
    SN_TRY(new_home(s, results[k]->type, &results[k]));
    give_memory(w, results[k]);
  }
  end_section(w);
  for (size_t k = 0; k < c->n_stacks; k++) {
    const sn_type *type = argument_type(&l->c->regions[0], c->n_carries + k);
    if (type) SN_TRY(add_slice(w, l, stacks[k], type, whole, &l->arguments[c->n_carries + k]));
  }
  for (size_t k = c->n_carries; k < c->n_results; k++)
    if (results[k])
      SN_TRY(add_slice(w, l, results[k], &body->nodes[body->outputs[k]].type, whole, &l->outs[k]));
  for (size_t k = c->n_carries + c->n_stacks; k < n_inputs; k++) l->arguments[k] = inputs[k];
  return s->j.walk.status;
}

/* The test of a while_loop takes the arguments of the body: there are no stacks between carries and constants. */
static sn_status describe_loop(writer *w, const sn_serial_control *serial, sn_home **inputs,
                               sn_home **results, bool whole) {
  sn_serial *s = &w->s;
  loop l = {.c = serial};
  const sn_control *c = &serial->control;
  const bool tests = c->op == SN_OP_while_loop;
  sn_home *again = NULL;
  SN_TRY(enter_loop(w, &l, inputs, results, whole));
  if (s->j.unable) return SN_OK; /* enter_loop may have left carries without homes */
  const uint32_t rounds = whole ? ROUNDS : new_local(w);
  if (!fits(c->length)) s->j.unable = true;
  if (!whole) add_event(w, EVENT_COUNT, rounds, 0, tests ? 1 : (int32_t)c->length);
  if (tests) SN_TRY(new_registers(s, &bool_type, &again));
  add_event(w, EVENT_LOOP, rounds, 0, 0);
  if (tests) {
    SN_TRY(describe_region(w, &serial->regions[1], l.arguments, &again, 0));
    end_section(w);
    add_event(w, EVENT_TEST, register_of(s, again), 0, 0);
  }
  SN_TRY(describe_region(w, &serial->regions[0], l.arguments, l.outs, c->n_carries));
  end_section(w);
  for (uint32_t i = 0; i < l.n_slices; i++)
    add_event(w, EVENT_POINT, l.slices[i].pointer, l.slices[i].pointer, l.slices[i].step);
  add_event(w, EVENT_REPEAT, rounds, 0, tests && !whole ? 0 : -1);
  for (size_t k = 0; k < c->n_carries; k++) {
    if (!results[k]) continue;
    for (int64_t i = 0; results[k]->in_memory && i < sn_type_size(results[k]->type); i++)
      sn_serial_set(s, results[k], i, sn_serial_element(s, l.carries[k], i));
    if (!results[k]->in_memory) results[k] = l.carries[k];
  }
  if (tests && whole) copy(s, inputs[sn_serial_test(c)], again);
  return s->j.walk.status;
}

static sn_status describe_control(writer *w, const sn_serial_control *c, sn_home **inputs,
                                  sn_home **results, bool whole) {
  if (c->control.op == SN_OP_cond) return describe_cond(w, c, inputs, results);
  return describe_loop(w, c, inputs, results, whole);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_event(sn_wasm *w, sn_walk *k, const event *e) {
  switch (e->kind) {
  case EVENT_SECTION: sn_walk_copy(k, e->local, SN_COPY_ONE, 0); break;
  case EVENT_POINT:
    sn_emit_get(w, e->other);
    sn_emit_i32(w, e->n);
    sn_emit(w, SN_WASM_i32_add);
    sn_emit_set(w, e->local);
    break;
  case EVENT_COUNT:
    sn_emit_i32(w, e->n);
    sn_emit_set(w, e->local);
    break;
  case EVENT_LOOP: sn_emit_while(w, e->local, 1); break;
  case EVENT_TEST:
    sn_emit_get(w, e->local);
    sn_emit(w, SN_WASM_v128_any_true);
    sn_emit(w, SN_WASM_i32_eqz);
    sn_emit_index(w, SN_WASM_br_if, 1);
    break;
  case EVENT_REPEAT:
    if (e->n) sn_emit_add(w, e->local, e->n);
    sn_emit_repeat(w, e->local, 1);
    break;
  case EVENT_IF:
    sn_emit_get(w, e->local);
    sn_emit(w, SN_WASM_v128_any_true);
    sn_emit_block(w, SN_WASM_if);
    break;
  case EVENT_ELSE: sn_emit(w, SN_WASM_else); break;
  case EVENT_END: sn_emit(w, SN_WASM_end); break;
  }
}

/* *out = a home in memory at the address in entry `number` of the table. */
static sn_status home_in_table(writer *w, const sn_type *type, size_t number, int level,
                               sn_home **out) {
  sn_wasm *m = w->s.j.w;
  SN_TRY(new_home(&w->s, type, out));
  (*out)->in_memory = true;
  (*out)->level = level;
  (*out)->pointer = new_local(w);
  sn_emit_get(m, TABLE);
  sn_emit_memory(m, SN_WASM_i32_load, (uint32_t)number * 4);
  sn_emit_set(m, (*out)->pointer);
  return SN_OK;
}

/* Makes the homes of all entries of the table: inputs, results, the test, memory for stacks. */
static sn_status read_table(writer *w, const sn_serial_control *serial, sn_home **homes) {
  const sn_control *c = &serial->control;
  const sn_graph *body = c->regions[0];
  const size_t n = sn_serial_inputs(c);
  bool *stored;
  SN_TRY(sn_arena_alloc(w->s.j.arena, c->n_results, sizeof *stored, (void **)&stored));
  for (uint32_t i = 0; i < serial->group->n_stores; i++)
    stored[serial->group->control.results[i]] = true;
  for (size_t k = 0; k < c->n_carries; k++)
    SN_TRY(home_in_table(w, &body->nodes[body->outputs[k]].type, k, 2, &homes[k]));
  for (uint32_t r = 0; r < c->n_regions; r++) {
    const sn_groups *groups = serial->regions[r].groups;
    for (size_t v = 0; v < groups->n_values; v++) {
      const sn_value *value = &groups->values[v];
      const size_t k = value->argument;
      if (value->kind == SN_VALUE_ARGUMENT && !homes[k])
        SN_TRY(
            home_in_table(w, &value->type, k, k < c->n_carries + c->n_stacks ? 2 : 0, &homes[k]));
    }
  }
  for (size_t k = 0; k < c->n_results; k++)
    if (k < c->n_carries || stored[k])
      SN_TRY(home_in_table(w, &body->nodes[body->outputs[k]].type, n + k, 2, &homes[n + k]));
  SN_TRY(home_in_table(w, &bool_type, sn_serial_test(c), 2, &homes[sn_serial_test(c)]));
  SN_TRY(home_in_table(w, &bool_type, sn_serial_memory(c), 2, &homes[sn_serial_memory(c)]));
  w->memory = homes[sn_serial_memory(c)]->pointer;
  return SN_OK;
}

static sn_status emit(writer *w, const sn_serial_control *serial) {
  sn_jit *j = &w->s.j;
  sn_home **homes;
  const size_t n = sn_serial_table(&serial->control);
  SN_TRY(sn_walk_begin(&j->walk, j->arena, j->w, j->lanes, 0, still, j->bases));
  SN_TRY(sn_arena_alloc(j->arena, n, sizeof(sn_home *), (void **)&homes));
  sn_wasm_function(j->w, N_PARAMS);
  SN_TRY(read_table(w, serial, homes));
  SN_TRY(describe_control(w, serial, homes, homes + sn_serial_inputs(&serial->control), true));
  end_section(w);
  SN_TRY(j->walk.lanes.status);
  if (j->unable) return SN_OK;
  SN_TRY(sn_walk_start(&j->walk));
  for (size_t i = 0; i < w->n_events; i++) write_event(j->w, &j->walk, &w->events[i]);
  sn_wasm_function_end(j->w);
  return j->walk.status;
}

sn_status sn_jit_emit_serial(sn_arena *arena, const sn_jit_target *target,
                             const sn_serial_control *serial, const uint8_t **bytes, size_t *n) {
  sn_wasm w;
  writer *s;
  *bytes = NULL;
  *n = 0;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *s, (void **)&s));
  *s = (writer){0};
  sn_wasm_begin(&w, arena, target->shared_memory);
  s->s.j = (sn_jit){.arena = arena, .w = &w, .lanes = target->lanes, .read = sn_serial_read};
  SN_TRY(emit(s, serial));
  return s->s.j.unable ? SN_OK : sn_wasm_finish(&w, bytes, n);
}
