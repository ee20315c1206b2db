#include "kernels/vm.h"

#include <string.h>

#include "kernels/strided.h"

/* ---- assembling ------------------------------------------------------------------------------ */

static sn_access access_of(const sn_operand *o, const int64_t *dims, int rank) {
  if (o->value == SN_NONE) return SN_ACCESS_INDEX;
  bool linear = true, single = true;
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; i--) {
    if (dims[i] == 0) return SN_ACCESS_LINEAR; /* empty: unlike a single value, it is never read */
    if (dims[i] != 1) {
      linear = linear && o->strides[i] == expected;
      single = single && o->strides[i] == 0;
    }
    expected *= dims[i];
  }
  return single ? SN_ACCESS_SINGLE : linear ? SN_ACCESS_LINEAR : SN_ACCESS_STRIDED;
}

/* Splits the strides of a body's operand: they cover the outer dims, then those that strips walk. */
static void split_strides(const sn_vm_nest *nest, sn_operand *o, int64_t *outer) {
  int64_t strides[SN_MAX_RANK];
  memcpy(strides, o->strides, sizeof strides);
  memset(o->strides, 0, sizeof o->strides);
  for (int i = 0; i < nest->outer_rank; i++) outer[i] = strides[i];
  for (int i = 0; i < nest->rank; i++) o->strides[i] = strides[nest->outer_rank + i];
}

/* An indexed load is no lookup if its index stays the same within a row: then the place that it gives
 * is a part of the row's shift. */
static sn_vm_operand operand_of(const sn_vm_nest *nest, const sn_operand *o, uint32_t slot,
                                sn_vm_place *place) {
  sn_vm_operand out = {.at = *o, .slot = slot};
  split_strides(nest, &out.at, out.outer);
  out.access = access_of(&out.at, nest->dims, nest->rank);
  if (!sn_is_indexed(o)) return out;
  out.place = place;
  place->at = *o->indexing;
  split_strides(nest, &place->at.index, place->outer);
  if (!nest->per_row || access_of(&place->at.index, nest->dims, nest->rank) != SN_ACCESS_SINGLE)
    out.access = SN_ACCESS_LOOKUP;
  return out;
}

static sn_strip_fn *kernel_for(const sn_strips *strips, const sn_insn *insn) {
  if (insn->op == SN_OP_astype) return sn_strips_cast(strips, insn->in_dtype, insn->dtype);
  return strips->op[insn->op][insn->in_dtype];
}

static sn_vm_op op_of(const sn_vm_code *code, const sn_insn *insn, uint32_t slot) {
  const uint32_t a = insn->args[0];
  return (sn_vm_op){.run = kernel_for(code->strips, insn),
                    .dst = slot,
                    .a = a,
                    .b = insn->n_args > 1 ? insn->args[1] : a,
                    .c = insn->n_args > 2 ? insn->args[2] : a};
}

static bool is_kept(const sn_vm_source *source, uint32_t insn) {
  for (uint32_t k = 0; k < source->n_keeps; k++)
    if (source->keeps[k].insn == insn) return true;
  return false;
}

/* Marks values that are the same along a row: with 1, and with 2 if they are read strip by strip. A
 * kept value is written strip by strip, so it is not marked. */
static sn_status find_invariants(sn_arena *arena, const sn_vm_code *code,
                                 const sn_vm_source *source, uint8_t **out) {
  const sn_body *body = source->body;
  sn_vm_place place;
  uint8_t *same;
  SN_TRY(sn_arena_alloc(arena, body->n_insns, 1, (void **)&same));
  *out = same;
  if (!code->nest.per_row) return SN_OK;
  for (uint32_t i = 0; i < body->n_insns; i++) {
    const sn_insn *insn = &body->insns[i];
    same[i] = insn->kind == SN_INSN_TOTAL || insn->kind == SN_INSN_CONST;
    if (insn->kind == SN_INSN_LOAD)
      same[i] = operand_of(&code->nest, &body->operands[insn->args[0]], i, &place).access ==
                SN_ACCESS_SINGLE;
    if (insn->kind != SN_INSN_OP) continue;
    same[i] = !is_kept(source, i);
    for (uint32_t k = 0; k < insn->n_args; k++) same[i] = same[i] && same[insn->args[k]];
    for (uint32_t k = 0; k < insn->n_args && !same[i]; k++)
      if (same[insn->args[k]]) same[insn->args[k]] = 2;
  }
  for (uint32_t k = 0; k < source->n_reductions; k++)
    if (same[source->reductions[k].insn]) same[source->reductions[k].insn] = 2;
  for (uint32_t k = 0; k < source->n_stores; k++)
    if (same[source->stores[k].insn]) same[source->stores[k].insn] = 2;
  return SN_OK;
}

