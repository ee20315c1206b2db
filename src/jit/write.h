/* write.h - writes lane operations as instructions, one pass for each section and level. A pass may be
 * written several times: for unrolled copies and for the partial vector at the end.
 *
 * A value stays on wasm's stack if the next operation takes it as its first operand; else it goes to a
 * local. A local is free again after the value's last use in the pass, unless later passes need the
 * value. A constant has a local if a loop uses it; otherwise it is written inline at each use. */
#ifndef SN_JIT_WRITE_H
#define SN_JIT_WRITE_H

#include "graph/graph.h"
#include "jit/vector.h"

/* Writes instructions that load input `number` into a local. */
typedef void sn_load_fn(void *user, uint32_t number, uint32_t local);

#define SN_WRITE_COPIES 4 /* most copies of a pass that may be under way at once */

typedef struct sn_writer {
  sn_wasm *w;
  const sn_vecs *lanes;
  sn_load_fn *load;
  void *user;
  uint32_t copy;   /* the copy being written */
  uint32_t *local; /* per copy and node: its local, or SN_NONE; nodes below level 2 are in copy 0 */
  uint32_t *left;  /* per copy and node: uses still to come in this pass */
  uint32_t *free;  /* v128 locals that can be reused */
  uint32_t n_free;
  sn_vec pending; /* the node whose value is on wasm's stack; 0: none */
} sn_writer;

/* The uses in `lanes` must have been counted (sn_vecs_count). */
sn_status sn_writer_begin(sn_writer *writer, sn_arena *arena, sn_wasm *w, const sn_vecs *lanes,
                          sn_load_fn *load, void *user);

/* Writes the nodes of a level in a section; of level 0 those of all sections. */
void sn_write_pass(sn_writer *writer, uint32_t section, int level);

/* Writes nodes [from, to) of such a pass. A part must not begin or end between a RARE and its RARE_END. */
void sn_write_part(sn_writer *writer, uint32_t section, int level, sn_vec from, sn_vec to);

/* The first node of part `part`, if the nodes of level 2 are cut into `parts` of about equal length. */
sn_vec sn_write_cut(const sn_writer *writer, uint32_t section, uint32_t part, uint32_t parts);

/* Pushes the node's value onto the stack, as one of its uses. */
void sn_write_get(sn_writer *writer, sn_vec node);

/* The two halves of it, for one use that pushes the value several times: pushes it without counting; counts the use. */
void sn_write_peek(sn_writer *writer, sn_vec node);
void sn_write_done(sn_writer *writer, sn_vec node);

uint32_t sn_writer_take(sn_writer *writer); /* a v128 local */
void sn_writer_give(sn_writer *writer, uint32_t local);

#endif
