#include "jit_cases.h"

#include <stdlib.h>
#include <string.h>

#include "fuse/fuse.h"
#include "kernels/quant_rows.h"

#define PAGE 65536
#define POISON 0xA7
#define TABLE_AT 1024
#define WORKER_AT 4096
#define GAP 64

/* ---- bodies ---------------------------------------------------------------------------------- */

#define MAX_INSNS 1024

typedef struct body_maker {
  jit_case *c;
  int rank;
  int64_t dims[SN_MAX_RANK];
  int outermost; /* this dim lies outermost in memory, mostly */
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
  const int64_t way = case_below(r, 4); /* 0, 1: in order */
  int order[SN_MAX_RANK];
  for (int i = 0; i < m->rank; i++) order[i] = (i + m->outermost) % m->rank;
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
    const bool still = single || (repeat && case_one_in(r, 4));
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

/* The operand's elements lie in one of a few places that memory tells; returns all it needs then. */
static int64_t add_indexing(body_maker *m, sn_operand *o, int64_t elements) {
  sn_indexing *at;
  if (!allocate(m->c, 1, sizeof *at, &at)) return elements;
  *at = (sn_indexing){.index = {.dtype = SN_I32},
                      .stride = 1 + case_below(&m->c->random, elements),
                      .length = 1 + case_below(&m->c->random, 4)};
  const int64_t indices = random_walk(m, true, &at->index);
  at->index.value = add_buffer(m->c, SN_I32, indices, false);
  o->form = SN_FORM_INDEXED;
  o->indexing = at;
  return elements + (at->length - 1) * at->stride;
}

static uint32_t add_load(body_maker *m, sn_dtype dtype) {
  sn_operand *o = &m->body.operands[m->body.n_operands];
  *o = (sn_operand){.dtype = dtype};
  int64_t elements = random_walk(m, true, o);
  const bool room = m->c->n_buffers < JIT_MAX_BUFFERS - 8;
  if (room && case_one_in(&m->c->random, 6)) elements = add_indexing(m, o, elements);
  if (!sn_is_indexed(o) && dtype != SN_BOOL && case_one_in(&m->c->random, 8))
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

/* What there is code for and a VM here to compare with: not the functions of float64, which
 * have no code, and with relaxed SIMD not those of float32, which are the fused ones. */
static bool usable(const jit_case *c, sn_op op, sn_dtype dtype) {
  const sn_op_info *info = sn_op_describe(op);
  if (case_is_function(op) && (dtype == SN_F64 || (dtype == SN_F32 && c->relaxed))) return false;
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
    if (!usable(m->c, op, dtype)) continue;
    add_op(m, op, dtype, cast_target(&m->c->random, op, dtype));
    return;
  }
}

/* Op `number` of all (op, dtype) there are; false beyond the last. */
static bool add_numbered_op(body_maker *m, int number) {
  for (int op = 0; op < SN_OP_COUNT; op++)
    for (int dtype = 0; dtype < 4; dtype++)
      if (usable(m->c, (sn_op)op, (sn_dtype)dtype) && number-- == 0) {
        add_op(m, (sn_op)op, (sn_dtype)dtype,
               cast_target(&m->c->random, (sn_op)op, (sn_dtype)dtype));
        return true;
      }
  return false;
}

static bool begin_body(body_maker *m, jit_case *c, int rank, const int64_t *dims) {
  *m = (body_maker){.c = c, .rank = rank};
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

static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 33, 64, 100, 257, 1000};

static void random_dims(case_random *r, int rank, int64_t most, int64_t *dims) {
  for (int i = 0; i < rank; i++) {
    do dims[i] = sizes[case_below(r, sizeof sizes / sizeof *sizes)];
    while (dims[i] > most);
    most /= dims[i];
  }
}

/* A program over one point may be long. */
static int64_t count_ops(case_random *r, const sn_group *g) {
  return case_below(r, g->space_rank == 0 && case_one_in(r, 4) ? 600 : 12);
}

static bool make_post(jit_case *c, int number, bool totals) {
  sn_group *g = &c->group;
  body_maker m;
  if (!begin_body(&m, c, g->space_rank, g->space)) return false;
  if (totals)
    add_insn(&m, (sn_insn){.kind = SN_INSN_TOTAL,
                           .dtype = g->row.phases[0].reductions[0].dtype,
                           .n_args = 1});
  if (!totals && add_numbered_op(&m, number))
    snprintf(c->name, sizeof c->name, "%s",
             sn_op_describe(m.body.insns[m.body.n_insns - 1].op)->name);
  else
    for (int64_t n = count_ops(&c->random, g); n >= 0; n--) add_random_op(&m);
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

static const int64_t lengths[] = {1,   2,   3,   5,   16,  31,   32,   33,   63,   64,  100,
                                  255, 256, 257, 300, 512, 1000, 1024, 1100, 2500, 8192};

static sn_op any_reduction(case_random *r, sn_dtype dtype) {
  for (;;) {
    const sn_op op = (sn_op)case_below(r, SN_OP_COUNT);
    if (sn_op_describe(op)->kind == SN_CLASS_REDUCE && sn_op_takes(op, dtype)) return op;
  }
}

/* A body over (space, reduced) with a value of dtype to reduce, which is its last. */
static bool make_summand(jit_case *c, sn_phase *phase, body_maker *m) {
  static const sn_dtype dtypes[] = {SN_F32, SN_F64, SN_I32};
  const sn_dtype dtype = dtypes[case_below(&c->random, 3)];
  for (int64_t n = case_below(&c->random, 5); n > 0; n--) add_random_op(m);
  if (case_one_in(&c->random, 2)) add_op(m, SN_OP_add, dtype, dtype);
  phase->reductions[0] = (sn_reduction){
      .op = any_reduction(&c->random, dtype), .dtype = dtype, .insn = any_value(m, dtype, false)};
  phase->n_reductions = 1;
  phase->body = m->body;
  return true;
}

static void whole_dims(const sn_group *g, int64_t *dims) {
  for (int i = 0; i < g->space_rank; i++) dims[i] = g->space[i];
  for (int i = 0; i < g->reduced_rank; i++) dims[g->space_rank + i] = g->reduced[i];
}

/* One run, or now and then several. */
static void make_reduced(jit_case *c, int64_t n_lengths) {
  sn_group *g = &c->group;
  g->reduced_rank = 1;
  if (case_one_in(&c->random, 4)) {
    g->reduced_rank = 2 + (int)case_below(&c->random, 2);
    random_dims(&c->random, g->reduced_rank, 1500, g->reduced);
  } else {
    g->reduced[0] = lengths[case_below(&c->random, case_one_in(&c->random, 4) ? n_lengths : 16)];
  }
}

/* Makes it a ragged one: a sum, of what does not move along the first dim. */
static bool make_bags(jit_case *c) {
  sn_row *row = &c->group.row;
  sn_body *body = &row->phases[0].body;
  if (!allocate(c, 1, sizeof *row->ends, &row->ends)) return false;
  *row->ends = (sn_operand){
      .dtype = SN_I32, .value = add_buffer(c, SN_I32, c->group.space[0], false), .strides = {1}};
  row->phases[0].reductions[0].op = SN_OP_sum;
  for (uint32_t i = 0; i < body->n_operands; i++) {
    sn_operand *o = &body->operands[i];
    o->strides[0] = 0;
    if (sn_is_indexed(o)) o->indexing->index.strides[0] = 0;
  }
  return true;
}

static bool make_reduce(jit_case *c) {
  sn_group *g = &c->group;
  g->kind = SN_GROUP_REDUCE;
  g->space_rank = (int)case_below(&c->random, 3);
  random_dims(&c->random, g->space_rank, 300, g->space);
  make_reduced(c, 21);
  g->row.n_phases = g->row.n_totals = 1;
  int64_t dims[SN_MAX_RANK];
  whole_dims(g, dims);
  body_maker m;
  if (!allocate(c, 1, sizeof *g->row.phases, &g->row.phases) ||
      !allocate(c, 1, sizeof *g->row.phases->reductions, &g->row.phases->reductions) ||
      !begin_body(&m, c, g->space_rank + g->reduced_rank, dims))
    return false;
  if (case_one_in(&c->random, 2)) m.outermost = g->space_rank; /* columns */
  const bool bags = g->space_rank == 2 && g->reduced_rank == 1 && case_one_in(&c->random, 2);
  snprintf(c->name, sizeof c->name, bags ? "bags" : "reduce");
  return make_summand(c, &g->row.phases[0], &m) && (!bags || make_bags(c)) && make_post(c, 0, true);
}

/* A phase that may read what earlier ones reduced and kept. */
static bool make_phase(jit_case *c, uint32_t number, const int64_t *dims) {
  sn_group *g = &c->group;
  sn_phase *phase = &g->row.phases[number];
  case_random *r = &c->random;
  body_maker m;
  if (!begin_body(&m, c, g->space_rank + g->reduced_rank, dims) ||
      !allocate(c, 4, sizeof *phase->reductions, &phase->reductions) ||
      !allocate(c, 2, sizeof *phase->keeps, &phase->keeps) ||
      !allocate(c, 2, sizeof *phase->stores, &phase->stores))
    return false;
  for (uint32_t i = 0; i < number; i++)
    for (uint32_t k = 0; k < g->row.phases[i].n_reductions; k++)
      add_insn(&m, (sn_insn){.kind = SN_INSN_TOTAL,
                             .dtype = g->row.phases[i].reductions[k].dtype,
                             .n_args = 1,
                             .args = {g->row.phases[i].first_total + k}});
  for (uint32_t i = 0; i < g->row.n_kept; i++)
    add_insn(&m,
             (sn_insn){.kind = SN_INSN_KEPT, .dtype = g->row.kept[i], .n_args = 1, .args = {i}});
  phase->first_total = g->row.n_totals;
  const bool last = number + 1 == g->row.n_phases;
  const bool many = number == 0 && case_one_in(r, 2); /* sums of short bodies, in registers */
  for (int64_t n = many ? 0 : case_below(r, 6); n > 0; n--) add_random_op(&m);
  const sn_dtype dtype = case_one_in(r, 4) ? SN_F64 : case_one_in(r, 4) ? SN_I32 : SN_F32;
  for (int i = 0; many && i < 4; i++) add_op(&m, i % 2 ? SN_OP_mul : SN_OP_sub, dtype, dtype);
  const int64_t most = many ? 4 : 2;
  for (int64_t n = last ? case_below(r, 2) : 1 + case_below(r, most); n > 0; n--)
    phase->reductions[phase->n_reductions++] = (sn_reduction){
        .op = any_reduction(r, dtype), .dtype = dtype, .insn = any_value(&m, dtype, false)};
  g->row.n_totals += phase->n_reductions;
  if (!last && case_one_in(r, 2)) {
    add_random_op(&m);
    g->row.kept[g->row.n_kept] = m.body.insns[m.body.n_insns - 1].dtype;
    phase->keeps[phase->n_keeps++] = (sn_kept){m.body.n_insns - 1, g->row.n_kept++};
  }
  if (last || case_one_in(r, 3)) {
    add_random_op(&m);
    add_store(&m, m.body.n_insns - 1, &phase->stores[phase->n_stores++]);
  }
  phase->body = m.body;
  return true;
}

static bool make_row(jit_case *c) {
  sn_group *g = &c->group;
  g->kind = SN_GROUP_ROW;
  g->space_rank = (int)case_below(&c->random, 3);
  random_dims(&c->random, g->space_rank, 20, g->space);
  make_reduced(c, 20);
  if (g->reduced_rank == 1 && case_one_in(&c->random, 4)) /* whole strips, one and more */
    g->reduced[0] = 256 * (1 + case_below(&c->random, 6));
  g->row.n_phases = (uint32_t)(1 + case_below(&c->random, 3));
  snprintf(c->name, sizeof c->name, "row of %u phases", g->row.n_phases);
  int64_t dims[SN_MAX_RANK];
  whole_dims(g, dims);
  if (!allocate(c, g->row.n_phases, sizeof *g->row.phases, &g->row.phases) ||
      !allocate(c, SN_MAX_KEPT, sizeof *g->row.kept, &g->row.kept))
    return false;
  for (uint32_t i = 0; i < g->row.n_phases; i++)
    if (!make_phase(c, i, dims)) return false;
  return !g->row.phases[0].n_reductions || make_post(c, 0, true);
}

/* Rows of blocks times rows of x: buffers are x, the rows, the result. */
static bool make_blocks(jit_case *c) {
  sn_group *g = &c->group;
  const sn_block_kind which = (sn_block_kind)case_below(&c->random, SN_BLOCK_KINDS);
  const sn_block_layout *layout = &sn_block_layouts[which];
  const int64_t blocks = 1 + case_below(&c->random, layout->numbers > SN_PART ? 3 : 11);
  const int64_t m = 1 + case_below(&c->random, 20), n = 4 + case_below(&c->random, 9);
  const int64_t k = blocks * layout->numbers, bytes = n * blocks * layout->bytes;
  g->kind = SN_GROUP_CALL;
  g->space_rank = 1;
  g->space[0] = m;
  int64_t *kind;
  if (!allocate(c, 2, sizeof *g->call.operands, &g->call.operands) ||
      !allocate(c, 2, sizeof *g->call.lengths, &g->call.lengths) ||
      !allocate(c, 1, sizeof *kind, &kind) || !allocate(c, 1, sizeof *g->stores, &g->stores))
    return false;
  *kind = which;
  g->call = (sn_call){.op = SN_OP_matmul_blocks,
                      .operands = g->call.operands,
                      .lengths = g->call.lengths,
                      .n_operands = 2,
                      .length = n,
                      .options = kind};
  g->call.lengths[0] = k;
  g->call.lengths[1] = bytes;
  g->call.operands[0] =
      (sn_operand){.dtype = SN_F32, .value = add_buffer(c, SN_F32, m * k, false), .strides = {k}};
  g->call.operands[1] = (sn_operand){.dtype = SN_U8, .value = add_buffer(c, SN_U8, bytes, true)};
  g->stores[0].target =
      (sn_operand){.dtype = SN_F32, .value = add_buffer(c, SN_F32, m * n, true), .strides = {n}};
  g->n_stores = 1;
  snprintf(c->name, sizeof c->name, "blocks of %s", layout->name);
  return true;
}

/* ---- the image ------------------------------------------------------------------------------- */

static void fill_buffers(jit_case *c) {
  for (uint32_t i = 0; i < c->n_buffers; i++) {
    const jit_buffer *b = &c->buffers[i];
    if (b->output) continue;
    sn_op op = (sn_op)case_below(&c->random, SN_OP_COUNT);
    while (!usable(c, op, b->dtype)) op = (sn_op)case_below(&c->random, SN_OP_COUNT);
    case_fill(&c->random, op, 0, b->dtype, (case_values)case_below(&c->random, 4), b->elements,
              c->before + b->at);
  }
}

/* From the end downwards, in a random turn, so that any buffer may be the last. */
static bool place_buffers(jit_case *c) {
  size_t bytes = WORKER_AT + c->kernel.worker_bytes + c->kernel.shared_bytes + GAP + 16 * 1024;
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
  c->worker = WORKER_AT;
  c->extra = (uint32_t)((WORKER_AT + c->kernel.worker_bytes + GAP + 63) & ~(size_t)63);
  fill_buffers(c);
  for (uint32_t i = 0; i < c->n_buffers; i++)
    memcpy(c->before + TABLE_AT + 4 * i, &c->buffers[i].at, 4);
  memcpy(c->after, c->before, c->bytes);
  return true;
}

/* ---- running by the VM ----------------------------------------------------------------------- */

typedef struct vm_state {
  jit_case *c;
  char *memory; /* of the worker */
  void *values[JIT_MAX_BUFFERS];
} vm_state;

static bool vm_begin(vm_state *s, jit_case *c) {
  s->c = c;
  for (uint32_t i = 0; i < c->n_buffers; i++) s->values[i] = c->after + c->buffers[i].at;
  char *memory;
  if (!allocate(c, c->kernel.worker_bytes + 64, 1, &memory)) return false;
  s->memory = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
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

static bool run_strip(jit_case *c, const void *totals) {
  vm_state s;
  if (!vm_begin(&s, c)) return false;
  const int64_t points = sn_group_points(&c->group);
  const size_t item = totals ? c->kernel.reduce.fold.item_bytes : 0;
  sn_vm_begin(&c->kernel.post, s.memory, s.values);
  for (int64_t flat = 0; flat < points;) {
    int64_t n = piece(&c->random, points - flat, c->n_calls == 3);
    if (c->group.kind == SN_GROUP_MAP && n < points - flat) n -= n % SN_STRIP;
    const int32_t total = totals ? (int32_t)(c->extra + (size_t)flat * item) : 0;
    add_call(c, SN_JIT_STRIP, 5,
             (int32_t[]){(int32_t)c->values, (int32_t)c->worker, total, (int32_t)flat, (int32_t)n});
    for (int64_t i = 0; i < n; i += SN_STRIP) {
      const void *at = totals ? (const char *)totals + (size_t)(flat + i) * item : NULL;
      sn_vm_strip(&c->kernel.post, s.memory, s.values, flat + i,
                  n - i < SN_STRIP ? n - i : SN_STRIP, &(sn_vm_inputs){.totals = &at});
    }
    flat += n;
  }
  return true;
}

/* Points [from, from + n) of the nest of one output, as reduce.c folds a block. */
static void vm_fold(vm_state *s, int64_t from, int64_t n, void *item) {
  const sn_kernel *k = &s->c->kernel;
  uint64_t scratch[SN_FOLD_SCRATCH_BYTES / 8];
  sn_block_fold f;
  sn_block_begin(&f, &k->reduce.fold, scratch);
  for (int64_t i = 0; i < n; i += SN_STRIP) {
    const int64_t part = n - i < SN_STRIP ? n - i : SN_STRIP;
    sn_vm_strip(&k->phases[0], s->memory, s->values, from + i, part, &(sn_vm_inputs){0});
    sn_block_strip(&f, sn_vm_slot(s->memory, k->group->row.phases[0].reductions[0].insn), part);
  }
  sn_block_end(&f, item);
}

static bool run_fold(jit_case *c) {
  vm_state s;
  if (!vm_begin(&s, c)) return false;
  case_random *r = &c->random;
  const sn_kernel *k = &c->kernel;
  const int64_t outputs = k->reduce.outputs, length = k->reduce.length;
  const size_t item = k->reduce.fold.item_bytes;
  sn_vm_begin(&k->phases[0], s.memory, s.values);
  c->extra_elements = 6;
  for (int i = 0; i < 6; i++) {
    const bool whole = case_one_in(r, 2) && length <= SN_FOLD_BLOCK;
    const int64_t row = case_below(r, outputs) * length, from = whole ? 0 : case_below(r, length);
    int64_t n = whole ? length : case_below(r, length - from + 1);
    if (n > SN_FOLD_BLOCK) n = SN_FOLD_BLOCK;
    const uint32_t at = c->extra + (uint32_t)(item * (size_t)i);
    add_call(c, SN_JIT_FOLD, 5,
             (int32_t[]){(int32_t)c->values, (int32_t)c->worker, (int32_t)at, (int32_t)(row + from),
                         (int32_t)n});
    vm_fold(&s, row + from, n, c->after + at);
  }
  return true;
}

static bool run_columns(jit_case *c) {
  vm_state s;
  if (!vm_begin(&s, c)) return false;
  case_random *r = &c->random;
  const sn_kernel *k = &c->kernel;
  const sn_fold_plan *p = &k->reduce.fold;
  const bool bags = k->reduce.mode == SN_REDUCE_RAGGED;
  const int64_t length = k->reduce.length;
  const int64_t outputs = bags && k->group->space[0] ? k->reduce.outputs / k->group->space[0]
                                                     : k->reduce.outputs; /* of a row */
  sn_vm_begin(&k->phases[0], s.memory, s.values);
  c->extra_elements = 3 * SN_STRIP;
  for (int i = 0; i < 3; i++) {
    const int64_t first = case_below(r, outputs) / SN_STRIP * SN_STRIP;
    const int64_t n = outputs - first < SN_STRIP ? outputs - first : SN_STRIP;
    const int64_t from = case_below(r, length);
    int64_t to = from + 1 + case_below(r, length - from);
    if (to > from + 16) to = from + 16;
    const uint32_t at = c->extra + (uint32_t)(p->item_bytes * SN_STRIP * (size_t)i);
    char *acc = c->after + at;
    if (bags) sn_strip_fill(p->dtype, acc, 0, n);
    add_call(c, SN_JIT_COLUMNS, 7,
             (int32_t[]){(int32_t)c->values, (int32_t)c->worker, (int32_t)at, (int32_t)first,
                         (int32_t)n, (int32_t)from, (int32_t)to});
    for (int64_t j = from; j < to && n; j++) {
      sn_vm_strip(&k->phases[0], s.memory, s.values, j * outputs + first, n, &(sn_vm_inputs){0});
      const void *x = sn_vm_slot(s.memory, k->group->row.phases[0].reductions[0].insn);
      if (j == from && !bags)
        memcpy(acc, x, (size_t)n * p->item_bytes);
      else
        p->combine(acc, acc, x, x, n, false);
    }
  }
  return true;
}

static bool run_rows(jit_case *c) {
  vm_state s;
  if (!vm_begin(&s, c)) return false;
  const sn_kernel_run run = {.kernel = &c->kernel, .values = s.values, .workers = s.memory};
  sn_kernel_units((void *)(uintptr_t)&run, 0, c->kernel.stages[0].units, 0);
  for (int64_t first = 0; first < c->kernel.row.rows;) {
    const int64_t n = piece(&c->random, c->kernel.row.rows - first, c->n_calls == 3);
    add_call(c, SN_JIT_ROWS, 5,
             (int32_t[]){(int32_t)c->values, (int32_t)c->worker, (int32_t)first, (int32_t)n,
                         (int32_t)c->kernel.row.length});
    first += n;
  }
  return true;
}

/* Any bytes. */
static void fill_rows(jit_case *c, const jit_buffer *rows) {
  for (int64_t i = 0; i < rows->elements; i++)
    c->before[rows->at + i] = (char)case_below(&c->random, 256);
  memcpy(c->after + rows->at, c->before + rows->at, (size_t)rows->elements);
}

/* Where x lies, as the kernel has quantised it. */
typedef struct place_of_x {
  int32_t q, scales, totals;
} place_of_x;

/* Row i of x behind the worker's memory. */
static place_of_x find_x(const jit_case *c, int64_t i) {
  const sn_blocks_plan *p = c->kernel.blocks;
  const int64_t k = p->shape.k, parts = k / SN_PART, part = i * parts * 4;
  const int64_t all = p->shape.batch * p->shape.rows * parts * 4;
  const size_t q = p->form == SN_QUANT_SHORTS ? 0 : p->bytes_offset;
  return (place_of_x){(int32_t)(c->extra + q + (size_t)i * sn_quant_bytes(p->form, k)),
                      (int32_t)(c->extra + (int64_t)p->scales_offset + part),
                      (int32_t)(c->extra + (int64_t)p->scales_offset + all + part)};
}

/* Four rows of blocks, unpacked in the worker's memory, times all of x. */
static void call_tiles(jit_case *c) {
  const sn_blocks_plan *p = c->kernel.blocks;
  const sn_blocks_shape *shape = &p->shape;
  const int64_t parts = shape->k / SN_PART, row = case_below(&c->random, shape->n - 3);
  const jit_buffer *rows = &c->buffers[1], *out = &c->buffers[2];
  memcpy(c->before + out->at, c->after + out->at, (size_t)out->elements * 4);
  for (int64_t i = 0; i < shape->rows; i++)
    memset(c->before + out->at + (i * shape->n + row) * 4, POISON, 16);
  char *unpacked = c->before + c->worker;
  sn_quant_rows four = {.kind = (sn_block_kind)*c->group.call.options,
                        .parts = parts,
                        .q = unpacked,
                        .scales = (float *)(void *)(unpacked + p->unpacked_scales_offset)};
  for (int r = 0; r < SN_QUANT_ROWS; r++)
    four.rows[r] = (uint8_t *)c->before + rows->at + (row + r) * shape->bytes;
  p->kernels->unpack(&four);
  sn_quant_arrange(p->form, &four);
  const place_of_x x = find_x(c, 0);
  add_call(c, SN_JIT_TILES, 9,
           (int32_t[]){(int32_t)c->worker, (int32_t)(c->worker + p->unpacked_scales_offset), x.q,
                       x.scales, x.totals, (int32_t)parts, (int32_t)shape->rows,
                       (int32_t)(out->at + row * 4), (int32_t)(shape->n * 4)});
}

/* Some rows of blocks at a time. */
static void call_blocks(jit_case *c) {
  const sn_blocks_shape *shape = &c->kernel.blocks->shape;
  for (int64_t i = 0; i < shape->rows; i++)
    for (int64_t row = 0; row < shape->n;) {
      const int64_t n = piece(&c->random, shape->n - row, c->n_calls > JIT_MAX_CALLS / 2);
      const place_of_x x = find_x(c, i);
      add_call(c, SN_JIT_BLOCKS, 8,
               (int32_t[]){(int32_t)(c->buffers[1].at + row * shape->bytes), (int32_t)shape->bytes,
                           (int32_t)n, x.q, x.scales, x.totals, (int32_t)(shape->k / SN_PART),
                           (int32_t)(c->buffers[2].at + 4 * (i * shape->n + row))});
      row += n;
    }
}

static bool run_blocks(jit_case *c) {
  vm_state s;
  char *shared;
  fill_rows(c, &c->buffers[1]);
  if (!vm_begin(&s, c) || !allocate(c, c->kernel.shared_bytes + 1, 1, &shared)) return false;
  sn_kernel_run run = {
      .kernel = &c->kernel, .values = s.values, .shared = shared, .workers = s.memory};
  for (; run.stage < c->kernel.n_stages; run.stage++)
    sn_kernel_units((void *)(uintptr_t)&run, 0, c->kernel.stages[run.stage].units, 0);
  memcpy(c->before + c->extra, shared, c->kernel.shared_bytes);
  memcpy(c->after + c->extra, shared, c->kernel.shared_bytes);
  if (c->kernel.blocks->tiles)
    call_tiles(c);
  else
    call_blocks(c);
  return true;
}

/* Totals of all outputs, made up: they lie where the strip's calls say. */
static bool run_post(jit_case *c) {
  const size_t at = c->extra + 64;
  c->extra = (uint32_t)at;
  const int64_t outputs = c->kernel.reduce.outputs;
  case_fill(&c->random, SN_OP_add, 0, c->extra_dtype, CASE_MIXED, outputs, c->before + at);
  memcpy(c->after + at, c->before + at, (size_t)outputs * c->kernel.reduce.fold.item_bytes);
  c->extra_elements = 0;
  return run_strip(c, c->after + at);
}

static bool run_reduce(jit_case *c) {
  c->extra_dtype = c->group.row.phases[0].reductions[0].dtype;
  const sn_reduce_plan *p = &c->kernel.reduce;
  const bool adds = p->mode == SN_REDUCE_RAGGED && (p->adds_memory || c->group.space_rank < 2);
  if (adds || case_one_in(&c->random, 3)) return run_post(c); /* and needs no code for its sums */
  return p->mode == SN_REDUCE_ROWS ? run_fold(c) : run_columns(c);
}

/* ---- a case ---------------------------------------------------------------------------------- */

#define FIRST_CASES 400 /* maps: one of each op and dtype, then any */

static bool make_group(jit_case *c, int number) {
  if (number < FIRST_CASES || case_one_in(&c->random, 3)) return make_map(c, number);
  if (case_one_in(&c->random, 8)) return make_blocks(c);
  return case_one_in(&c->random, 2) ? make_reduce(c) : make_row(c);
}

static bool run_case(jit_case *c) {
  return c->group.kind == SN_GROUP_REDUCE ? run_reduce(c)
         : c->group.kind == SN_GROUP_ROW  ? run_rows(c)
         : c->group.kind == SN_GROUP_CALL ? run_blocks(c)
                                          : run_strip(c, NULL);
}

bool jit_case_make(jit_case *c, uint64_t seed, int number, bool relaxed) {
  *c = (jit_case){
      .random = {seed * 1000003 + (uint64_t)number * 7919 + 1},
      .relaxed = relaxed,
  };
  c->env = ledger_env(&c->ledger);
  sn_arena_init(&c->arena, &c->env);
  sn_target target_here = sn_cpu_target;
  const sn_gemm_run_time none = {0}; /* but code can be made */
  const sn_machine machine = {.target = &target_here, .isa = SN_ISA_GENERIC, .gemm = &none};
  const sn_jit_target target = {
      .lanes = {.relaxed = relaxed, .split_minmax = case_one_in(&c->random, 2)}};
  bool ok = make_group(c, number);
  if (ok && case_one_in(&c->random, 2)) sn_merge_dims(&c->group);
  target_here.fused =
      relaxed && c->group.kind == SN_GROUP_CALL; /* else the VM here has other bits */
  ok = ok && sn_kernel_make(&c->arena, &machine, &c->group, &c->kernel) == SN_OK;
  /* As on a machine that sums two products at a time, or four. */
  if (ok && c->kernel.blocks) c->kernel.blocks->twos = relaxed && case_one_in(&c->random, 2);
  ok = ok && place_buffers(c) &&
       sn_jit_emit(&c->arena, &target, &c->kernel, 1, &c->module) == SN_OK &&
       sn_wasm_text(&c->arena, c->module.bytes, c->module.n_bytes, &c->text) == SN_OK &&
       run_case(c);
  if (!ok)
    fprintf(stderr, "jit_modules: seed %llu case %d: %s\n", (unsigned long long)seed, number,
            c->env.error.message);
  return ok;
}

static void write_calls(const jit_case *c, char *line, size_t size) {
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
  snprintf(
      line, sizeof line,
      "{\"name\":\"%s\",\"module\":%zu,\"text\":%zu,\"bytes\":%zu,\"worker\":[%u,%zu],\"calls\":[",
      c->name, c->module.n_bytes, strlen(c->text), c->bytes, c->worker, c->kernel.worker_bytes);
  write_calls(c, line, sizeof line);
  strncat(line, "],\"regions\":[", sizeof line - strlen(line) - 1);
  write_regions(c, line, sizeof line);
  strncat(line, "]}\n", sizeof line - strlen(line) - 1);
  const uint32_t length = (uint32_t)strlen(line);
  return fwrite(&length, 4, 1, out) == 1 && fwrite(line, length, 1, out) == 1 &&
         fwrite(c->module.bytes, c->module.n_bytes, 1, out) == 1 &&
         fwrite(c->text, strlen(c->text), 1, out) == 1 &&
         fwrite(c->before, c->bytes, 1, out) == 1 && fwrite(c->after, c->bytes, 1, out) == 1;
}

void jit_case_free(jit_case *c) { sn_arena_free(&c->arena); }
