#include "jit/write.h"

sn_status sn_writer_begin(sn_writer *writer, sn_arena *arena, sn_wasm *w, const sn_vecs *lanes,
                          sn_load_fn *load, void *user) {
  *writer = (sn_writer){.w = w, .lanes = lanes, .load = load, .user = user};
  const size_t n = lanes->n_nodes * SN_WRITE_COPIES;
  SN_TRY(lanes->status);
  SN_TRY(sn_arena_alloc(arena, n, sizeof *writer->local, (void **)&writer->local));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *writer->left, (void **)&writer->left));
  for (size_t i = 0; i < n; i++) writer->local[i] = SN_NONE;
  /* a local belongs to a node, or is one of the few taken for a moment: so many are free at most */
  return sn_arena_alloc(arena, n + 16, sizeof *writer->free, (void **)&writer->free);
}

static size_t slot_of(const sn_writer *writer, sn_vec node) {
  const bool own = writer->lanes->nodes[node].level == 2;
  return node + (own ? writer->copy * writer->lanes->n_nodes : 0);
}

/* ---- locals ---------------------------------------------------------------------------------- */

uint32_t sn_writer_take(sn_writer *writer) {
  return writer->n_free ? writer->free[--writer->n_free]
                        : sn_wasm_local(writer->w, SN_WASM_TYPE_V128);
}

void sn_writer_give(sn_writer *writer, uint32_t local) { writer->free[writer->n_free++] = local; }

static uint32_t local_of(sn_writer *writer, sn_vec node) {
  uint32_t *local = &writer->local[slot_of(writer, node)];
  if (*local == SN_NONE) *local = sn_writer_take(writer);
  return *local;
}

static void used(sn_writer *writer, sn_vec node) {
  const size_t slot = slot_of(writer, node);
  if (--writer->left[slot] || writer->lanes->nodes[node].held) return;
  if (writer->local[slot] == SN_NONE) return;
  sn_writer_give(writer, writer->local[slot]);
  writer->local[slot] = SN_NONE;
}

