/* shader_block.h - brings blocks of a product's factor into workgroup memory (a tile): SN_SHADER_BLOCK_K terms of `width` rows
 * or columns. Every thread loads some fours of the block, along k or across it, whichever is contiguous in memory.
 *
 *   <tile>[k * (width / 4 + 1) + row / 4]   a tile holds fours across k, however they were loaded
 *
 * A four along k is stored element by element. So that threads then write to different banks of workgroup memory, a term is one
 * four longer than needed, and neighbouring threads bring 16 rows and 8 terms of each; they also read whole sectors of the
 * device's memory that way.
 *
 * A four waits in registers, next_<letter><i>, so that it can be loaded before the tile has room for it. */
#ifndef SN_WGSL_SHADER_BLOCK_H
#define SN_WGSL_SHADER_BLOCK_H

#include "wgsl/shader.h"

typedef struct sn_shader_block {
  const sn_group *product;
  const sn_operand *factor;
  sn_shader_reading reading;
  char letter;
  const char *tile;  /* name of the variable */
  const char *first; /* expression for the first row or column of the tile */
  bool along;        /* fours are contiguous along k, else across it */
  int width;         /* rows or columns of the tile */
  int threads;       /* of the workgroup */
  int count;         /* fours per thread; the last threads may have too many */
  bool overruns;     /* blocks behind the last term may be loaded */
  int64_t size;      /* rows or columns of the factor */
  int64_t k;         /* terms of the factor */
} sn_shader_block;

/* Fours from one term of a tile to the next; fours of a whole tile. */
static inline int sn_shader_block_stride(int width) { return width / 4 + 1; }
static inline int sn_shader_block_fours(int width) {
  return SN_SHADER_BLOCK_K * sn_shader_block_stride(width);
}

/* The WGSL type of four totals of a product. */
const char *sn_shader_four_type(const sn_group *product);

/* Completes the description and defines its function. side: 0 or 1, the factor, whose functions (sn_shader_factor) must have
 * been defined. */
sn_status sn_shader_block_begin(sn_shader *s, sn_shader_block *b, int side);

/* Lines of main, which read `lane` and `batch`. places: the positions of the thread's fours; bring: next = the block from k on;
 * put: the tile = next. */
void sn_shader_block_places(sn_shader *s, const sn_shader_block *b);
void sn_shader_block_bring(sn_shader *s, const sn_shader_block *b, bool is_first, const char *k);
void sn_shader_block_put(sn_shader *s, const sn_shader_block *b);

#endif