static void assemble_leaf(sn_vm_code *code, const sn_body *body, uint32_t i) {
  const sn_insn *insn = &body->insns[i];
  switch (insn->kind) {
  case SN_INSN_CONST:
    code->consts[code->n_consts++] = (sn_vm_const){i, insn->dtype, insn->value};
    break;
  case SN_INSN_TOTAL:
    code->totals[code->n_totals++] = (sn_vm_total){i, insn->args[0], insn->dtype};
    break;
  case SN_INSN_KEPT: code->reads[code->n_reads++] = (sn_kept){i, insn->args[0]}; break;
  case SN_INSN_LOAD:
    code->loads[code->n_loads++] =
        operand_of(&code->nest, &body->operands[insn->args[0]], i, &code->places[code->n_places]);
    code->n_places += sn_is_indexed(&body->operands[insn->args[0]]);
    break;
  case SN_INSN_OP: break;
  }
}

/* Puts the ops that run when a row is entered first: they read no others. */
static sn_status assemble_ops(sn_env *env, sn_vm_code *code, const sn_body *body,
                              const uint8_t *same) {
  for (int lead = 1; lead >= 0; lead--) {
    for (uint32_t i = 0; i < body->n_insns; i++) {
      if (body->insns[i].kind != SN_INSN_OP || (same[i] != 0) != (lead != 0)) continue;
      code->ops[code->n_ops] = op_of(code, &body->insns[i], i);
      SN_CHECK(env, code->ops[code->n_ops].run);
      code->n_ops++;
    }
    if (lead) code->n_lead = code->n_ops;
  }
  for (uint32_t i = 0; i < body->n_insns; i++)
    if (same[i] == 2 && body->insns[i].kind != SN_INSN_CONST)
      code->spread[code->n_spread++] = (sn_vm_total){i, 0, body->insns[i].dtype};
  return SN_OK;
}

/* Lets the last op write its strip straight to memory if it is stored contiguously. If a loaded value
 * is stored unchanged, its strip may be that memory itself, so then nothing may be written early. */
static void find_direct_store(sn_vm_code *code, const sn_body *body) {
  code->direct_store = -1;
  if (code->n_ops == code->n_lead || code->n_keeps) return;
  const uint32_t last = code->ops[code->n_ops - 1].dst;
  for (uint32_t i = 0; i < code->n_stores; i++) {
    const sn_vm_operand *s = &code->stores[i];
    if (body->insns[s->slot].kind == SN_INSN_LOAD) {
      code->direct_store = -1;
      return;
    }
    if (s->slot == last && s->access == SN_ACCESS_LINEAR && sn_strip_is_memory(s->at.dtype))
      code->direct_store = (int32_t)i;
  }
}

/* Finds after which instruction each strip is free again; n: never. */
static void find_last_uses(const sn_vm_code *code, const sn_vm_source *source, uint32_t *last_use) {
  const sn_body *body = source->body;
  const uint32_t n = code->n_slots;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; body->insns[i].kind == SN_INSN_OP && k < body->insns[i].n_args; k++)
      last_use[body->insns[i].args[k]] = i;
  for (uint32_t i = 0; i < code->n_stores; i++) last_use[code->stores[i].slot] = n;
  for (uint32_t i = 0; i < source->n_reductions; i++) last_use[source->reductions[i].insn] = n;
}

/* Gives each slot a place for its strip. Loads, constants and values that stay the same along a row
 * have their own. Places of other ops are reused after the last reader: bodies of a hundred ops stay
 * in L1. */
