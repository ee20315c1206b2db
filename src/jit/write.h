/* write.h - lane operations to instructions, one pass for each section and level; each pass may be
 * written several times, for unrolled copies and for the partial vector at the end.
 *
 * A value stays on wasm's stack when the next operation takes it first, else it goes to a local;
 * locals are given back after the last use in the pass. What later passes need keeps its local. A
 * constant is a local when a loop uses it, otherwise it is written where it is used. */
#ifndef SN_JIT_WRITE_H
#define SN_JIT_WRITE_H

#include "graph/graph.h"
#include "jit/vector.h"

/* Writes instructions that load input `number` into a local. */
typedef void sn_load_fn(void *user, uint32_t number, uint32_t local);

#define SN_WRITE_COPIES 4 /* that may be under way at once */

typedef struct sn_writer {
  sn_wasm *w;
  const sn_vecs *lanes;
  sn_load_fn *load;
  void *user;
  uint32_t copy;   /* which is being written */
  uint32_t *local; /* per copy and node, SN_NONE: none yet; copy 0 has those below level 2 */
  uint32_t *left;  /* likewise: uses to come in this pass */
  uint32_t *free;  /* locals of type v128 */
  uint32_t n_free;
  sn_vec pending; /* its value is on the stack; 0: none */
} sn_writer;

/* lanes: counted (sn_vecs_count). */
sn_status sn_writer_begin(sn_writer *writer, sn_arena *arena, sn_wasm *w, const sn_vecs *lanes,
                          sn_load_fn *load, void *user);

/* Level 0: the nodes of all sections. */
void sn_write_pass(sn_writer *writer, uint32_t section, int level);

/* Nodes [from, to) of such a pass; a part must not begin or end behind a RARE. */
void sn_write_part(sn_writer *writer, uint32_t section, int level, sn_vec from, sn_vec to);

/* Where part `part` of `parts` about equal ones of level 2 begins. */
sn_vec sn_write_cut(const sn_writer *writer, uint32_t section, uint32_t part, uint32_t parts);

/* The node's value onto the stack: one of its uses. */
void sn_write_get(sn_writer *writer, sn_vec node);

/* The same without counting the use, for who takes it several times; then that use. */
void sn_write_peek(sn_writer *writer, sn_vec node);
void sn_write_done(sn_writer *writer, sn_vec node);

uint32_t sn_writer_take(sn_writer *writer); /* a v128 local */
void sn_writer_give(sn_writer *writer, uint32_t local);

#endif
