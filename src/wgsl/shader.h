/* shader.h - the shader of one group under way: what it binds, its constants, its functions, and the lines of its main
 * function. The files that write a kind of group share it.
 *
 *   binding 0 .. n - 1   pieces of memory, each once: values in place share one, as WebGPU lets no two writable bindings
 *                        overlap. Of the arena all are writable: one buffer is either, in a dispatch.
 *   binding n            constants, as bits: a text does not depend on them, so that programs share pipelines
 *   the next one         the numbers of the rounds under way, where a slice of a stack is touched
 *
 * Invariant: the text names bindings and constants by their numbers alone; equal work has equal text. */
#ifndef SN_WGSL_SHADER_H
#define SN_WGSL_SHADER_H

#include "base/text.h"
#include "fuse/group_visit.h"
#include "wgsl/frame.h"
#include "wgsl/spoken.h"

enum {
  SN_SHADER_BINDINGS = 16,
  SN_SHADER_THREADS = 64,
  SN_SHADER_NAME = 24,
  SN_SHADER_MOST_GROUPS = 32768,
  SN_SHADER_SIDE = 16,            /* threads of a tile's side */
  SN_SHADER_BLOCK_K = 16,         /* terms that a workgroup brings at a time */
  SN_SHADER_MOST_MATRICES = 65535 /* of a product, at once */
};

/* Layout known to js/src/webgpu/programs.ts. */
typedef struct sn_shader_binding {
  uint32_t buffer; /* of the program that is run, as sn_handle has it, or SN_GATES or SN_PARTS */
  uint32_t offset, bytes;
  uint32_t writes;        /* 0 or 1: bound writable */
  uint32_t turned, level; /* the offset in odd rounds of the loop that is so deep, from 0 on */
} sn_shader_binding;

typedef enum sn_shader_element {
  SN_ELEMENT_F32,
  SN_ELEMENT_FOUR_F32, /* of what is read or written so (shader_factor.c, shader_map.c) */
  SN_ELEMENT_I32,
  SN_ELEMENT_U32,
  SN_ELEMENT_ATOMIC
} sn_shader_element;

typedef struct sn_shader {
  sn_arena *arena;
  const sn_frame *frame;
  const sn_group *group; /* NULL: what control flow needs besides (shader_gate.c) */
  sn_shader_binding bindings[SN_SHADER_BINDINGS];
  sn_shader_element elements[SN_SHADER_BINDINGS];
  uint32_t n_bindings;
  sn_text declared; /* variables of a workgroup */
  sn_text main;     /* its lines */
  sn_spoken spoken; /* functions that main calls, constants */
  char index[SN_MAX_RANK]
            [SN_SHADER_NAME]; /* names of the dimensions: the space's, then the reduced ones */
  /* per value: whether it is in a register, s<value>; or NULL. Then kept values are, too: kept<slot> (shader_chain.c) */
  const bool *inside;
  /* per operand of a map: whether four<operand>[s] is its element; or NULL (shader_map.c) */
  const bool *fours;
  int depth;
  uint32_t threads[2]; /* of a workgroup */
  uint32_t groups[3];  /* workgroups */
  bool asks_rounds;    /* for the numbers of the rounds under way */
  sn_status status;
} sn_shader;

/* Collects the bindings of a group, if there is one. */
sn_status sn_shader_begin(sn_arena *arena, const sn_frame *frame, const sn_group *group,
                          sn_shader *s);

/* The binding of a place, for elements of a dtype; SN_NONE: it has none. */
uint32_t sn_shader_bind(sn_shader *s, const sn_place_of *at, sn_dtype dtype, bool writes);

/* The whole text. */
sn_status sn_shader_end(sn_shader *s, const char **text);

