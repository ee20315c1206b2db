/* read.h - reads back the modules that emit.h wrote, instruction by instruction, by the rows of wasm_ops.def. It knows only
 * the part of the format that the assembler writes. */
#ifndef SN_JIT_READ_H
#define SN_JIT_READ_H

#include "jit/emit.h"

typedef struct sn_wasm_reader {
  const uint8_t *at, *end;
  bool bad; /* set at bytes that emit.c does not write */
} sn_wasm_reader;

typedef struct sn_wasm_insn {
  sn_wasm_op op;
  uint32_t index;    /* LOCAL, LABEL, CALL; LANE, LANE_MEMORY: the lane */
  int32_t value;     /* I32 */
  uint32_t align;    /* MEMORY, LANE_MEMORY: log2 of the promised alignment in bytes */
  uint32_t offset;   /* MEMORY, LANE_MEMORY: bytes behind the address */
  uint8_t bytes[16]; /* V128, SHUFFLE */
} sn_wasm_insn;

sn_wasm_insn sn_wasm_read(sn_wasm_reader *r);

/* A run of locals of one type, at the head of a function. */
typedef struct sn_wasm_locals {
  uint32_t n;
  sn_wasm_type type;
} sn_wasm_locals;

uint32_t sn_wasm_read_number(sn_wasm_reader *r);
sn_wasm_locals sn_wasm_read_locals(sn_wasm_reader *r);

/* A module's functions, one after the other. */
typedef struct sn_wasm_functions {
  sn_wasm_reader signatures, code;
  uint32_t n; /* functions not yet read */
  bool shared_memory;
} sn_wasm_functions;

/* Returns false if the bytes are not a module of emit.h. */
bool sn_wasm_find_functions(const uint8_t *bytes, size_t n, sn_wasm_functions *out);

/* Moves to the next function. Returns its number of parameters; *body reads the number of runs of locals, the runs, then the
 * instructions. */
uint32_t sn_wasm_next_function(sn_wasm_functions *f, sn_wasm_reader *body);

#endif
