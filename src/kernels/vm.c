#include "kernels/vm.h"

#include <string.h>

#include "kernels/gather.h"

/* ---- assembling ------------------------------------------------------------------------------ */

static sn_access access_of(const sn_operand *o, const int64_t *dims, int rank) {
  if (o->value == SN_NONE) return SN_ACCESS_INDEX;
  bool linear = true, single = true;
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; i--) {
    if (dims[i] == 0) return SN_ACCESS_LINEAR; /* never read: not even one element is there */
    if (dims[i] != 1) {
      linear = linear && o->strides[i] == expected;
      single = single && o->strides[i] == 0;
    }
    expected *= dims[i];
  }
  return single ? SN_ACCESS_SINGLE : linear ? SN_ACCESS_LINEAR : SN_ACCESS_STRIDED;
}

static sn_strip_fn *kernel_for(const sn_strips *strips, const sn_insn *insn) {
  if (insn->op == SN_OP_astype) return strips->cast[insn->in_dtype][insn->dtype];
  return strips->op[insn->op][insn->in_dtype];
}

static sn_status assemble_insn(sn_env *env, sn_vm_code *code, const sn_body *body, uint32_t i) {
  const sn_insn *insn = &body->insns[i];
  switch (insn->kind) {
  case SN_INSN_CONST:
    code->consts[code->n_consts++] = (sn_vm_const){i, insn->dtype, insn->value};
    return SN_OK;
  case SN_INSN_HEAD: code->head_slot = i; return SN_OK;
  case SN_INSN_LOAD: {
    const sn_operand *o = &body->operands[insn->args[0]];
    code->loads[code->n_loads++] = (sn_vm_operand){*o, access_of(o, code->dims, code->rank), i};
    return SN_OK;
  }
  case SN_INSN_OP: {
    sn_strip_fn *run = kernel_for(code->strips, insn);
    SN_CHECK(env, run != NULL);
    const uint32_t a = insn->args[0];
    code->ops[code->n_ops++] = (sn_vm_op){run, i, a, insn->n_args > 1 ? insn->args[1] : a,
                                          insn->n_args > 2 ? insn->args[2] : a};
    return SN_OK;
  }
  }
  return SN_OK;
}

/* The last op writes its strip straight to memory if that is all it is for. A copy of a loaded
 * value may still have to read what that memory held, so then nothing is written early. */
static void find_direct_store(sn_vm_code *code, const sn_body *body) {
  code->direct_store = -1;
  if (!code->n_ops) return;
  const uint32_t last = code->ops[code->n_ops - 1].dst;
  for (uint32_t i = 0; i < code->n_stores; i++) {
    const sn_vm_operand *s = &code->stores[i];
    if (body->insns[s->slot].kind == SN_INSN_LOAD) {
      code->direct_store = -1;
      return;
    }
    if (s->slot == last && s->access == SN_ACCESS_LINEAR && s->at.dtype != SN_BOOL)
      code->direct_store = (int32_t)i;
  }
}

/* Strips whose contents live from sn_vm_begin on keep their place; those of ops and gathers are
 * given back after their last reader and taken again: bodies of a hundred ops stay in L1. */
static sn_status place_strips(sn_arena *arena, sn_vm_code *code, const sn_body *body) {
  const uint32_t n = code->n_slots;
  uint32_t *last_use, *free_places, n_free = 0, n_places = 0;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *last_use, (void **)&last_use));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *free_places, (void **)&free_places));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->place, (void **)&code->place));
  size_t bytes = 4;
  for (uint32_t i = 0; i < n; i++) {
    const sn_insn *insn = &body->insns[i];
    if (sn_strip_bytes(insn->dtype) > bytes) bytes = sn_strip_bytes(insn->dtype);
    for (uint32_t k = 0; insn->kind == SN_INSN_OP && k < insn->n_args; k++)
      last_use[insn->args[k]] = i;
  }
  bytes *= SN_STRIP;
  for (uint32_t i = 0; i < code->n_stores; i++) last_use[code->stores[i].slot] = n;
  if (code->result_slot != SN_NONE) last_use[code->result_slot] = n;
  const size_t table = ((size_t)n * sizeof(void *) + 63) & ~(size_t)63;
  for (uint32_t i = 0; i < n;
       i++) { /* loads fill before any op runs: their places are never shared */
    code->place[i] = SN_NONE;
    const sn_insn_kind kind = body->insns[i].kind;
    if (kind == SN_INSN_LOAD || kind == SN_INSN_CONST)
      code->place[i] = (uint32_t)(table + bytes * n_places++);
  }
  for (uint32_t i = 0; i < n; i++) {
    const sn_insn *insn = &body->insns[i];
    if (insn->kind != SN_INSN_OP) continue;
    code->place[i] = n_free ? free_places[--n_free] : (uint32_t)(table + bytes * n_places++);
    for (uint32_t k = 0; k < insn->n_args; k++) {
      const uint32_t x = insn->args[k];
      if (last_use[x] != i || body->insns[x].kind != SN_INSN_OP) continue;
      last_use[x] = n; /* an op may read one value twice: give it back once */
      free_places[n_free++] = code->place[x];
    }
  }
  code->lane_bytes = table + bytes * n_places;
  return SN_OK;
}