static sn_status place_strips(sn_arena *arena, sn_vm_code *code, const sn_vm_source *source,
                              const uint8_t *same) {
  const sn_body *body = source->body;
  const uint32_t n = code->n_slots;
  uint32_t *last_use, *free_places, n_free = 0, n_places = 0;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *last_use, (void **)&last_use));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *free_places, (void **)&free_places));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->place, (void **)&code->place));
  size_t bytes = 4;
  for (uint32_t i = 0; i < n; i++)
    if (sn_strip_bytes(body->insns[i].dtype) > bytes) bytes = sn_strip_bytes(body->insns[i].dtype);
  bytes = (bytes * (size_t)code->width + 63) & ~(size_t)63;
  find_last_uses(code, source, last_use);
  code->shift_offset = ((size_t)n * sizeof(void *) + 63) & ~(size_t)63;
  const size_t shifts =
      ((size_t)(2 * code->n_loads + code->n_stores) * sizeof(int64_t) + 63) & ~(size_t)63;
  const size_t table = code->shift_offset + (code->nest.per_row ? shifts : 0);
  /* loads fill before any op runs: their places are never shared */
  for (uint32_t i = 0; i < n; i++) {
    const sn_insn_kind kind = body->insns[i].kind;
    const bool own = kind == SN_INSN_LOAD || kind == SN_INSN_CONST || same[i];
    code->place[i] = own ? (uint32_t)(table + bytes * n_places++) : SN_NONE;
  }
  for (uint32_t i = 0; i < n; i++) {
    const sn_insn *insn = &body->insns[i];
    if (insn->kind != SN_INSN_OP || same[i]) continue;
    code->place[i] = n_free ? free_places[--n_free] : (uint32_t)(table + bytes * n_places++);
    for (uint32_t k = 0; k < insn->n_args; k++) {
      const uint32_t x = insn->args[k];
      if (last_use[x] != i || body->insns[x].kind != SN_INSN_OP || same[x]) continue;
      last_use[x] = n; /* an op may read one value twice, but its place is free only once */
      free_places[n_free++] = code->place[x];
    }
  }
  code->worker_bytes = table + bytes * n_places;
  return SN_OK;
}

static size_t count_lookups(const sn_body *body) {
  size_t n = 0;
  for (uint32_t i = 0; i < body->n_insns; i++)
    n += body->insns[i].kind == SN_INSN_LOAD &&
         sn_is_indexed(&body->operands[body->insns[i].args[0]]);
  return n;
}

static int64_t width_of(const sn_vm_nest *nest) {
  int64_t points = 1;
  for (int i = 0; i < nest->rank; i++) {
    points *= nest->dims[i];
    if (points > SN_STRIP) points = SN_STRIP;
  }
  return points;
}

sn_status sn_vm_assemble(sn_arena *arena, const sn_machine *machine, const sn_vm_source *source,
                         const sn_vm_nest *nest, sn_vm_code *code) {
  const sn_body *body = source->body;
  const uint32_t n = body->n_insns;
  *code = (sn_vm_code){.strips = sn_strips_for(machine->isa, machine->target->fused),
                       .fused = machine->target->fused,
                       .nest = *nest,
                       .n_slots = n,
                       .width = width_of(nest),
                       .keeps = source->keeps,
                       .n_keeps = source->n_keeps,
                       .kept_dtypes = source->kept_dtypes};
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->loads, (void **)&code->loads));
  SN_TRY(sn_arena_alloc(arena, count_lookups(body), sizeof *code->places, (void **)&code->places));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->consts, (void **)&code->consts));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->totals, (void **)&code->totals));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->reads, (void **)&code->reads));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->ops, (void **)&code->ops));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->spread, (void **)&code->spread));
  SN_TRY(sn_arena_alloc(arena, source->n_stores, sizeof *code->stores, (void **)&code->stores));
  uint8_t *same;
  SN_TRY(find_invariants(arena, code, source, &same));
  for (uint32_t i = 0; i < n; i++) assemble_leaf(code, body, i);
  SN_TRY(assemble_ops(arena->env, code, body, same));
  for (uint32_t i = 0; i < source->n_stores; i++)
    code->stores[code->n_stores++] =
        operand_of(nest, &source->stores[i].target, source->stores[i].insn, NULL);
  find_direct_store(code, body);
  return place_strips(arena, code, source, same);
}

