/* shader_chain.h - the state while the shader of a chain is written, shared by shader_chain*.c. */
#ifndef SN_WGSL_SHADER_CHAIN_H
#define SN_WGSL_SHADER_CHAIN_H

#include "wgsl/chain_passes.h"
#include "wgsl/shader_block.h"

/* A thread has SN_CHAIN_MICRO consecutive rows. A strip is the columns of which each of the threads along x has four. */
enum { SN_CHAIN_MICRO = 4, SN_CHAIN_STRIP = 4 * SN_SHADER_SIDE };

typedef struct sn_chain_writer {
  sn_shader *s;
  const sn_chain *chain;
  sn_chain_passes passes;
  sn_shader_block *blocks; /* per member two, for the factors of a product that are read from memory */
  int rows;                /* of the workgroup's block */
  int fours;               /* fours of score columns per thread, and so strips per tile */
  int pass;                /* under way */
} sn_chain_writer;

static inline const sn_group *sn_chain_member(const sn_chain_writer *w, uint32_t m) {
  return &w->chain->members[m];
}

static inline int sn_chain_columns(const sn_chain_writer *w) { return w->fours * SN_CHAIN_STRIP; }

/* Distance in the tile from a thread's first column to its column c. */
static inline int sn_chain_column(int c) { return c / 4 * SN_CHAIN_STRIP + c % 4; }

/* Columns of a product's result that a thread has, a multiple of 4. */
int sn_chain_micro_results(const sn_group *product);
/* Whether long sums of results are added up in blocks: in acc, then in sum. */
bool sn_chain_has_blocks(const sn_chain_writer *w);

/* ---- shader_chain_values.c: values between members, in registers ------------------------------- */

/* The name of the register of a value at a thread's row r and column c. */
void sn_chain_value_name(const sn_chain_writer *w, char *name, uint32_t v, int r, int c);
/* Declares the registers of all scores, or of all values that have one element per row. */
void sn_chain_declare_values(const sn_chain_writer *w, bool scores);
/* Declares s<value> for the values that a body reads, at row r and column c; c < 0: it reads no scores. */
void sn_chain_open_values(const sn_chain_writer *w, const sn_body *body, int r, int c);
const char *sn_chain_insn_name(const sn_chain_writer *w, const sn_body *body, uint32_t insn);
/* Stores of a point: to registers, and to memory if the pass under way is `points`, the first that knows them. if_inside: a
 * test that the point exists. */
void sn_chain_store(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                    uint32_t n, int rank, int r, int c, int points, const char *if_inside);
/* Adds the lines of a body that the stores need, and those that the instructions marked in `also` (or NULL) need. */
sn_status sn_chain_body(const sn_chain_writer *w, const sn_body *body, const sn_store *stores,
                        uint32_t n, const uint8_t *also, int rank);
/* Open a block, "{", in which `row`, or `row` and `column`, are a thread's; the test says whether that point exists. */
void sn_chain_open_row(const sn_chain_writer *w, int r);
void sn_chain_open_point(const sn_chain_writer *w, int r, int c);
void sn_chain_test_point(char test[64], int r, int c);

/* ---- shader_chain_rows.c ------------------------------------------------------------------------ */

sn_status sn_chain_rows(const sn_chain_writer *w, uint32_t m);
/* The name of the sum by which results of a streamed value are divided; false: the value is not streamed. */
bool sn_chain_stream_sum(const sn_chain_writer *w, uint32_t value, int r, char *name);
/* Before a pass: what is computed once per row. All threads of a row know its totals; one of them stores. */
sn_status sn_chain_per_row(const sn_chain_writer *w);
void sn_chain_declare_totals(const sn_chain_writer *w);
/* Begin and join the totals that the pass under way makes. */
sn_status sn_chain_begin_totals(const sn_chain_writer *w);
sn_status sn_chain_join_totals(const sn_chain_writer *w);

#endif
