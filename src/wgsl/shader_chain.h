/* shader_chain.h - the shader of a chain under way, for the files that write it. */
#ifndef SN_WGSL_SHADER_CHAIN_H
#define SN_WGSL_SHADER_CHAIN_H

#include "wgsl/chain_passes.h"
#include "wgsl/shader.h"

enum { SN_CHAIN_COLUMNS = 32, SN_CHAIN_MICRO_COLUMNS = SN_CHAIN_COLUMNS / SN_SHADER_SIDE };

typedef struct sn_chain_writer {
  sn_shader *s;
  const sn_chain *chain;
  sn_chain_passes passes;
  int rows;  /* of a block */
  int micro; /* of a thread */
  int pass;
} sn_chain_writer;

static inline const sn_group *sn_chain_member(const sn_chain_writer *w, uint32_t m) {
  return &w->chain->whole[m];
}

/* ---- shader_chain_values.c: what is handed on, in registers ------------------------------------ */

/* The register of a value at a thread's row r and column c. */
void sn_chain_value_name(const sn_chain_writer *w, char *name, uint32_t v, int r, int c);
/* Declares registers: of scores, or of what there is once a row. */
void sn_chain_declare_values(const sn_chain_writer *w, bool scores);
/* Lines that give what a body reads its names; c < 0: it reads no scores. */
void sn_chain_open_values(const sn_chain_writer *w, const sn_body *body, int r, int c);
const char *sn_chain_insn_name(const sn_chain_writer *w, const sn_body *body, uint32_t insn);
/* Stores of a point: into registers, and to memory where this is the pass that knows them first; `if_inside`: a test that the
 * point is there. */
void sn_chain_store(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                    uint32_t n, int rank, int r, int c, int points, const char *if_inside);
/* The lines of a body, as far as the stores need it, and instructions `also`, or NULL. */
sn_status sn_chain_body(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                        uint32_t n, const uint8_t *also, int rank);
/* "{", and the names of row and column. */
void sn_chain_open_row(const sn_chain_writer *w, int r);
void sn_chain_open_point(const sn_chain_writer *w, int r, int c);
void sn_chain_test_point(char test[64], int r, int c);

/* ---- shader_chain_rows.c ------------------------------------------------------------------------ */

/* The function that max and sum of a softmax need. */
sn_status sn_chain_follow(const sn_chain_writer *w);
sn_status sn_chain_rows(const sn_chain_writer *w, uint32_t m);
/* What happens once a row, before a pass: totals are known to all threads of the row, one of which writes. */
sn_status sn_chain_per_row(const sn_chain_writer *w);
void sn_chain_declare_totals(const sn_chain_writer *w);
/* Of the totals that this pass makes. */
sn_status sn_chain_begin_totals(const sn_chain_writer *w);
sn_status sn_chain_join_totals(const sn_chain_writer *w);

#endif
