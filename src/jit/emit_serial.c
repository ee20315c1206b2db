/* emit_serial.c - a loop of scalar programs (kernels/serial_loop.h) as one function: carries in registers, pointers to what
 * moves from round to round, and everything that does not before the loop. */
#include "jit/access.h"
#include "jit/body.h"
#include "jit/jit.h"
#include "jit/lower_kernel.h"

/* Elements of all carries; more are no scalars. */
#define MOST_ELEMENTS 64

typedef struct serial {
  sn_jit j; /* first: operands are read by way of this */
  const sn_serial_loop *loop;
  uint32_t first_value;                /* of the program being described */
  uint32_t element[MOST_ELEMENTS + 1]; /* per carry: its first one */
  uint32_t registers[MOST_ELEMENTS], begins[MOST_ELEMENTS], ends[MOST_ELEMENTS]; /* leaves */
  uint32_t test, test_ends; /* leaves: of whether there is a round */
} serial;

static const int64_t still[SN_MAX_RANK];

static uint32_t leaf_at(serial *s, sn_dtype dtype, uint32_t value, int64_t offset, int level) {
  const sn_walk_base base = {.kind = SN_BASE_VALUE, .number = value, .level = level};
  return sn_walk_leaf(&s->j.walk, dtype, base, offset, still);
}

static uint32_t in_registers(serial *s, sn_dtype dtype, uint32_t value, int64_t offset) {
  const uint32_t leaf = leaf_at(s, dtype, value, offset, 2);
  if (!s->j.walk.status) s->j.walk.leaves[leaf].kind = SN_LEAF_REGISTERS;
  return leaf;
}

static sn_status describe_carries(serial *s) {
  const sn_serial_loop *loop = s->loop;
  for (uint32_t c = 0; c < loop->n_carries; c++) {
    const sn_dtype dtype = loop->carries[c].dtype;
    const int64_t n = sn_type_size(&loop->carries[c]);
    if (n > MOST_ELEMENTS - (int64_t)s->element[c]) s->j.unable = true;
    if (s->j.unable) return SN_OK;
    s->element[c + 1] = s->element[c] + (uint32_t)n;
    for (int64_t i = 0; i < n; i++) {
      const uint32_t e = s->element[c] + (uint32_t)i;
      s->begins[e] = leaf_at(s, dtype, sn_serial_begins(loop, c), i, 0);
      s->ends[e] = leaf_at(s, dtype, sn_serial_ends(loop, c), i, 0);
      s->registers[e] = in_registers(s, dtype, sn_serial_begins(loop, c), i);
    }
  }
  if (loop->test) {
    s->test = in_registers(s, SN_BOOL, sn_serial_test(loop), 0);
    s->test_ends = leaf_at(s, SN_BOOL, sn_serial_test(loop), 0, 0);
  }
  return s->j.walk.status;
}

/* The leaf of an operand: one element. */
static uint32_t operand_leaf(serial *s, const sn_operand *o) {
  const uint32_t value = s->first_value + o->value;
  const sn_serial_value *at = &s->loop->values[value];
  switch (at->kind) {
  case SN_SERIAL_CARRY: return s->registers[s->element[at->carry] + (uint32_t)o->offset];
  case SN_SERIAL_TEST: return s->test;
  case SN_SERIAL_MOVES: return leaf_at(s, o->dtype, value, o->offset, 2);
  case SN_SERIAL_STILL: break;
  }
  return leaf_at(s, o->dtype, value, o->offset, 0);
}

/* An element of a round is in all lanes, so both halves of a float64's are one. */
static sn_vec_value read_operand(sn_jit *j, const sn_operand *o) {
  serial *s = (serial *)j;
  if (sn_is_indexed(o)) j->unable = true;
  if (j->unable || o->value == SN_NONE) return sn_walk_read(&j->walk, sn_jit_operand(j, o));
  const uint32_t leaf = operand_leaf(s, o);
  if (j->walk.status) return (sn_vec_value){{0, 0}};
  const sn_vec x = sn_vec_input(&j->walk.lanes, j->walk.leaves[leaf].level, 2 * leaf);
  return (sn_vec_value){{x, x}};
}

