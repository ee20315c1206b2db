/* shader_block.h - blocks of a product's factor on their way into the memory of a workgroup: SN_SHADER_BLOCK_K terms of so many
 * rows or columns. All threads bring some of it, four elements at a time, along k or across it as they lie in memory.
 *
 *   <tile>[k * (width / 4 + 1) + row / 4]   the fours of a tile: across, whatever way they came
 *
 * A term has a four more than it needs, and neighbouring threads bring 16 rows and 8 terms of each: so they write to different
 * banks of the memory, where a four along k is written element by element, and read whole sectors of the other.
 *
 * A four is on its way in registers, next_<letter><i>, so that it may be asked for before there is room for it. */
#ifndef SN_WGSL_SHADER_BLOCK_H
#define SN_WGSL_SHADER_BLOCK_H

#include "wgsl/shader.h"

typedef struct sn_shader_block {
  const sn_group *product;
  const sn_operand *factor;
  sn_shader_reading reading;
  char letter;
  const char *tile;  /* its name */
  const char *first; /* row or column that the tile begins with, an expression */
  bool along;        /* a four lies along k, else across it */
  int width;         /* rows or columns of the tile */
  int threads;       /* of the workgroup */
  int count;         /* fours of each of them; those of the last may be too many */
  bool overruns;     /* blocks behind the last term may be asked for */
  int64_t size;      /* rows or columns of the factor */
  int64_t k;         /* its terms */
} sn_shader_block;

/* Fours from a term of a tile to the next one; of a whole tile. */
static inline int sn_shader_block_stride(int width) { return width / 4 + 1; }
static inline int sn_shader_block_fours(int width) {
  return SN_SHADER_BLOCK_K * sn_shader_block_stride(width);
}

/* The type of four of a product's totals. */
const char *sn_shader_four_type(const sn_group *product);

/* side: of the product. The functions of its factor (sn_shader_factor) are there. */
sn_status sn_shader_block_begin(sn_shader *s, sn_shader_block *b, int side);

/* Lines, which need `lane` and `batch`: where the fours of a thread lie; next = the block from k on; the tile = next. */
void sn_shader_block_places(sn_shader *s, const sn_shader_block *b);
void sn_shader_block_bring(sn_shader *s, const sn_shader_block *b, bool is_first, const char *k);
void sn_shader_block_put(sn_shader *s, const sn_shader_block *b);

#endif
