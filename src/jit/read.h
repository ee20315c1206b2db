/* read.h - reads back the modules that emit.h wrote, instruction by instruction, by the rows of wasm_ops.def: what the
 * assembler writes, no more of the format. */
#ifndef SN_JIT_READ_H
#define SN_JIT_READ_H

#include "jit/emit.h"

typedef struct sn_wasm_reader {
  const uint8_t *at, *end;
  bool bad; /* bytes that emit.c does not write were met */
} sn_wasm_reader;

typedef struct sn_wasm_insn {
  sn_wasm_op op;
  uint32_t index;    /* LOCAL, LABEL, CALL; LANE, LANE_MEMORY: the lane */
  int32_t value;     /* I32 */
  uint32_t align;    /* MEMORY, LANE_MEMORY: log2 of what the address is a multiple of */
  uint32_t offset;   /* the same: bytes behind the address */
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
  uint32_t n; /* to come */
  bool shared_memory;
} sn_wasm_functions;

/* false: these bytes are not a module of emit.h. */
bool sn_wasm_find_functions(const uint8_t *bytes, size_t n, sn_wasm_functions *out);

/* The next function: its number of parameters, and its body: the number of runs of locals, those, then instructions. */
uint32_t sn_wasm_next_function(sn_wasm_functions *f, sn_wasm_reader *body);

#endif