static sn_status describe(serial *s, const sn_kernel *kernel, uint32_t first_value) {
  sn_jit *j = &s->j;
  j->kernel = kernel;
  s->first_value = first_value;
  SN_TRY(sn_jit_body(j, &kernel->group->post, NULL));
  for (uint32_t i = 0; i < kernel->group->n_stores && !j->unable; i++) {
    const sn_store *store = &kernel->group->stores[i];
    sn_walk_write(&j->walk, operand_leaf(s, &store->target), &j->insns[store->insn]);
  }
  return j->walk.status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void begin_carries(serial *s) {
  sn_walk *k = &s->j.walk;
  const uint32_t n = s->element[s->loop->n_carries];
  k->copy = SN_COPY_ONE;
  for (uint32_t e = 0; e < n; e++) {
    const int halves = sn_vec_halves(k->leaves[s->registers[e]].dtype);
    sn_walk_reserve(k, s->registers[e], (uint32_t)halves);
    for (int h = 0; h < halves; h++)
      sn_access_load(k, 2 * s->begins[e], k->leaves[s->registers[e]].registers + (uint32_t)h);
  }
  if (s->loop->test) sn_walk_reserve(k, s->test, 1);
}

static void end_carries(serial *s) {
  sn_walk *k = &s->j.walk;
  const uint32_t n = s->element[s->loop->n_carries];
  for (uint32_t e = 0; e < n; e++)
    sn_access_put(k, s->ends[e], k->leaves[s->registers[e]].registers);
}

static void move_on(serial *s) {
  const sn_walk_bases *bases = s->j.walk.bases;
  for (uint32_t v = 0; v < s->loop->n_values; v++)
    if (s->loop->values[v].kind == SN_SERIAL_MOVES && bases->walk[v] == bases->now)
      sn_emit_add(s->j.w, bases->local[v], s->loop->values[v].step);
}

static sn_status write_function(serial *s) {
  enum { TABLE, ROUNDS, N_PARAMS };
  sn_wasm *w = s->j.w;
  sn_walk *k = &s->j.walk;
  const bool tests = s->loop->test != NULL;
  sn_wasm_function(w, N_PARAMS);
  k->values = TABLE;
  SN_TRY(sn_walk_start(k));
  begin_carries(s);
  sn_emit_while(w, ROUNDS, 1);
  if (tests) {
    sn_walk_enter(k, 0);
    sn_walk_copy(k, 0, SN_COPY_ONE, 0);
    sn_emit_get(w, k->leaves[s->test].registers);
    sn_emit(w, SN_WASM_v128_any_true);
    sn_emit(w, SN_WASM_i32_eqz);
    sn_emit_index(w, SN_WASM_br_if, 1);
  }
  const uint32_t section = tests ? 1 : 0;
  sn_walk_enter(k, section);
  sn_walk_copy(k, section, SN_COPY_ONE, 0);
  move_on(s);
  sn_emit_add(w, ROUNDS, -1);
  sn_emit_repeat(w, ROUNDS, 1);
  end_carries(s);
  if (tests) sn_access_put(k, s->test_ends, k->leaves[s->test].registers);
  sn_wasm_function_end(w);
  return k->status;
}

static sn_status emit(serial *s) {
  sn_jit *j = &s->j;
  const sn_serial_loop *loop = s->loop;
  SN_TRY(sn_walk_begin(&j->walk, j->arena, j->w, j->lanes, 0, still, j->bases));
  SN_TRY(describe_carries(s));
  if (loop->test && !j->unable) {
    SN_TRY(describe(s, loop->test, loop->n_body_values));
    sn_vecs_section(&j->walk.lanes);
  }
  if (!j->unable) SN_TRY(describe(s, loop->body, 0));
  SN_TRY(j->walk.lanes.status);
  return j->unable ? SN_OK : write_function(s);
}

static sn_status make_module(sn_arena *arena, bool fused, const sn_serial_loop *loop,
                             sn_code_module **out) {
  const size_t n = sn_serial_table(loop);
  const uint8_t *bytes;
  size_t n_bytes;
  sn_wasm w;
  sn_walk_bases bases = {0};
  serial *s;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *bases.local, (void **)&bases.local));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *bases.walk, (void **)&bases.walk));
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *s, (void **)&s));
  sn_wasm_begin(&w, arena, sn_code_memory_is_shared());
  s->j = (sn_jit){.arena = arena,
                  .w = &w,
                  .lanes = sn_vec_target_here(fused),
                  .bases = &bases,
                  .read = read_operand};
  s->loop = loop;
  SN_TRY(emit(s));
  if (s->j.unable) return SN_OK;
  SN_TRY(sn_wasm_finish(&w, &bytes, &n_bytes));
  return sn_code_register(arena->env, bytes, n_bytes, 1, out);
}

sn_status sn_jit_serial(sn_env *env, bool fused, const sn_serial_loop *loop, sn_code_module **out) {
  *out = NULL;
  if (!sn_code_first_place()) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, env);
  const sn_status status = make_module(&scratch, fused, loop, out);
  sn_arena_free(&scratch);
  return status;
}