/* ---- running --------------------------------------------------------------------------------- */

void sn_vm_begin(const sn_vm_code *code, void *memory, void *const *values) {
  void **slots = memory;
  for (uint32_t i = 0; i < code->n_slots; i++)
    slots[i] = code->place[i] == SN_NONE ? NULL : (char *)memory + code->place[i];
  for (uint32_t i = 0; i < code->n_consts; i++) {
    const sn_vm_const *c = &code->consts[i];
    sn_strip_fill(c->dtype, slots[c->slot], c->value, code->width);
  }
  for (uint32_t i = 0; i < code->n_loads && !code->nest.per_row; i++) {
    const sn_vm_operand *o = &code->loads[i];
    if (o->access == SN_ACCESS_SINGLE)
      sn_gather_single(&o->at, o->at.offset, values[o->at.value], slots[o->slot], code->width);
  }
}

static int64_t row_shift(const sn_vm_nest *nest, const int64_t *strides, int64_t row) {
  return sn_offset_at(nest->outer, strides, nest->outer_rank, row);
}

/* Sets where the operand's index begins in the row; and, if the whole row has one place, adds that
 * place to the operand's shift. */
static void enter_lookup(const sn_vm_nest *nest, const sn_vm_operand *o, void *const *values,
                         int64_t row, int64_t *shift, int64_t *index_shift) {
  const sn_indexing *place = &o->place->at;
  const int32_t *indices = values[place->index.value];
  *index_shift = row_shift(nest, o->place->outer, row);
  if (o->access == SN_ACCESS_LOOKUP) return;
  const int32_t index = indices[place->index.offset + *index_shift];
  *shift += place->stride * sn_position(index, place->length);
}

static int64_t shift_of(const sn_vm_code *code, const void *memory, uint32_t number) {
  return ((const int64_t *)(const void *)((const char *)memory + code->shift_offset))[number];
}

/* Where the operand begins: in the row that was entered, if the code runs per row. */
static int64_t offset_of(const sn_vm_code *code, const void *memory, const sn_vm_operand *o,
                         uint32_t number) {
  return o->at.offset + (code->nest.per_row ? shift_of(code, memory, number) : 0);
}

static void run_ops(const sn_vm_code *code, void *const *slots, uint32_t from, uint32_t to,
                    int64_t n) {
  for (uint32_t i = from; i < to; i++) {
    const sn_vm_op *op = &code->ops[i];
    op->run(slots[op->dst], slots[op->a], slots[op->b], slots[op->c], n, code->fused);
  }
}

void sn_vm_enter(const sn_vm_code *code, void *memory, void *const *values, int64_t row,
                 const void *const *totals) {
  void **slots = memory;
  int64_t *shifts = (int64_t *)(void *)((char *)memory + code->shift_offset);
  for (uint32_t i = 0; i < code->n_loads; i++) {
    const sn_vm_operand *o = &code->loads[i];
    shifts[i] = row_shift(&code->nest, o->outer, row);
    if (sn_is_indexed(&o->at))
      enter_lookup(&code->nest, o, values, row, &shifts[i],
                   &shifts[code->n_loads + code->n_stores + i]);
    if (o->access != SN_ACCESS_SINGLE) continue;
    sn_gather_single(&o->at, o->at.offset + shifts[i], values[o->at.value], slots[o->slot], 1);
  }
  for (uint32_t i = 0; i < code->n_stores; i++)
    shifts[code->n_loads + i] = row_shift(&code->nest, code->stores[i].outer, row);
  for (uint32_t i = 0; i < code->n_totals; i++) {
    const sn_vm_total *total = &code->totals[i];
    memcpy(slots[total->slot], totals[total->number], sn_strip_bytes(total->dtype));
  }
  run_ops(code, slots, 0, code->n_lead, 1);
  for (uint32_t i = 0; i < code->n_spread; i++)
    sn_strip_splat(code->spread[i].dtype, slots[code->spread[i].slot], code->width);
}

