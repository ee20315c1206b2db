#include "jit_cases.h"

#include <stdlib.h>
#include <string.h>

#include "fuse/fuse.h"

#define PAGE 65536
#define POISON 0xA7
#define TABLE_AT 1024
#define LANE_AT 4096
#define GAP 64

/* ---- bodies ---------------------------------------------------------------------------------- */

#define MAX_INSNS 64

typedef struct body_maker {
  jit_case *c;
  int rank;
  int64_t dims[SN_MAX_RANK];
  int free_rank; /* operands may change along the first free_rank dims only */
  sn_body body;
} body_maker;

static bool allocate(jit_case *c, size_t count, size_t size, void *out) {
  return sn_arena_alloc(&c->arena, count, size, (void **)out) == SN_OK;
}

static uint32_t add_buffer(jit_case *c, sn_dtype dtype, int64_t elements, bool output) {
  c->buffers[c->n_buffers] =
      (jit_buffer){.dtype = dtype, .elements = elements > 0 ? elements : 1, .output = output};
  return c->n_buffers++;
}

/* Strides of an operand that sees every element at most once along the dims it does not repeat;
 * returns the elements it needs. */
static int64_t random_walk(body_maker *m, bool repeat, sn_operand *o) {
  case_random *r = &m->c->random;
  const int64_t way = case_below(r, 4); /* 0, 1: row-major */
  int order[SN_MAX_RANK];
  for (int i = 0; i < m->rank; i++) order[i] = i;
  for (int i = m->rank - 1; way > 1 && i > 0; i--) {
    const int k = (int)case_below(r, i + 1), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
  int64_t step = way == 3 ? 1 + case_below(r, 3) : 1;
  const bool single = repeat && case_one_in(r, 6);
  o->offset = case_below(r, 3);
  int64_t elements = o->offset + 1;
  for (int i = m->rank - 1; i >= 0; i--) {
    const int dim = order[i];
    const bool still = single || dim >= m->free_rank || (repeat && case_one_in(r, 4));
    if (still || m->dims[dim] == 0) continue;
    o->strides[dim] = step;
    const int64_t reach = (m->dims[dim] - 1) * step;
    elements += reach;
    step *= m->dims[dim];
    if (way > 1 && case_one_in(r, 3)) {
      o->offset += reach;
      o->strides[dim] = -o->strides[dim];
    }
  }
  return elements;
}

static uint32_t add_insn(body_maker *m, sn_insn insn) {
  m->body.insns[m->body.n_insns] = insn;
  return m->body.n_insns++;
}

static uint32_t add_load(body_maker *m, sn_dtype dtype) {
  sn_operand *o = &m->body.operands[m->body.n_operands];
  *o = (sn_operand){.dtype = dtype};
  const int64_t elements = random_walk(m, true, o);
  if (dtype != SN_BOOL && case_one_in(&m->c->random, 8))
    o->value = SN_NONE;
  else
    o->value = add_buffer(m->c, dtype, elements, false);
  return add_insn(
      m,
      (sn_insn){.kind = SN_INSN_LOAD, .dtype = dtype, .n_args = 1, .args = {m->body.n_operands++}});
}

static uint32_t add_const(body_maker *m, sn_dtype dtype) {
  static const double values[] = {0, -0.0, 1, -1, 0.5, 3, 1e30, 7};
  return add_insn(m, (sn_insn){.kind = SN_INSN_CONST,
                               .dtype = dtype,
                               .value = values[case_below(&m->c->random, 8)]});
}

/* A value of the body so far, or a new one. */
static uint32_t any_value(body_maker *m, sn_dtype dtype, bool loaded) {
  case_random *r = &m->c->random;
  uint32_t found[MAX_INSNS], n = 0;
  for (uint32_t i = 0; i < m->body.n_insns; i++)
    if (m->body.insns[i].dtype == dtype && (!loaded || m->body.insns[i].kind == SN_INSN_LOAD))
      found[n++] = i;
  if (n && !case_one_in(r, 4)) return found[case_below(r, n)];
  if (!loaded && case_one_in(r, 5)) return add_const(m, dtype);
  if (m->c->n_buffers < JIT_MAX_BUFFERS - 6) return add_load(m, dtype);
  return n ? found[0] : add_const(m, dtype);
}

/* The bits of a computed NaN are free, so only loaded floats are reinterpreted. */
static void add_op(body_maker *m, sn_op op, sn_dtype in_dtype, sn_dtype out_dtype) {
  const sn_op_info *info = sn_op_describe(op);
  sn_insn insn = {.kind = SN_INSN_OP, .op = op, .in_dtype = in_dtype, .n_args = info->arity};
  insn.dtype = info->kind == SN_CLASS_COMPARE ? SN_BOOL
               : info->kind == SN_CLASS_CAST  ? out_dtype
                                              : in_dtype;
  for (uint32_t k = 0; k < insn.n_args; k++) {
    const bool mask = info->kind == SN_CLASS_SELECT && k == 0;
    insn.args[k] = any_value(m, mask ? SN_BOOL : in_dtype, op == SN_OP_bitcast);
  }
  add_insn(m, insn);
}

static bool usable(sn_op op, sn_dtype dtype) {
  const sn_op_info *info = sn_op_describe(op);
  if (op == SN_OP_bitcast) return dtype == SN_F32 || dtype == SN_I32;
  return info->arity > 0 && case_takes(op, dtype) &&
         (info->kind == SN_CLASS_MAP || info->kind == SN_CLASS_COMPARE ||
          info->kind == SN_CLASS_SELECT || info->kind == SN_CLASS_CAST);
}

static sn_dtype cast_target(case_random *r, sn_op op, sn_dtype from) {
  if (op == SN_OP_bitcast) return from == SN_F32 ? SN_I32 : SN_F32;
  return (sn_dtype)case_below(r, 4);
}

static void add_random_op(body_maker *m) {
  for (;;) {
    const sn_op op = (sn_op)case_below(&m->c->random, SN_OP_COUNT);
    const sn_dtype dtype = (sn_dtype)case_below(&m->c->random, 4);
    if (!usable(op, dtype)) continue;
    add_op(m, op, dtype, cast_target(&m->c->random, op, dtype));
    return;
  }
}

/* Op `number` of all (op, dtype) there are; false beyond the last. */
static bool add_numbered_op(body_maker *m, int number) {
  for (int op = 0; op < SN_OP_COUNT; op++)
    for (int dtype = 0; dtype < 4; dtype++)
      if (usable((sn_op)op, (sn_dtype)dtype) && number-- == 0) {
        add_op(m, (sn_op)op, (sn_dtype)dtype,
               cast_target(&m->c->random, (sn_op)op, (sn_dtype)dtype));
        return true;
      }
  return false;
}

static bool begin_body(body_maker *m, jit_case *c, int rank, const int64_t *dims) {
  *m = (body_maker){.c = c, .rank = rank, .free_rank = rank};
  memcpy(m->dims, dims, (size_t)rank * sizeof *dims);
  return allocate(c, MAX_INSNS, sizeof *m->body.insns, &m->body.insns) &&
         allocate(c, MAX_INSNS, sizeof *m->body.operands, &m->body.operands);
}

static void add_store(body_maker *m, uint32_t insn, sn_store *store) {
  *store = (sn_store){.insn = insn, .target = {.dtype = m->body.insns[insn].dtype}};
  const int64_t elements = random_walk(m, false, &store->target);
  store->target.value = add_buffer(m->c, store->target.dtype, elements, true);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33, 64, 100, 257, 1000};

static void random_dims(case_random *r, int rank, int64_t most, int64_t *dims) {
  for (int i = 0; i < rank; i++) {
    do dims[i] = sizes[case_below(r, 15)];
    while (dims[i] > most);
    most /= dims[i];
  }
}

static bool make_post(jit_case *c, int number, bool heads) {
  sn_group *g = &c->group;
  body_maker m;
  if (!begin_body(&m, c, g->space_rank, g->space)) return false;
  if (heads)
    add_insn(&m, (sn_insn){
                     .kind = SN_INSN_HEAD, .dtype = g->phases[0].reductions[0].dtype, .n_args = 1});
  if (!heads && add_numbered_op(&m, number))
    snprintf(c->name, sizeof c->name, "%s",
             sn_op_describe(m.body.insns[m.body.n_insns - 1].op)->name);
  else
    for (int64_t n = case_below(&c->random, 12); n >= 0; n--) add_random_op(&m);
  const uint32_t n_stores = (uint32_t)(1 + case_below(&c->random, 3));
  if (!allocate(c, n_stores, sizeof *g->stores, &g->stores)) return false;
  g->n_stores = n_stores;
  for (uint32_t i = 0; i < n_stores; i++) {
    const int64_t n = m.body.n_insns;
    add_store(&m, (uint32_t)(i ? case_below(&c->random, n) : n - 1), &g->stores[i]);
  }
  g->post = m.body;
  return true;
}

static bool make_map(jit_case *c, int number) {
  sn_group *g = &c->group;
  g->kind = SN_GROUP_MAP;
  g->space_rank = (int)case_below(&c->random, 4);
  random_dims(&c->random, g->space_rank, 1500, g->space);
  return make_post(c, number, false);
}

/* ---- the image ------------------------------------------------------------------------------- */

static void fill_buffers(jit_case *c) {
  for (uint32_t i = 0; i < c->n_buffers; i++) {
    const jit_buffer *b = &c->buffers[i];
    if (b->output) continue;
    sn_op op = (sn_op)case_below(&c->random, SN_OP_COUNT);
    while (!usable(op, b->dtype)) op = (sn_op)case_below(&c->random, SN_OP_COUNT);
    case_fill(&c->random, op, 0, b->dtype, (case_values)case_below(&c->random, 4), b->elements,
              c->before + b->at);
  }
}

/* From the end downwards, in a random turn, so that any buffer may be the last. */
static bool place_buffers(jit_case *c) {
  size_t bytes = LANE_AT + c->kernel.lane_bytes + GAP + 16 * 1024;
  for (uint32_t i = 0; i < c->n_buffers; i++)
    bytes += (size_t)c->buffers[i].elements * sn_dtype_bytes(c->buffers[i].dtype) + GAP + 8;
  c->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
  if (!allocate(c, c->bytes, 1, &c->before) || !allocate(c, c->bytes, 1, &c->after)) return false;
  memset(c->before, POISON, c->bytes);
  const uint32_t turn = (uint32_t)case_below(&c->random, c->n_buffers);
  size_t end = c->bytes;
  for (uint32_t i = 0; i < c->n_buffers; i++) {
    jit_buffer *b = &c->buffers[(i + turn) % c->n_buffers];
    const size_t item = sn_dtype_bytes(b->dtype);
    b->at = (uint32_t)((end - (size_t)b->elements * item) / item * item);
    end = b->at - GAP;
  }
  c->values = TABLE_AT;
  c->lane = LANE_AT;
  c->extra = (uint32_t)((LANE_AT + c->kernel.lane_bytes + GAP + 63) & ~(size_t)63);
  fill_buffers(c);
  for (uint32_t i = 0; i < c->n_buffers; i++)
    memcpy(c->before + TABLE_AT + 4 * i, &c->buffers[i].at, 4);
  memcpy(c->after, c->before, c->bytes);
  return true;
}

/* ---- running by the VM ----------------------------------------------------------------------- */

typedef struct vm_state {
  jit_case *c;
  char *lane;
  void *values[JIT_MAX_BUFFERS];
} vm_state;

static bool vm_begin(vm_state *s, jit_case *c) {
  s->c = c;
  for (uint32_t i = 0; i < c->n_buffers; i++) s->values[i] = c->after + c->buffers[i].at;
  char *memory;
  if (!allocate(c, c->kernel.lane_bytes + 64, 1, &memory)) return false;
  s->lane = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  return true;
}

static void add_call(jit_case *c, sn_jit_role role, int n_args, const int32_t *args) {
  jit_call *call = &c->calls[c->n_calls++];
  *call = (jit_call){.function = c->module.functions[0].of[role], .n_args = n_args};
  memcpy(call->args, args, (size_t)n_args * sizeof *args);
}

static int64_t piece(case_random *r, int64_t left, bool last) {
  return last || case_one_in(r, 2) ? left : case_below(r, left + 1);
}

static bool run_strip(jit_case *c, const void *heads) {
  vm_state s;
  if (!vm_begin(&s, c)) return false;
  const int64_t points = sn_group_points(&c->group);
  const size_t item = heads ? c->kernel.reduce.fold.item_bytes : 0;
  sn_vm_begin(&c->kernel.post, s.lane, s.values);
  for (int64_t flat = 0; flat < points;) {
    const int64_t n = piece(&c->random, points - flat, c->n_calls == 3);
    const int32_t head = heads ? (int32_t)(c->extra + (size_t)flat * item) : 0;
    add_call(c, SN_JIT_STRIP, 5,
             (int32_t[]){(int32_t)c->values, (int32_t)c->lane, head, (int32_t)flat, (int32_t)n});
    for (int64_t i = 0; i < n; i += SN_STRIP) {
      const void *at = heads ? (const char *)heads + (size_t)(flat + i) * item : NULL;
      sn_vm_strip(&c->kernel.post, s.lane, s.values, flat + i, n - i < SN_STRIP ? n - i : SN_STRIP,
                  &(sn_vm_inputs){.heads = &at});
    }
    flat += n;
  }
  return true;
}

/* ---- a case ---------------------------------------------------------------------------------- */

static void *allocate_raw(void *user, size_t bytes, size_t alignment) {
  (void)user;
  void *block;
  return posix_memalign(&block, alignment, bytes) ? NULL : block;
}

static void release_raw(void *user, void *block, size_t bytes) {
  (void)user;
  (void)bytes;
  free(block);
}

static bool make_group(jit_case *c, int number) { return make_map(c, number); }

static bool run_case(jit_case *c) { return run_strip(c, NULL); }

bool jit_case_make(jit_case *c, uint64_t seed, int number, bool relaxed) {
  *c = (jit_case){
      .env = {.heap = {.allocator = {NULL, allocate_raw, release_raw},
                       .limit_bytes = SIZE_MAX,
                       .fail_countdown = -1}},
      .random = {seed * 1000003 + (uint64_t)number * 7919 + 1},
  };
  sn_arena_init(&c->arena, &c->env);
  const sn_machine machine = {.isa = sn_isa_detect(), .deterministic = true};
  const sn_jit_target target = {.relaxed = relaxed};
  bool ok = make_group(c, number);
  if (ok && case_one_in(&c->random, 2)) sn_merge_dims(&c->group);
  ok = ok && sn_kernel_make(&c->arena, &machine, &c->group, &c->kernel) == SN_OK &&
       place_buffers(c) && sn_jit_emit(&c->arena, &target, &c->kernel, 1, &c->module) == SN_OK &&
       run_case(c);
  if (!ok)
    fprintf(stderr, "jit_modules: seed %llu case %d: %s\n", (unsigned long long)seed, number,
            c->env.error.message);
  return ok;
}

static void write_calls(const jit_case *c, FILE *out, char *line, size_t size) {
  (void)out;
  size_t at = strlen(line);
  for (int i = 0; i < c->n_calls; i++) {
    const jit_call *call = &c->calls[i];
    at += (size_t)snprintf(line + at, size - at, "%s[%d", i ? "," : "", (int)call->function);
    for (int k = 0; k < call->n_args; k++)
      at += (size_t)snprintf(line + at, size - at, ",%d", (int)call->args[k]);
    at += (size_t)snprintf(line + at, size - at, "]");
  }
}

static void write_regions(const jit_case *c, char *line, size_t size) {
  size_t at = strlen(line);
  for (uint32_t i = 0; i < c->n_buffers; i++)
    at += (size_t)snprintf(line + at, size - at, "[%u,%lld,\"%s\"],", c->buffers[i].at,
                           (long long)c->buffers[i].elements, sn_dtype_name(c->buffers[i].dtype));
  snprintf(line + at, size - at, "[%u,%lld,\"%s\"]", c->extra, (long long)c->extra_elements,
           sn_dtype_name(c->extra_dtype));
}

bool jit_case_write(const jit_case *c, FILE *out) {
  char line[4096];
  snprintf(line, sizeof line,
           "{\"name\":\"%s\",\"module\":%zu,\"bytes\":%zu,\"lane\":[%u,%zu],\"calls\":[", c->name,
           c->module.n_bytes, c->bytes, c->lane, c->kernel.lane_bytes);
  write_calls(c, out, line, sizeof line);
  strncat(line, "],\"regions\":[", sizeof line - strlen(line) - 1);
  write_regions(c, line, sizeof line);
  strncat(line, "]}\n", sizeof line - strlen(line) - 1);
  const uint32_t length = (uint32_t)strlen(line);
  return fwrite(&length, 4, 1, out) == 1 && fwrite(line, length, 1, out) == 1 &&
         fwrite(c->module.bytes, c->module.n_bytes, 1, out) == 1 &&
         fwrite(c->before, c->bytes, 1, out) == 1 && fwrite(c->after, c->bytes, 1, out) == 1;
}

void jit_case_free(jit_case *c) { sn_arena_free(&c->arena); }
