/* device_steps.c - turns a program's steps into those of the device. Values of regions are in the room of their step
 * (program/rooms.h), and shaders of regions are written like those of any program. Control flow adds:
 *
 *   scan    copy carries in, ROUNDS n [ body ] END, copy them out     carries lie at two places by turns
 *   while   copy in, test, gate, WHILE [ body, next -> now, test, gate ] END, copy out
 *   cond    two gates, each with a branch behind it
 *
 * Regions nest at most SN_MAX_NESTING deep, so recursion is safe here. */
#include "program/rooms.h"
#include "wgsl/wgsl.h"

typedef struct writer {
  sn_arena *arena;
  sn_device_step *list;
  uint32_t *
      gates; /* per step: the gate that it sets, or 0. A dispatch's `gate` is a gate's number until lay_out_gates */
  size_t n, cap, cap_gates;
  uint32_t n_gates; /* gates are numbered from 1, and 0 counts as one if there are any */
  double rounds;    /* product of the rounds of all scans around */
} writer;

static sn_status write_steps(writer *w, const sn_frame *frame, size_t *ends);

/* ---- the list -------------------------------------------------------------------------------- */

static sn_status add(writer *w, sn_device_step step, uint32_t sets) {
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->list, &w->cap, w->n, sizeof *w->list));
  SN_TRY(sn_arena_grow(w->arena, (void **)&w->gates, &w->cap_gates, w->n, sizeof *w->gates));
  w->gates[w->n] = sets;
  w->list[w->n++] = step;
  return SN_OK;
}

static sn_status mark(writer *w, sn_device_step_kind kind, uint32_t number) {
  return add(w, (sn_device_step){.kind = (uint32_t)kind, .number = number}, 0);
}

static sn_status add_step(writer *w, sn_device_step_kind kind, sn_shader *s, uint32_t sets) {
  sn_device_step step = {.kind = (uint32_t)kind};
  sn_dispatch *d = &step.dispatch;
  SN_TRY(sn_shader_end(s, &d->text));
  d->bindings = s->bindings;
  d->n_bindings = s->n_bindings;
  d->constants = s->scalars.constants;
  d->n_constants = (uint32_t)s->scalars.n_constants;
  memcpy(d->groups, s->groups, sizeof d->groups);
  d->gate = sets ? 0 : s->frame->gate; /* a dispatch that sets a gate always runs */
  d->asks_rounds = s->asks_rounds;
  d->name = s->group ? s->group->name : "control";
  return add(w, step, sets);
}

static sn_status add_shader(writer *w, sn_shader *s, uint32_t sets) {
  return add_step(w, SN_DEVICE_DISPATCH, s, sets);
}