static void flush(sn_writer *writer) {
  if (!writer->pending) return;
  sn_emit_set(writer->w, local_of(writer, writer->pending));
  writer->pending = 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

static void write_const(sn_wasm *w, const sn_vec_node *node) {
  uint64_t halves[2] = {node->imm, node->imm};
  if (node->code == 32) halves[0] = halves[1] = node->imm << 32 | node->imm;
  sn_emit_16(w, SN_WASM_v128_const, halves);
}

static bool is_inline(const sn_vec_node *node) { return node->kind == SN_VEC_CONST && !node->held; }

void sn_write_peek(sn_writer *writer, sn_vec node) {
  flush(writer);
  if (is_inline(&writer->lanes->nodes[node]))
    write_const(writer->w, &writer->lanes->nodes[node]);
  else
    sn_emit_get(writer->w, local_of(writer, node));
}

void sn_write_get(sn_writer *writer, sn_vec node) {
  sn_write_peek(writer, node);
  sn_write_done(writer, node);
}

void sn_write_done(sn_writer *writer, sn_vec node) {
  if (!is_inline(&writer->lanes->nodes[node])) used(writer, node);
}

static bool commutes(sn_wasm_op op) {
  switch ((int)op) {
  case SN_WASM_f32x4_add:
  case SN_WASM_f32x4_mul:
  case SN_WASM_f64x2_add:
  case SN_WASM_f64x2_mul:
  case SN_WASM_i32x4_add:
  case SN_WASM_i32x4_mul:
  case SN_WASM_v128_and:
  case SN_WASM_v128_or:
  case SN_WASM_v128_xor: return true;
  default: return false;
  }
}

/* Uses the value on the stack as the first operand. If there are further uses, it is stored in its local, too. */
static void keep_pending(sn_writer *writer) {
  const sn_vec node = writer->pending;
  writer->pending = 0;
  if (writer->left[slot_of(writer, node)] > 1 || writer->lanes->nodes[node].held)
    sn_emit_index(writer->w, SN_WASM_local_tee, local_of(writer, node));
  used(writer, node);
}

static void write_operands(sn_writer *writer, const sn_vec_node *node) {
  const sn_vec *args = node->args;
  sn_vec first = args[0], second = args[1];
  if (node->n_args == 2 && node->kind == SN_VEC_OP && writer->pending == second &&
      second != first && commutes((sn_wasm_op)node->code)) {
    first = args[1];
    second = args[0];
  }
  if (writer->pending && writer->pending == first)
    keep_pending(writer);
  else
    sn_write_get(writer, first);
  if (node->n_args > 1) sn_write_get(writer, second);
  if (node->n_args > 2) sn_write_get(writer, args[2]);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void write_shiftv(sn_writer *writer, const sn_vec_node *node) {
  sn_wasm *w = writer->w;
  for (uint32_t lane = 0; lane < 4; lane++) {
    for (int k = 0; k < 2; k++) {
      if (lane < 3)
        sn_write_peek(writer, node->args[k]);
      else
        sn_write_get(writer, node->args[k]);
      sn_emit_index(w, SN_WASM_i32x4_extract_lane, lane);
    }
    sn_emit(w, (sn_wasm_op)node->code);
    if (lane == 0)
      sn_emit(w, SN_WASM_i32x4_splat);
    else
      sn_emit_index(w, SN_WASM_i32x4_replace_lane, lane);
  }
}

/* result = b; if any lane of the mask is set: ... (ended by write_rare_end) */
static void write_rare(sn_writer *writer, const sn_vec_node *node) {
  const sn_vec end = (sn_vec)node->imm;
  sn_write_peek(writer, writer->lanes->nodes[end].args[1]);
  sn_emit_set(writer->w, local_of(writer, end));
  sn_write_get(writer, node->args[0]);
  sn_emit(writer->w, SN_WASM_v128_any_true);
  sn_emit_block(writer->w, SN_WASM_if);
}

/* ... result = select(a, b, mask) */
static void write_rare_end(sn_writer *writer, sn_vec number) {
  const sn_vec_node *node = &writer->lanes->nodes[number];
  write_operands(writer, node);
  sn_emit(writer->w, SN_WASM_v128_bitselect);
  sn_emit_set(writer->w, local_of(writer, number));
  sn_emit(writer->w, SN_WASM_end);
}

static void write_node(sn_writer *writer, sn_vec number) {
  const sn_vec_node *node = &writer->lanes->nodes[number];
  sn_wasm *w = writer->w;
  switch ((sn_vec_kind)node->kind) {
  case SN_VEC_CONST: return; /* in write_consts, or inline */
  case SN_VEC_INPUT:
    flush(writer);
    writer->load(writer->user, (uint32_t)node->imm, local_of(writer, number));
    return;
  case SN_VEC_OP:
    write_operands(writer, node);
    sn_emit(w, (sn_wasm_op)node->code);
    break;
  case SN_VEC_SHIFT:
    write_operands(writer, node);
    sn_emit_i32(w, (int32_t)node->imm);
    sn_emit(w, (sn_wasm_op)node->code);
    break;
  case SN_VEC_SHIFTV: write_shiftv(writer, node); break;
  case SN_VEC_SHUFFLE:
    write_operands(writer, node);
    sn_emit_16(w, SN_WASM_i8x16_shuffle, sn_vec_shuffles[node->code]);
    break;
  case SN_VEC_RARE: write_rare(writer, node); return;
  case SN_VEC_RARE_END: write_rare_end(writer, number); return;
  }
  writer->pending = number;
}

/* Writes the constants that have locals before everything else: a constant is visible from everywhere, even if its first
 * use is inside a RARE. */
static void write_consts(sn_writer *writer) {
  const sn_vecs *lanes = writer->lanes;
  for (sn_vec i = 1; i < lanes->n_nodes; i++) {
    const sn_vec_node *node = &lanes->nodes[i];
    if (node->kind != SN_VEC_CONST || !node->uses || is_inline(node)) continue;
    write_const(writer->w, node);
    sn_emit_set(writer->w, local_of(writer, i));
  }
}

void sn_write_part(sn_writer *writer, uint32_t section, int level, sn_vec from, sn_vec to) {
  for (sn_vec i = from; i < to; i++) {
    const sn_vec_node *node = &writer->lanes->nodes[i];
    if (!node->uses || node->level != level || node->kind == SN_VEC_CONST) continue;
    if (level > 0 && node->section != section) continue;
    writer->left[slot_of(writer, i)] = node->uses;
    write_node(writer, i);
  }
  flush(writer);
}

void sn_write_pass(sn_writer *writer, uint32_t section, int level) {
  if (level == 0) write_consts(writer);
  sn_write_part(writer, section, level, 1, (sn_vec)writer->lanes->n_nodes);
}

sn_vec sn_write_cut(const sn_writer *writer, uint32_t section, uint32_t part, uint32_t parts) {
  const sn_vecs *lanes = writer->lanes;
  uint32_t n = 0, seen = 0, depth = 0;
  for (sn_vec i = 1; i < lanes->n_nodes; i++)
    n += lanes->nodes[i].uses && lanes->nodes[i].level == 2 && lanes->nodes[i].section == section &&
         !lanes->nodes[i].region;
  for (sn_vec i = 1; i < lanes->n_nodes; i++) {
    const sn_vec_node *node = &lanes->nodes[i];
    if (!node->uses || node->level != 2 || node->section != section) continue;
    if (depth == 0 && (uint64_t)seen * parts >= (uint64_t)n * part) return i;
    seen += !node->region;
    depth += node->kind == SN_VEC_RARE;
    depth -= node->kind == SN_VEC_RARE_END;
  }
  return (sn_vec)lanes->n_nodes;
}
