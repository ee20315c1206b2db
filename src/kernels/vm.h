/* vm.h - the strip VM: a body of a group, run over strips of SN_STRIP elements that stay in L1.
 *
 *   flat index over the body's space:  |....strip....|....strip....|..
 *   per strip:  loads -> op op op op (one SIMD kernel each) -> stores
 *
 * A strip is a flat range of the row-major space, whatever its dimensions; an operand that is
 * contiguous over the space is read and written in place, a single value is spread out once per
 * run, everything else is gathered run by run along the innermost dimension. All loads of a strip
 * come before its stores, so an output may share memory with an input that is read at the same
 * places.
 */
#ifndef SN_KERNELS_VM_H
#define SN_KERNELS_VM_H

#include "fuse/group.h"
#include "kernels/strip.h"

typedef enum sn_access {
  SN_ACCESS_LINEAR, /* contiguous over the space */
  SN_ACCESS_SINGLE, /* one element for all */
  SN_ACCESS_STRIDED,
  SN_ACCESS_INDEX /* no memory: offset + sum index * stride */
} sn_access;

typedef struct sn_vm_operand {
  sn_operand at;
  sn_access access;
  uint32_t slot; /* instruction whose value it is */
} sn_vm_operand;

typedef struct sn_vm_op {
  sn_strip_fn *run;
  uint32_t dst, a, b, c; /* slots; unused ones repeat a */
} sn_vm_op;

typedef struct sn_vm_const {
  uint32_t slot;
  sn_dtype dtype;
  double value;
} sn_vm_const;

typedef struct sn_vm_code {
  const sn_strips *strips;
  int rank;
  int64_t dims[SN_MAX_RANK];
  sn_vm_operand *loads, *stores;
  uint32_t n_loads, n_stores;
  sn_vm_const *consts;
  uint32_t n_consts;
  sn_vm_op *ops;
  uint32_t n_ops;
  uint32_t n_slots;
  uint32_t head_slot;   /* SN_NONE: none */
  uint32_t result_slot; /* of a pre body: its result; else SN_NONE */
  int32_t
      direct_store; /* this store's value is written by the last op straight to memory; -1: none */
  uint32_t *place; /* per slot: where its strip lies in lane memory, in bytes; SN_NONE: elsewhere */
  size_t lane_bytes; /* slot pointers and strips */
} sn_vm_code;

/* Translates a body over the given dims; stores may be none. result: slot whose value is asked, or
 * SN_NONE. */
sn_status sn_vm_assemble(sn_arena *arena, const sn_strips *strips, const sn_body *body,
                         const sn_store *stores, uint32_t n_stores, const int64_t *dims, int rank,
                         uint32_t result, sn_vm_code *out);

/* Prepares lane memory (64-byte aligned, code->lane_bytes): constants and single values. values:
 * base pointer of every buffer. */
void sn_vm_begin(const sn_vm_code *code, void *lane, void *const *values);

/* Runs the strip [flat, flat + n), n <= SN_STRIP; head: its strip of the head's values, or NULL.
 * Returns the strip of the result slot, or NULL. */
const void *sn_vm_strip(const sn_vm_code *code, void *lane, void *const *values, int64_t flat,
                        int64_t n, const void *head);

#endif
