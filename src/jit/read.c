#include "jit/read.h"

#include <string.h>

static uint32_t read_byte(sn_wasm_reader *r) {
  if (r->at < r->end) return *r->at++;
  r->bad = true;
  return 0;
}

uint32_t sn_wasm_read_number(sn_wasm_reader *r) {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = read_byte(r);
    value |= (byte & 0x7f) << (shift < 32 ? shift : 0);
    if (!(byte & 0x80)) return value;
  }
  r->bad = true;
  return 0;
}

static int32_t read_s32(sn_wasm_reader *r) {
  uint64_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const uint32_t byte = read_byte(r);
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte & 0x80) continue;
    if (byte & 0x40) value |= ~(uint64_t)0 << (shift + 7);
    return (int32_t)(uint32_t)value;
  }
  r->bad = true;
  return 0;
}

static const uint8_t *read_bytes(sn_wasm_reader *r, size_t n) {
  static const uint8_t none[16];
  if ((size_t)(r->end - r->at) < n) {
    r->bad = true;
    return none;
  }
  r->at += n;
  return r->at - n;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static sn_wasm_op read_op(sn_wasm_reader *r) {
  const uint32_t first = read_byte(r);
  const uint32_t code = first == 0xfd ? sn_wasm_read_number(r) : first;
  for (int op = 0; op < SN_WASM_OP_COUNT; op++)
    if (sn_wasm_rows[op].code == code && sn_wasm_rows[op].prefix == (first == 0xfd ? 0xfd : 0))
      return (sn_wasm_op)op;
  r->bad = true;
  return SN_WASM_end;
}

static void read_memory(sn_wasm_reader *r, sn_wasm_insn *insn) {
  insn->align = sn_wasm_read_number(r) & 31;
  insn->offset = sn_wasm_read_number(r);
}

sn_wasm_insn sn_wasm_read(sn_wasm_reader *r) {
  sn_wasm_insn insn = {.op = read_op(r)};
  switch ((sn_wasm_immediate)sn_wasm_rows[insn.op].immediate) {
  case SN_WASM_NONE: break;
  case SN_WASM_LOCAL:
  case SN_WASM_LABEL:
  case SN_WASM_CALL: insn.index = sn_wasm_read_number(r); break;
  case SN_WASM_LANE: insn.index = read_byte(r); break;
  case SN_WASM_I32: insn.value = read_s32(r); break;
  case SN_WASM_V128:
  case SN_WASM_SHUFFLE: memcpy(insn.bytes, read_bytes(r, 16), 16); break;
  case SN_WASM_MEMORY: read_memory(r, &insn); break;
  case SN_WASM_LANE_MEMORY:
    read_memory(r, &insn);
    insn.index = read_byte(r);
    break;
  case SN_WASM_BLOCK: read_byte(r); break;
  }
  return insn;
}

/* ---- functions ------------------------------------------------------------------------------- */

sn_wasm_locals sn_wasm_read_locals(sn_wasm_reader *r) {
  const uint32_t n = sn_wasm_read_number(r);
  return (sn_wasm_locals){n, (sn_wasm_type)read_byte(r)};
}

/* Position in the import section of the memory's flags, the only byte that differs between modules: they stand behind the
 * names and the kind. */
#define IMPORT_FLAGS_AT 13

bool sn_wasm_find_functions(const uint8_t *bytes, size_t n, sn_wasm_functions *out) {
  sn_wasm_reader r = {.at = bytes, .end = bytes + n}, imports = {0};
  *out = (sn_wasm_functions){0};
  read_bytes(&r, 8);
  while (r.at < r.end && !r.bad) {
    const uint32_t id = read_byte(&r), size = sn_wasm_read_number(&r);
    const uint8_t *at = read_bytes(&r, size);
    const sn_wasm_reader section = {.at = at, .end = at + size};
    if (id == 2) imports = section;
    if (id == 3) out->signatures = section;
    if (id == 10) out->code = section;
  }
  if (r.bad || !out->signatures.at || !out->code.at) return false;
  if (!imports.at || imports.end - imports.at <= IMPORT_FLAGS_AT) return false;
  out->shared_memory = imports.at[IMPORT_FLAGS_AT] == 3;
  out->n = sn_wasm_read_number(&out->signatures);
  return sn_wasm_read_number(&out->code) == out->n;
}

uint32_t sn_wasm_next_function(sn_wasm_functions *f, sn_wasm_reader *body) {
  const uint32_t n_params = sn_wasm_read_number(&f->signatures);
  const uint32_t size = sn_wasm_read_number(&f->code);
  const uint8_t *at = read_bytes(&f->code, size);
  *body = (sn_wasm_reader){.at = at, .end = at + size, .bad = f->code.bad || f->signatures.bad};
  if (body->bad) body->end = at;
  f->n--;
  return n_params;
}