static sn_status begin(writer *w, const sn_frame *frame, const sn_group *group, sn_shader **out) {
  SN_TRY(sn_arena_alloc(w->arena, 1, sizeof **out, (void **)out));
  return sn_shader_begin(w->arena, frame, group, *out);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_empty(const sn_group *g) {
  if (g->kind == SN_GROUP_CALL) return sn_group_points(g) * g->call.length == 0;
  return sn_group_points(g) == 0;
}

/* A reduction in two shaders: totals of parts, then their total. */
static sn_status write_parts(writer *w, const sn_frame *frame, const sn_group *group, sn_shader *s,
                             int64_t parts) {
  SN_TRY(sn_shader_partial_totals(s, parts));
  SN_TRY(add_shader(w, s, 0));
  SN_TRY(begin(w, frame, group, &s));
  SN_TRY(sn_shader_join_totals(s, parts));
  return add_shader(w, s, 0);
}

static sn_status write_passes(writer *w, const sn_frame *frame, const sn_group *group, int passes) {
  for (int pass = 0; pass < passes; pass++) {
    sn_shader *s;
    SN_TRY(begin(w, frame, group, &s));
    SN_TRY(sn_shader_pass(s, pass, passes));
    SN_TRY(add_shader(w, s, 0));
  }
  return SN_OK;
}

/* A product or chain with all its variants, which the host times at the first run. Behind a gate there is only one variant,
 * since the gate's words hold the workgroups of one. If the variants make totals of parts, one more shader joins these. */
static sn_status write_variants(writer *w, const sn_frame *frame, const sn_group *group,
                                sn_shader *s) {
  const bool is_chain = group->kind == SN_GROUP_CHAIN;
  sn_status (*const write)(sn_shader *, int) = is_chain ? sn_shader_chain : sn_shader_product;
  const int all = is_chain ? sn_shader_chain_variants(s) : sn_shader_product_variants(s);
  const int variants = frame->gate ? 1 : all;
  SN_TRY(write(s, 0));
  SN_TRY(add_shader(w, s, 0));
  for (int v = 1; v < variants && !s->asks_rounds; v++) {
    SN_TRY(begin(w, frame, group, &s));
    SN_TRY(write(s, v));
    SN_TRY(add_step(w, SN_DEVICE_VARIANT, s, 0));
  }
  SN_TRY(begin(w, frame, group, &s));
  if (!sn_shader_product_has_parts(s)) return SN_OK;
  SN_TRY(sn_shader_product_join(s));
  return add_shader(w, s, 0);
}

static sn_status write_group(writer *w, const sn_frame *frame, const sn_group *group) {
  sn_shader *s;
  if (is_empty(group)) return SN_OK;
  SN_FAIL_IF(w->arena->env, sn_group_points(group) > INT32_MAX, SN_ERR_UNSUPPORTED, NULL,
             "%s: the device counts up to 2^31 points", group->name);
  SN_TRY(begin(w, frame, group, &s));
  const int64_t parts = sn_shader_parts(s);
  if (parts > 1) return write_parts(w, frame, group, s, parts);
  if (sn_shader_passes(s) > 1) return write_passes(w, frame, group, sn_shader_passes(s));
  switch (group->kind) {
  case SN_GROUP_MAP: SN_TRY(sn_shader_map(s)); break;
  case SN_GROUP_REDUCE:
  case SN_GROUP_ROW: SN_TRY(sn_shader_row(s)); break;
  case SN_GROUP_CONTRACTION:
  case SN_GROUP_CHAIN: return write_variants(w, frame, group, s);
  case SN_GROUP_CALL: SN_TRY(sn_shader_call(s)); break;
  default: return SN_FAIL(w->arena->env, SN_ERR_INTERNAL, NULL, "the device has no such kernel");
  }
  return add_shader(w, s, 0);
}

/* ---- control flow ---------------------------------------------------------------------------- */

/* The state while a step of control flow is written. */
typedef struct control_step {
  const sn_frame *frame;
  const sn_step *step;
  const sn_group *group;
  sn_control c;
  sn_room room;
  uint32_t *stores;        /* per result: the index of the group's store, or SN_NONE */
  sn_place_of *now, *next; /* per carry: where even rounds read it and write it */
} control_step;

static const sn_operand *input(const control_step *k, size_t i) {
  return &k->group->control.operands[i];
}

static sn_place_of in_room(const control_step *k, size_t offset) {
  sn_place_of at = sn_frame_place(k->frame, k->group->control.room->value);
  at.offset += offset;
  at.odd_offset += offset;
  return at;
}

/* The place of result r as a whole; `spare` bytes into the room if nobody uses it. */
static sn_place_of result_at(const control_step *k, size_t r, size_t spare) {
  if (k->stores[r] == SN_NONE) return in_room(k, spare);
  return sn_frame_operand(k->frame, &k->group->stores[k->stores[r]].target);
}

static sn_type result_type(const control_step *k, size_t r) {
  const sn_graph *body = k->c.regions[0];
  return body->nodes[body->outputs[r]].type;
}

static sn_status copy(writer *w, const sn_frame *frame, sn_place_of from, sn_place_of to,
                      const sn_type *type) {
  sn_shader *s;
  const size_t bytes = sn_type_bytes(type);
  if (!bytes || sn_same_place(&from, &to)) return SN_OK;
  if (!from.bytes) from.bytes = bytes;
  if (!to.bytes) to.bytes = bytes;
  SN_TRY(begin(w, frame, NULL, &s));
  SN_TRY(sn_shader_copy(s, &from, &to, type->dtype, sn_type_size(type)));
  return add_shader(w, s, 0);
}

static uint32_t new_gate(writer *w) {
  if (!w->n_gates) w->n_gates = 1;
  return w->n_gates++;
}

/* Adds the dispatch that opens a gate if the test equals opens_if; outer: a gate that has to be open, too, or 0. */
static sn_status set_gate(writer *w, const sn_frame *frame, uint32_t gate, uint32_t outer,
                          sn_place_of test, bool opens_if) {
  sn_shader *s;
  if (!test.bytes) test.bytes = 1;
  SN_TRY(begin(w, frame, NULL, &s));
  SN_TRY(sn_shader_gate(s, &test, opens_if));
  s->scalars.constants[1] = outer;
  return add_shader(w, s, gate);
}

static sn_status make(writer *w, const sn_frame *frame, const sn_step *step, control_step *k) {
  sn_arena *arena = w->arena;
  *k = (control_step){
      .frame = frame, .step = step, .group = &frame->program->groups.groups[step->group]};
  k->c = sn_graph_control(&frame->program->graph, k->group->control.node);
  SN_TRY(sn_room_of(arena, frame->program, step, &k->room));
  SN_TRY(sn_arena_alloc(arena, k->c.n_results, sizeof *k->stores, (void **)&k->stores));
  SN_TRY(sn_arena_alloc(arena, k->c.n_carries, sizeof *k->now, (void **)&k->now));
  SN_TRY(sn_arena_alloc(arena, k->c.n_carries, sizeof *k->next, (void **)&k->next));
  for (size_t r = 0; r < k->c.n_results; r++) k->stores[r] = SN_NONE;
  for (uint32_t i = 0; i < k->group->n_stores; i++) k->stores[k->group->control.results[i]] = i;
  return SN_OK;
}

/* Copies the carries to where the first round reads them. A carry that the body updates in place has one place. */
static sn_status begin_carries(writer *w, control_step *k) {
  for (size_t i = 0; i < k->c.n_carries; i++) {
    const sn_type type = result_type(k, i);
    size_t bytes = sn_type_bytes(&type);
    k->now[i] = k->next[i] = k->group->control.in_place[i] ? result_at(k, i, k->room.carries[i])
                                                           : in_room(k, k->room.carries[i]);
    SN_TRY(copy(w, k->frame, sn_frame_operand(k->frame, input(k, i)), k->now[i], &type));
    if (k->group->control.in_place[i]) continue;
    const size_t unit = k->frame->program->groups.target->limits.alignment;
    bytes = (bytes + unit - 1) / unit * unit;
    k->next[i].offset += bytes;
    k->next[i].odd_offset += bytes;
  }
  return SN_OK;
}

/* Copies the carries from `at`, where they are when all rounds are over, to the results. */
static sn_status end_carries(writer *w, const control_step *k, const sn_place_of *at) {
  for (size_t i = 0; i < k->c.n_carries; i++) {
    const sn_type type = result_type(k, i);
    if (k->stores[i] == SN_NONE) continue;
    SN_TRY(copy(w, k->frame, at[i], result_at(k, i, 0), &type));
  }
  return SN_OK;
}

/* Makes the frame of region r, with the places of its arena and of its constants. */
static sn_status open_region(writer *w, const control_step *k, uint32_t r, sn_frame *out) {
  const sn_place_of room = in_room(k, k->room.arena);
  const size_t first = k->c.n_carries + k->c.n_stacks;
  SN_TRY(sn_frame_region(w->arena, k->frame, &room, k->step->regions[r], out));
  for (size_t i = first; i < first + k->c.n_consts; i++) {
    if (r && k->c.op == SN_OP_while_loop) break;
    out->places[i] = sn_frame_operand(k->frame, input(k, sn_control_first(k->c.op) + i));
  }
  return SN_OK;
}

/* Sets the places of a loop body's carries. level: the depth of the loop by whose rounds their two places alternate, or
 * SN_NONE. */
static void place_carries(const control_step *k, sn_frame *region, uint32_t level) {
  for (size_t i = 0; i < k->c.n_carries; i++) {
    sn_place_of *now = &region->places[i];
    *now = k->now[i];
    if (k->group->control.in_place[i]) continue;
    sn_place_of *next = &region->places[sn_output_buffer(region->program, i)];
    *next = k->next[i];
    if (level == SN_NONE) continue;
    now->odd_offset = next->offset;
    next->odd_offset = now->offset;
    now->level = next->level = level;
  }
}

/* The place of a round's slice of a stack. */
static sn_place_of slice_of(const control_step *k, sn_place_of stack, const sn_type *slice,
                            uint32_t level) {
  const int64_t size = sn_type_size(slice);
  stack.first += k->c.reverse ? (k->c.length - 1) * size : 0;
  stack.steps[level] = k->c.reverse ? -size : size;
  return stack;
}

static void place_slices(const control_step *k, sn_frame *body, uint32_t level) {
  const sn_graph *graph = k->c.regions[0];
  const size_t first = k->c.n_carries;
  const sn_id *x = sn_graph_inputs(&k->frame->program->graph, k->group->control.node);
  for (size_t i = first; i < first + k->c.n_stacks; i++) {
    const sn_type slice = sn_type_slice(&k->frame->program->graph.nodes[x[i]].type);
    body->places[i] = slice_of(k, sn_frame_operand(k->frame, input(k, i)), &slice, level);
  }
  for (size_t r = first; r < k->c.n_results; r++) {
    const sn_type *slice = &graph->nodes[graph->outputs[r]].type;
    const sn_place_of at = result_at(k, r, k->room.spares[r]);
    body->places[sn_output_buffer(body->program, r)] =
        k->stores[r] == SN_NONE ? at : slice_of(k, at, slice, level);
  }
}

static sn_status write_scan(writer *w, control_step *k) {
  const uint32_t level = k->frame->depth;
  const double around = w->rounds;
  sn_frame body;
  SN_TRY(begin_carries(w, k));
  if (k->c.length) {
    w->rounds *= (double)k->c.length;
    SN_FAIL_IF(w->arena->env, w->rounds > SN_GPU_MOST_ROUNDS, SN_ERR_UNSUPPORTED, NULL,
               "a loop of more than %d rounds does not run on the device" SN_HINT
               "leave device out, and the program runs on the CPU",
               SN_GPU_MOST_ROUNDS);
    SN_TRY(open_region(w, k, 0, &body));
    body.depth++;
    place_carries(k, &body, level);
    place_slices(k, &body, level);
    SN_TRY(mark(w, SN_DEVICE_ROUNDS, (uint32_t)k->c.length));
    SN_TRY(write_steps(w, &body, NULL));
    SN_TRY(mark(w, SN_DEVICE_END, 0));
    w->rounds = around;
  }
  return end_carries(w, k, k->c.length % 2 ? k->next : k->now);
}

/* Runs the test, behind gate `outer` (0: none), and opens the gate if the loop goes on, else closes it. */
static sn_status write_test(writer *w, control_step *k, uint32_t gate, uint32_t outer) {
  const sn_place_of at = in_room(k, k->room.test);
  sn_frame test;
  SN_TRY(open_region(w, k, 1, &test));
  test.gate = outer;
  for (size_t i = 0; i < k->c.n_carries; i++) test.places[i] = k->now[i];
  for (size_t i = k->c.n_carries; i < k->c.n_carries + k->c.n_consts; i++)
    test.places[i] = sn_frame_operand(k->frame, input(k, i));
  test.places[sn_output_buffer(test.program, 0)] = at;
  SN_TRY(write_steps(w, &test, NULL));
  return set_gate(w, k->frame, gate, outer, at, true);
}

static sn_status write_while(writer *w, control_step *k) {
  sn_frame body, behind = *k->frame;
  const uint32_t gate = new_gate(w);
  SN_TRY(begin_carries(w, k));
  SN_TRY(write_test(w, k, gate, k->frame->gate));
  SN_TRY(mark(w, SN_DEVICE_WHILE, gate));
  SN_TRY(open_region(w, k, 0, &body));
  body.gate = behind.gate = gate;
  place_carries(k, &body, SN_NONE);
  SN_TRY(write_steps(w, &body, NULL));
  for (size_t i = 0; i < k->c.n_carries; i++) {
    const sn_type type = result_type(k, i);
    SN_TRY(copy(w, &behind, k->next[i], k->now[i], &type));
  }
  SN_TRY(write_test(w, k, gate, gate));
  SN_TRY(mark(w, SN_DEVICE_END, 0));
  return end_carries(w, k, k->now);
}

static sn_status write_cond(writer *w, control_step *k) {
  uint32_t gates[SN_MAX_REGIONS];
  const sn_place_of test = sn_frame_operand(k->frame, input(k, 0));
  for (uint32_t r = 0; r < SN_MAX_REGIONS; r++) {
    gates[r] = new_gate(w);
    SN_TRY(set_gate(w, k->frame, gates[r], k->frame->gate, test, r == 0));
  }
  for (uint32_t r = 0; r < SN_MAX_REGIONS; r++) {
    sn_frame branch;
    SN_TRY(open_region(w, k, r, &branch));
    branch.gate = gates[r];
    for (size_t i = 0; i < k->c.n_results; i++)
      branch.places[sn_output_buffer(branch.program, i)] = result_at(k, i, k->room.spares[i]);
    SN_TRY(write_steps(w, &branch, NULL));
  }
  return SN_OK;
}

static sn_status write_control(writer *w, const sn_frame *frame, const sn_step *step) {
  control_step k;
  SN_TRY(make(w, frame, step, &k));
  switch ((int)k.c.op) {
  case SN_OP_scan: return write_scan(w, &k);
  case SN_OP_while_loop: return write_while(w, &k);
  default: return write_cond(w, &k);
  }
}

/* ---- the whole -------------------------------------------------------------------------------- */

static sn_status write_steps(writer *w, const sn_frame *frame, size_t *ends) {
  for (size_t i = 0; i < frame->program->n_steps; i++) {
    const sn_step *step = &frame->program->steps[i];
    if (step->kind == SN_STEP_CONTROL)
      SN_TRY(write_control(w, frame, step));
    else
      SN_TRY(write_group(w, frame, &frame->program->groups.groups[step->group]));
    if (ends) ends[i] = w->n;
  }
  return SN_OK;
}

/* Assigns words of the gates' buffer to each dispatch behind a gate, and tells the dispatches that set a gate which words
 * these are. */
static sn_status lay_out_gates(writer *w, uint32_t *n_words) {
  const uint32_t n = w->n_gates;
  sn_gate_words *gates;
  uint32_t *taken;
  *n_words = n;
  if (!n) return SN_OK;
  SN_TRY(sn_arena_alloc(w->arena, n, sizeof *gates, (void **)&gates));
  SN_TRY(sn_arena_alloc(w->arena, n, sizeof *taken, (void **)&taken));
  for (size_t i = 0; i < w->n; i++) gates[w->list[i].dispatch.gate].count++;
  for (uint32_t g = 1; g < n; g++) {
    gates[g].flag = g;
    gates[g].first = *n_words;
    *n_words += 6 * gates[g].count;
  }
  for (size_t i = 0; i < w->n; i++) {
    sn_dispatch *d = &w->list[i].dispatch;
    const uint32_t gate = d->gate, sets = w->gates[i];
    if (gate) d->gate = gates[gate].first + 6 * taken[gate]++;
    if (!sets) continue;
    sn_gate_words words = gates[sets];
    words.outer = d->constants[1];
    memcpy((uint32_t *)(uintptr_t)d->constants, &words, sizeof words);
    for (uint32_t b = 0; b < d->n_bindings; b++) {
      sn_shader_binding *binding = (sn_shader_binding *)(uintptr_t)&d->bindings[b];
      if (binding->buffer == SN_GATES) binding->bytes = 0; /* binds the whole buffer */
    }
  }
  return SN_OK;
}

sn_status sn_wgsl_program(sn_arena *arena, const sn_program_code *program, sn_device_steps *out) {
  writer w = {.arena = arena, .rounds = 1};
  sn_frame outermost;
  *out = (sn_device_steps){0};
  SN_TRY(sn_frame_outermost(arena, program, &outermost));
  SN_TRY(sn_arena_alloc(arena, program->n_steps, sizeof *out->ends, (void **)&out->ends));
  SN_TRY(write_steps(&w, &outermost, out->ends));
  SN_TRY(lay_out_gates(&w, &out->gate_words));
  out->list = w.list;
  out->n = w.n;
  return SN_OK;
}
