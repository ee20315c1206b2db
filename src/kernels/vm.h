/* vm.h - the strip VM: a body of a group, run over strips of SN_STRIP elements that stay in L1.
 *
 *   flat index over the body's space:  |....strip....|....strip....|..
 *   per strip:  loads -> op op op op (one SIMD kernel each) -> stores
 *
 * A strip is a flat range of the row-major space, whatever its dimensions. An operand that is
 * contiguous over the space is read and written in place, a single value is spread over a strip once
 * per run, everything else is gathered run by run along the innermost dimension. All loads of a strip
 * come before its stores, so an output may share memory with an input that is read at the same
 * places.
 *
 * The phases of a row group walk one row at a time: the body's space is the row. Values that do not
 * change along it (totals, loads of one element, ops on only such values) are computed once when a
 * row is entered, and spread over a strip. */
#ifndef SN_KERNELS_VM_H
#define SN_KERNELS_VM_H

#include "fuse/group.h"
#include "kernels/machine.h"
#include "kernels/strip.h"

typedef enum sn_access {
  SN_ACCESS_LINEAR, /* contiguous over the space */
  SN_ACCESS_SINGLE, /* one element for all */
  SN_ACCESS_STRIDED,
  SN_ACCESS_LOOKUP, /* indexed: at places that memory tells, which change along the space */
  SN_ACCESS_INDEX   /* no memory: offset + sum index * stride */
} sn_access;

typedef struct sn_vm_operand {
  sn_operand at;                   /* strides over the dims that a strip walks */
  int64_t outer[SN_MAX_RANK];      /* strides over the outer dims */
  const struct sn_vm_place *place; /* of an indexed load */
  sn_access access;
  uint32_t slot; /* the instruction whose value is loaded or stored */
} sn_vm_operand;

/* What an indexed load looks up; the strides of its index are split in the same way. */
typedef struct sn_vm_place {
  sn_indexing at;
  int64_t outer[SN_MAX_RANK];
} sn_vm_place;

typedef struct sn_vm_op {
  sn_strip_fn *run;
  uint32_t dst, a, b, c; /* slots; unused ones repeat a */
} sn_vm_op;

typedef struct sn_vm_const {
  uint32_t slot;
  sn_dtype dtype;
  double value;
} sn_vm_const;

typedef struct sn_vm_total {
  uint32_t slot, number;
  sn_dtype dtype;
} sn_vm_total;

/* The space of a body: strips walk dims; a row group's phases enter each point of the outer dims. */
typedef struct sn_vm_nest {
  bool per_row;
  int outer_rank, rank;
  int64_t outer[SN_MAX_RANK], dims[SN_MAX_RANK];
} sn_vm_nest;

typedef struct sn_vm_code {
  const sn_strips *strips;
  bool fused; /* whether its functions have the fused bits */
  sn_vm_nest nest;
  sn_vm_operand *loads, *stores;
  uint32_t n_loads, n_stores;
  struct sn_vm_place *places; /* of indexed loads */
  uint32_t n_places;
  sn_vm_const *consts;
  uint32_t n_consts;
  sn_vm_total *totals;
  uint32_t n_totals;
  const sn_kept *keeps; /* of the phase; slot: kept slot, insn: VM slot */
  uint32_t n_keeps;
  sn_kept *reads; /* kept slots that are read */
  uint32_t n_reads;
  sn_vm_op *ops; /* the first n_lead of them run once per row, on one element */
  uint32_t n_ops, n_lead;
  sn_vm_total *spread; /* slots to be spread when a row is entered */
  uint32_t n_spread;
  uint32_t n_slots;
  int64_t width; /* elements of its strips: SN_STRIP, or fewer over a small space */
  const sn_dtype *kept_dtypes;
  int32_t direct_store; /* the store whose value the last op writes straight to memory; -1: none */
  uint32_t *place;      /* per slot: its strip's offset in worker memory; SN_NONE: elsewhere */
  size_t shift_offset;  /* in worker memory: per load, then per store, the row's offset */
  size_t worker_bytes;  /* slot pointers, shifts and strips */
} sn_vm_code;

/* Values that a strip reads beside memory. */
typedef struct sn_vm_inputs {
  const void *const *totals; /* per total: its strip; unused if the code runs per row */
  char *const *kept;         /* per kept slot: the row's values */
} sn_vm_inputs;

/* What is assembled: a body, and the uses of its values: stores, kept values, reductions. */
typedef struct sn_vm_source {
  const sn_body *body;
  const sn_store *stores;
  uint32_t n_stores;
  const sn_kept *keeps;
  uint32_t n_keeps;
  const sn_dtype *kept_dtypes;
  const sn_reduction *reductions; /* their values stay readable by sn_vm_slot */
  uint32_t n_reductions;
} sn_vm_source;

sn_status sn_vm_assemble(sn_arena *arena, const sn_machine *machine, const sn_vm_source *source,
                         const sn_vm_nest *nest, sn_vm_code *out);

/* Prepares worker memory (64-byte aligned, code->worker_bytes): constants and, unless the code runs
 * per row, single values. values: base pointer of every buffer. */
void sn_vm_begin(const sn_vm_code *code, void *memory, void *const *values);

/* Enters point `row` of the outer dims, if the code runs per row; totals[number] points to one value. */
void sn_vm_enter(const sn_vm_code *code, void *memory, void *const *values, int64_t row,
                 const void *const *totals);

/* Runs the strip [flat, flat + n), n <= SN_STRIP. */
void sn_vm_strip(const sn_vm_code *code, void *memory, void *const *values, int64_t flat, int64_t n,
                 const sn_vm_inputs *inputs);

/* The strip that slot holds since the last sn_vm_strip. */
static inline const void *sn_vm_slot(const void *memory, uint32_t slot) {
  return ((void *const *)memory)[slot];
}

#endif