/* Adds a line to main, indented; "}" at its beginning ends a block, "{" at its end begins one. */
void sn_shader_line(sn_shader *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What was written; "" where nothing was, or memory ran out, which the shader then knows. */
const char *sn_shader_text(sn_shader *s, const sn_text *t);

/* Each of `points` points has a thread, or `each` of them: `p` is the first one's number. Returns from the others. */
void sn_shader_thread_per_point(sn_shader *s, int64_t points, int64_t each);

/* Each of `points` points has a workgroup of so many threads: `p` is its number, `lane` the thread's. */
void sn_shader_group_per_point(sn_shader *s, int64_t points, uint32_t threads);

/* let i0 = ..., i1 = ...: the dimensions of number `from`, which counts dims row by row. */
void sn_shader_split(sn_shader *s, const char *from, const int64_t *dims, int rank, char letter);

/* Adds where an operand's element lies, by the names of the first `rank` dimensions. */
void sn_shader_add_place(const sn_shader *s, sn_text *out, const sn_operand *o, int rank);

/* Adds the element at a place, an expression, of a value in memory. */
void sn_shader_add_element(sn_shader *s, sn_text *out, uint32_t value, sn_dtype dtype,
                           const char *place);

/* The same of a binding, and of what lies in it. */
void sn_shader_add_bound(sn_shader *s, sn_text *out, uint32_t binding, const sn_place_of *at,
                         sn_dtype dtype, const char *place);

/* Adds what an operand loads. */
void sn_shader_add_load(sn_shader *s, sn_text *out, const sn_operand *o, int rank, sn_dtype dtype);

/* How the bits of a dtype smaller than a word are made from a value, %s: they are the low ones of a u32. */
const char *sn_shader_bits(sn_dtype dtype);

/* A line that stores an expression. Bytes go to memory by themselves, whatever others do to their neighbours. */
void sn_shader_store(sn_shader *s, uint32_t value, sn_dtype dtype, const char *place,
                     const char *what);
void sn_shader_store_bound(sn_shader *s, uint32_t binding, const sn_place_of *at, sn_dtype dtype,
                           const char *place, const char *what);

/* Makes bindings that are written byte by byte atomic: before any load is written. Of one value, or where one of the stores is
 * of elements smaller than a word. */
void sn_shader_stores_bytes(sn_shader *s, uint32_t value);
void sn_shader_stores_small(sn_shader *s, const sn_store *stores, uint32_t n);

/* Bytes of memory that the threads of a workgroup share; 0: they share none. */
int64_t sn_shader_shared_bytes(const sn_shader *s);

/* What one shader of a group hands to the next lies in SN_PARTS: whether a binding is left for that, and so many words of it. */
bool sn_shader_can_bind_parts(const sn_shader *s);
uint32_t sn_shader_bind_parts(sn_shader *s, int64_t words, sn_dtype dtype);

uint32_t sn_shader_binding_of(const sn_shader *s, uint32_t value);

/* Whether a value begins where its binding does. */
bool sn_shader_is_whole(const sn_shader *s, uint32_t value);

/* ---- shader_body.c --------------------------------------------------------------------------- */

/* The lines of a body, as far as `needed` (per instruction) asks for it; values are named <prefix>0, <prefix>1 ... */
sn_status sn_shader_body(sn_shader *s, const sn_body *body, const uint8_t *needed, int rank,
                         char prefix);

/* Adds the name of an instruction's value. */
void sn_shader_add_name(sn_shader *s, sn_text *out, const sn_body *body, uint32_t insn,
                        char prefix);

/* What the stores need of a body, its lines, and the stores. */
sn_status sn_shader_post(sn_shader *s);
sn_status sn_shader_stores(sn_shader *s, const sn_body *body, const sn_store *stores, uint32_t n,
                           int rank, char prefix);

/* ---- a file for each kind --------------------------------------------------------------------- */

sn_status sn_shader_map(sn_shader *s);
sn_status sn_shader_row(sn_shader *s);

/* <left> = left op right, one step of a reduction. */
void sn_shader_combine(sn_shader *s, const sn_reduction *r, const char *left, const char *right);

/* The parts of a reduction that has few points with many terms each: one shader makes a total of each part, another puts
 * those together. 1: it is one shader. */
int64_t sn_shader_parts(const sn_shader *s);
sn_status sn_shader_partial_totals(sn_shader *s, int64_t parts);
sn_status sn_shader_join_totals(sn_shader *s, int64_t parts);

/* ---- shader_factor.c ---------------------------------------------------------------------------- */

/* fn place_a(batch, across), fn step_a(k), fn at_a(place): an element of a product's factor lies at the sum of two, and is 0
 * outside of the bounds. The letter may be any. */
sn_status sn_shader_factor(sn_shader *s, const sn_group *product, int side, char letter);
/* fn load_a(batch, across, k): the element, 0 outside of the matrix, too, which has `size` places across. */
void sn_shader_factor_loader(sn_shader *s, const sn_group *product, char letter, int64_t size);
/* The type of such a place. */
const char *sn_shader_place_type(const sn_operand *f);
/* fn four_a(place): four elements that lie one after the other. */
sn_status sn_shader_factor_fours(sn_shader *s, const sn_operand *f, char letter);

/* How a shader reads a factor: element by element, or four that lie one after the other, along k or across it. */
typedef enum sn_shader_reading {
  SN_READS_ELEMENTS,
  SN_READS_FOURS_ALONG,
  SN_READS_FOURS_ACROSS
} sn_shader_reading;
/* The best one; a binding that is read in fours holds fours from then on. */
sn_shader_reading sn_shader_factor_reading(sn_shader *s, const sn_group *product, int side);

/* ---- products ---------------------------------------------------------------------------------- */

/* batches matrices of m x n, each a sum over k; in parts of so many terms, which have threads of their own. */
typedef struct sn_shader_sizes {
  int64_t batches, m, n, k, parts, terms;
} sn_shader_sizes;

/* Which of several shaders are faster depends on the device; 0 is a fair choice. All add up in the same order. */
int sn_shader_product_variants(const sn_shader *s);
sn_status sn_shader_product(sn_shader *s, int variant);
/* Whether those make totals of parts alone, and the shader that puts them together. */
bool sn_shader_product_has_parts(const sn_shader *s);
sn_status sn_shader_product_join(sn_shader *s);

/* total += a b, of a product's type. */
void sn_shader_multiply_add(sn_shader *s, const char *total, const char *a, const char *b);

/* shader_product_points.c: a thread has `micro` rows and columns; it reads fours only where that is 4, and k whole fours. What
 * is made is handed to fn finish(z, row, column, total): z counts matrices, and those of later parts behind them. */
sn_status sn_shader_product_points(sn_shader *s, const sn_shader_sizes *sizes, int micro,
                                   const sn_shader_reading readings[2]);

/* shader_product_tiles.c: a workgroup has so many, a thread `rows` and `columns` of them: multiples of 4. */
typedef struct sn_shader_tile {
  int width, rows, columns;
} sn_shader_tile;
sn_status sn_shader_product_tiles(sn_shader *s, const sn_shader_sizes *sizes, sn_shader_tile tile,
                                  const sn_shader_reading readings[2]);

int sn_shader_chain_variants(const sn_shader *s);
sn_status sn_shader_chain(sn_shader *s, int variant);

sn_status sn_shader_call(sn_shader *s);

/* ---- shader_call.c: what is shared by calls of one shader and of several ------------------------- */

/* A thread for each of `per_line` elements of each line: which line q and which place j of it. */
void sn_shader_call_open_elements(sn_shader *s, int64_t per_line);
/* The element of an input at a position of the line, an expression; and a line that stores one of the result. */
const char *sn_shader_call_element(sn_shader *s, uint32_t input, const char *position);
void sn_shader_call_store(sn_shader *s, const char *position, const char *what);
/* fn precedes(a, b): a is sorted before b. NaN is last; bools are numbers. */
void sn_shader_add_precedes(sn_shader *s);
/* The updates of a scatter, a thread for each line. */
sn_status sn_shader_scatter_updates(sn_shader *s);

/* ---- shader_passes.c ---------------------------------------------------------------------------- */

/* How many shaders a group takes, one after the other; and one of them. */
int sn_shader_passes(const sn_shader *s);
sn_status sn_shader_pass(sn_shader *s, int pass, int passes);

/* ---- shader_gate.c: what control flow needs besides -------------------------------------------- */

/* Copies so many elements. */
sn_status sn_shader_copy(sn_shader *s, const sn_place_of *from, const sn_place_of *to,
                         sn_dtype dtype, int64_t count);

/* Opens or closes a gate; its words in `constants` are 0 until sn_gate_words has them. */
sn_status sn_shader_gate(sn_shader *s, const sn_place_of *test, bool opens_if);
typedef struct sn_gate_words {
  uint32_t flag, outer, first, count; /* words of the gates, but for the count of dispatches */
} sn_gate_words;

#endif
