/* shader_chain.h - the shader of a chain under way, for the files that write it. */
#ifndef SN_WGSL_SHADER_CHAIN_H
#define SN_WGSL_SHADER_CHAIN_H

#include "wgsl/chain_passes.h"
#include "wgsl/shader_block.h"

/* Rows of a thread, one after the other; and columns that all threads have of a four each. */
enum { SN_CHAIN_MICRO = 4, SN_CHAIN_STRIP = 4 * SN_SHADER_SIDE };

typedef struct sn_chain_writer {
  sn_shader *s;
  const sn_chain *chain;
  sn_chain_passes passes;
  sn_shader_block *blocks; /* per member two, of its factors; without a product: of none */
  int rows;                /* of a block */
  int fours;               /* of scores' columns that a thread has: of a tile, as many strips */
  int pass;
} sn_chain_writer;

static inline const sn_group *sn_chain_member(const sn_chain_writer *w, uint32_t m) {
  return &w->chain->whole[m];
}

static inline int sn_chain_columns(const sn_chain_writer *w) { return w->fours * SN_CHAIN_STRIP; }

/* Where column c of a thread lies behind its first one. */
static inline int sn_chain_column(int c) { return c / 4 * SN_CHAIN_STRIP + c % 4; }

/* Columns of a result that a thread has: whole fours. */
int sn_chain_micro_results(const sn_group *product);
/* Whether its totals are added up in blocks: acc, then sum. */
bool sn_chain_has_blocks(const sn_chain_writer *w);

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

sn_status sn_chain_rows(const sn_chain_writer *w, uint32_t m);
/* By what the results of a streamed value are to be divided; false: it is none. */
bool sn_chain_stream_sum(const sn_chain_writer *w, uint32_t value, int r, char *name);
/* What happens once a row, before a pass: totals are known to all threads of the row, one of which writes. */
sn_status sn_chain_per_row(const sn_chain_writer *w);
void sn_chain_declare_totals(const sn_chain_writer *w);
/* Of the totals that this pass makes. */
sn_status sn_chain_begin_totals(const sn_chain_writer *w);
sn_status sn_chain_join_totals(const sn_chain_writer *w);

#endif