static void load_strip(const sn_vm_code *code, void **slots, void *memory, uint32_t number,
                       void *const *values, int64_t flat, int64_t n) {
  const sn_vm_operand *o = &code->loads[number];
  if (o->access == SN_ACCESS_SINGLE) return;
  const sn_operand *at = &o->at;
  const int64_t offset = offset_of(code, memory, o, number), *dims = code->nest.dims;
  const int rank = code->nest.rank;
  void *strip = (char *)memory + code->place[o->slot];
  if (o->access == SN_ACCESS_INDEX) {
    sn_gather_index(at, offset, dims, rank, flat, n, strip);
    return;
  }
  char *base = values[at->value];
  void *there; /* where it can be read in place */
  if (o->access == SN_ACCESS_LOOKUP) {
    const sn_indexing *place = &o->place->at;
    int64_t index_offset = place->index.offset;
    if (code->nest.per_row)
      index_offset += shift_of(code, memory, code->n_loads + code->n_stores + number);
    there = sn_gather_lookup(at, offset, place, index_offset, dims, rank, flat, n, base,
                             values[place->index.value], strip);
    slots[o->slot] = there;
    return;
  }
  if (o->access == SN_ACCESS_STRIDED) {
    there = sn_gather_in_place(at, offset, dims, rank, flat, n, base);
    if (!there) sn_gather(at, offset, dims, rank, flat, n, base, strip);
    slots[o->slot] = there ? there : strip;
    return;
  }
  char *from = base + (size_t)(offset + flat) * sn_dtype_bytes(at->dtype);
  if (sn_strip_is_memory(at->dtype)) {
    slots[o->slot] = from;
    return;
  }
  slots[o->slot] = strip;
  if (at->dtype == SN_BOOL)
    code->strips->mask_load(strip, from, from, from, n, false);
  else
    sn_gather_run(at->dtype, strip, from, 1, n);
}

/* Lets kept values be read in the row's memory for them, and written there by the op that makes them. */
static void bind_kept(const sn_vm_code *code, void **slots, const sn_kept *kept, uint32_t n,
                      int64_t flat, const sn_vm_inputs *inputs) {
  for (uint32_t i = 0; i < n; i++)
    slots[kept[i].insn] =
        inputs->kept[kept[i].slot] + (size_t)flat * sn_strip_bytes(code->kept_dtypes[kept[i].slot]);
}

void sn_vm_strip(const sn_vm_code *code, void *memory, void *const *values, int64_t flat, int64_t n,
                 const sn_vm_inputs *inputs) {
  void **slots = memory;
  for (uint32_t i = 0; i < code->n_loads; i++) load_strip(code, slots, memory, i, values, flat, n);
  for (uint32_t i = 0; i < code->n_totals && !code->nest.per_row; i++)
    memcpy(&slots[code->totals[i].slot], &inputs->totals[code->totals[i].number], sizeof(void *));
  bind_kept(code, slots, code->reads, code->n_reads, flat, inputs);
  bind_kept(code, slots, code->keeps, code->n_keeps, flat, inputs);
  if (code->direct_store >= 0) {
    const sn_vm_operand *s = &code->stores[code->direct_store];
    const int64_t offset = offset_of(code, memory, s, code->n_loads + (uint32_t)code->direct_store);
    slots[s->slot] =
        (char *)values[s->at.value] + (size_t)(offset + flat) * sn_dtype_bytes(s->at.dtype);
  }
  run_ops(code, slots, code->n_lead, code->n_ops, n);
  for (uint32_t i = 0; i < code->n_stores; i++) {
    if ((int32_t)i == code->direct_store) continue;
    const sn_vm_operand *s = &code->stores[i];
    const int64_t offset = offset_of(code, memory, s, code->n_loads + i);
    sn_store_strided(code->strips, &s->at, offset, s->access == SN_ACCESS_LINEAR, code->nest.dims,
                     code->nest.rank, flat, n, slots[s->slot], values[s->at.value]);
  }
}
