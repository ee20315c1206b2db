/* bool_words.c - logic on adjacent bools, as bitwise ops on words of four.
 *
 * A bool is a byte 0 or 1, so and, or and xor of words are those of their bytes, and not flips each
 * byte's lowest bit. A strip holds bools as masks of 32 bits; with words, an element of a strip is four
 * bools, and nothing is widened or narrowed.
 *
 *   map over 4 n bools: v1 = logical_not v0   map over n int32: v1 = bitwise_xor v0 0x01010101 */
#include <string.h>

#include "kernels/kernel.h"

enum { WORD = 4 };

static bool is_word_aligned(const sn_operand *o) {
  return o->value != SN_NONE && !sn_is_indexed(o) && o->dtype == SN_BOOL && o->strides[0] == 1 &&
         o->offset % WORD == 0;
}

static bool suits_words(const sn_group *g) {
  if (g->kind != SN_GROUP_MAP || g->space_rank != 1 || g->space[0] % WORD) return false;
  for (uint32_t i = 0; i < g->post.n_operands; i++)
    if (!is_word_aligned(&g->post.operands[i])) return false;
  for (uint32_t i = 0; i < g->n_stores; i++)
    if (!is_word_aligned(&g->stores[i].target)) return false;
  for (uint32_t i = 0; i < g->post.n_insns; i++) {
    const sn_insn *insn = &g->post.insns[i];
    const bool load = insn->kind == SN_INSN_LOAD;
    if (!load && (insn->kind != SN_INSN_OP || !sn_op_describe(insn->op)->on_bits)) return false;
  }
  return true;
}

static void make_words(sn_operand *o) {
  o->dtype = SN_I32;
  o->offset /= WORD;
}

/* Instruction 0 is the word of ones; the others move up by one. */
static sn_insn word_insn(const sn_insn *insn) {
  sn_insn out = *insn;
  out.dtype = out.in_dtype = SN_I32;
  if (insn->kind != SN_INSN_OP) return out;
  out.op = sn_op_describe(insn->op)->on_bits;
  out.n_args = 2;
  out.args[0] = insn->args[0] + 1;
  out.args[1] = insn->n_args == 1 ? 0 : insn->args[1] + 1;
  return out;
}

sn_status sn_bool_words(sn_arena *arena, const sn_group **group) {
  const sn_group *g = *group;
  if (!suits_words(g)) return SN_OK;
  sn_group *out;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *out, (void **)&out));
  *out = *g;
  sn_body *post = &out->post;
  SN_TRY(sn_arena_alloc(arena, g->post.n_insns + 1, sizeof *post->insns, (void **)&post->insns));
  SN_TRY(
      sn_arena_alloc(arena, g->post.n_operands, sizeof *post->operands, (void **)&post->operands));
  SN_TRY(sn_arena_alloc(arena, g->n_stores, sizeof *out->stores, (void **)&out->stores));
  out->space[0] /= WORD;
  post->n_insns++;
  post->insns[0] = (sn_insn){.kind = SN_INSN_CONST, .dtype = SN_I32, .value = 0x01010101};
  for (uint32_t i = 0; i < g->post.n_insns; i++) post->insns[i + 1] = word_insn(&g->post.insns[i]);
  for (uint32_t i = 0; i < g->post.n_operands; i++) {
    post->operands[i] = g->post.operands[i];
    make_words(&post->operands[i]);
  }
  for (uint32_t i = 0; i < g->n_stores; i++) {
    out->stores[i] = (sn_store){g->stores[i].insn + 1, g->stores[i].target};
    make_words(&out->stores[i].target);
  }
  *group = out;
  return SN_OK;
}