sn_status sn_vm_assemble(sn_arena *arena, const sn_strips *strips, const sn_body *body,
                         const sn_store *stores, uint32_t n_stores, const int64_t *dims, int rank,
                         uint32_t result, sn_vm_code *code) {
  *code = (sn_vm_code){.strips = strips,
                       .rank = rank,
                       .n_slots = body->n_insns,
                       .head_slot = SN_NONE,
                       .result_slot = result};
  memcpy(code->dims, dims, (size_t)rank * sizeof *dims);
  const uint32_t n = body->n_insns;
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->loads, (void **)&code->loads));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->consts, (void **)&code->consts));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *code->ops, (void **)&code->ops));
  SN_TRY(sn_arena_alloc(arena, n_stores, sizeof *code->stores, (void **)&code->stores));
  for (uint32_t i = 0; i < n; i++) SN_TRY(assemble_insn(arena->env, code, body, i));
  for (uint32_t i = 0; i < n_stores; i++)
    code->stores[code->n_stores++] =
        (sn_vm_operand){stores[i].target, access_of(&stores[i].target, dims, rank), stores[i].insn};
  find_direct_store(code, body);
  return place_strips(arena, code, body);
}

/* ---- running --------------------------------------------------------------------------------- */

void sn_vm_begin(const sn_vm_code *code, void *lane, void *const *values) {
  void **slots = lane;
  for (uint32_t i = 0; i < code->n_slots; i++)
    slots[i] = code->place[i] == SN_NONE ? NULL : (char *)lane + code->place[i];
  for (uint32_t i = 0; i < code->n_consts; i++) {
    const sn_vm_const *c = &code->consts[i];
    sn_strip_fill(c->dtype, slots[c->slot], c->value, SN_STRIP);
  }
  for (uint32_t i = 0; i < code->n_loads; i++) {
    const sn_vm_operand *o = &code->loads[i];
    if (o->access == SN_ACCESS_SINGLE)
      sn_gather_single(&o->at, values[o->at.value], slots[o->slot]);
  }
}

static void load_strip(const sn_vm_code *code, void **slots, void *lane, const sn_vm_operand *o,
                       void *const *values, int64_t flat, int64_t n) {
  if (o->access == SN_ACCESS_SINGLE) return;
  if (o->access == SN_ACCESS_INDEX) {
    sn_gather_index(&o->at, code->dims, code->rank, flat, n, slots[o->slot]);
    return;
  }
  char *base = values[o->at.value];
  if (o->access == SN_ACCESS_STRIDED) {
    sn_gather(&o->at, code->dims, code->rank, flat, n, base, slots[o->slot]);
    return;
  }
  char *from = base + (size_t)(o->at.offset + flat) * sn_dtype_bytes(o->at.dtype);
  if (o->at.dtype != SN_BOOL) {
    slots[o->slot] = from;
    return;
  }
  slots[o->slot] = (char *)lane + code->place[o->slot];
  code->strips->mask_load(slots[o->slot], from, from, from, n);
}

const void *sn_vm_strip(const sn_vm_code *code, void *lane, void *const *values, int64_t flat,
                        int64_t n, const void *head) {
  void **slots = lane;
  for (uint32_t i = 0; i < code->n_loads; i++)
    load_strip(code, slots, lane, &code->loads[i], values, flat, n);
  if (code->head_slot != SN_NONE) memcpy(&slots[code->head_slot], &head, sizeof head);
  if (code->direct_store >= 0) {
    const sn_operand *to = &code->stores[code->direct_store].at;
    slots[code->stores[code->direct_store].slot] =
        (char *)values[to->value] + (size_t)(to->offset + flat) * sn_dtype_bytes(to->dtype);
  }
  for (uint32_t i = 0; i < code->n_ops; i++) {
    const sn_vm_op *op = &code->ops[i];
    op->run(slots[op->dst], slots[op->a], slots[op->b], slots[op->c], n);
  }
  for (uint32_t i = 0; i < code->n_stores; i++) {
    if ((int32_t)i == code->direct_store) continue;
    const sn_vm_operand *s = &code->stores[i];
    sn_scatter(code->strips, &s->at, s->access == SN_ACCESS_LINEAR, code->dims, code->rank, flat, n,
               slots[s->slot], values[s->at.value]);
  }
  return code->result_slot == SN_NONE ? NULL : slots[code->result_slot];
}
