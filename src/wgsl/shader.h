/* shader.h - the state while the shader of one group is written: its bindings, its constants, its functions, and the lines of
 * its main function. The files that write the kinds of groups share it.
 *
 *   binding 0 .. n - 1   pieces of memory, each once: values in place share a binding, since WebGPU lets no two writable
 *                        bindings overlap. Those in the arena are all writable, since WebGPU does not let one dispatch
 *                        bind one buffer both as writable and as read-only.
 *   binding n            constants, as bits: the text does not contain them, so that programs share pipelines
 *   the next one         the numbers of the rounds under way, if the shader accesses a slice of a stack
 *
 * Invariant: the text names bindings and constants by their numbers alone, so equal work has equal text. */
#ifndef SN_WGSL_SHADER_H
#define SN_WGSL_SHADER_H

#include "base/text.h"
#include "fuse/group_visit.h"
#include "wgsl/frame.h"
#include "wgsl/scalar_text.h"

enum {
  SN_SHADER_BINDINGS = 16,
  SN_SHADER_THREADS = 64,
  SN_SHADER_NAME = 24,
  SN_SHADER_MOST_GROUPS = 32768,
  SN_SHADER_SIDE = 16,            /* threads along one side of a tile */
  SN_SHADER_BLOCK_K = 16,         /* terms of k that a workgroup loads at a time */
  SN_SHADER_MOST_MATRICES = 65535 /* most matrices of a product in one dispatch */
};

/* js/src/webgpu/programs.ts knows this layout. */
typedef struct sn_shader_binding {
  uint32_t
      buffer; /* number of a buffer of the outermost program (sn_handle), or SN_GATES or SN_PARTS */
  uint32_t offset, bytes;
  uint32_t writes;     /* 0 or 1: bound writable */
  uint32_t odd_offset; /* in odd rounds of the loop at depth `level` */
  uint32_t level;      /* counted from 0 */
} sn_shader_binding;

typedef enum sn_shader_element {
  SN_ELEMENT_F32,
  SN_ELEMENT_FOUR_F32, /* vec4<f32>: factors and maps that read or write fours (shader_factor.c, shader_map.c) */
  SN_ELEMENT_I32,
  SN_ELEMENT_U32,
  SN_ELEMENT_ATOMIC
} sn_shader_element;

typedef struct sn_shader {
  sn_arena *arena;
  const sn_frame *frame;
  const sn_group *group; /* NULL for the shaders that control flow adds (shader_gate.c) */
  sn_shader_binding bindings[SN_SHADER_BINDINGS];
  sn_shader_element elements[SN_SHADER_BINDINGS];
  uint32_t n_bindings;
  sn_text declared;       /* variables in workgroup memory */
  sn_text main;           /* lines of the main function */
  sn_scalar_text scalars; /* functions that main calls, constants */
  char index
      [SN_MAX_RANK]
      [SN_SHADER_NAME]; /* names of the indices of the space's dims, then of the reduced ones */
  /* NULL, or per value whether it is in a register, s<value>; kept values then are, too: kept<slot> (shader_chain.c) */
  const bool *inside;
  /* NULL, or per operand of a map whether its element is four<operand>[s] (shader_map.c) */
  const bool *fours;
  int depth;           /* of indentation */
  uint32_t threads[2]; /* per workgroup */
  uint32_t groups[3];  /* numbers of workgroups */
  bool asks_rounds;    /* reads the numbers of the rounds under way */
  sn_status status;
} sn_shader;

/* Begins a shader, with the bindings of the group, if there is one. */
sn_status sn_shader_begin(sn_arena *arena, const sn_frame *frame, const sn_group *group,
                          sn_shader *s);

/* Binds a place for elements of a dtype, or finds its binding. Returns the binding's number; SN_NONE if the place has no bytes
 * or binding failed (status). */
uint32_t sn_shader_bind(sn_shader *s, const sn_place_of *at, sn_dtype dtype, bool writes);

/* *text is the whole shader. */
sn_status sn_shader_end(sn_shader *s, const char **text);

/* Adds a line to main, indented; "}" at its beginning ends a block, "{" at its end begins one. */
void sn_shader_line(sn_shader *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text t; "" if it is empty or memory ran out, which goes into the shader's status. */
const char *sn_shader_text(sn_shader *s, const sn_text *t);

/* Launches a thread for every `each` of `points` points; in main, `p` is the number of its first point. Threads behind the
 * last point return. */
void sn_shader_thread_per_point(sn_shader *s, int64_t points, int64_t each);

/* Launches a workgroup of `threads` threads for each of `points` points; in main, `p` is the point's number and `lane` the
 * thread's. */
void sn_shader_group_per_point(sn_shader *s, int64_t points, uint32_t threads);

/* let i0 = ..., i1 = ...: the indices of the point with flat number `from`, row-major over dims; i is the letter. */
void sn_shader_split(sn_shader *s, const char *from, const int64_t *dims, int rank, char letter);

/* Adds the position of an operand's element, in elements, by the names of the first `rank` indices. */
void sn_shader_add_place(const sn_shader *s, sn_text *out, const sn_operand *o, int rank);

/* Adds the load of a value's element; place: an expression for its position. */
void sn_shader_add_element(sn_shader *s, sn_text *out, uint32_t value, sn_dtype dtype,
                           const char *place);

/* The same for the element of a place in a binding. */
void sn_shader_add_bound(sn_shader *s, sn_text *out, uint32_t binding, const sn_place_of *at,
                         sn_dtype dtype, const char *place);

/* Adds the load of an operand: from memory, from a register (`inside`), or the number of an iota. */
void sn_shader_add_load(sn_shader *s, sn_text *out, const sn_operand *o, int rank, sn_dtype dtype);

/* A format with one %s, a value of a dtype smaller than a word, for a u32 whose low bits are the stored ones. */
const char *sn_shader_bits(sn_dtype dtype);

/* Adds a line that stores an expression. Elements smaller than a word are stored atomically, as other threads may store their
 * neighbours in the word. */
void sn_shader_store(sn_shader *s, uint32_t value, sn_dtype dtype, const char *place,
                     const char *what);
void sn_shader_store_bound(sn_shader *s, uint32_t binding, const sn_place_of *at, sn_dtype dtype,
                           const char *place, const char *what);

/* Makes a binding atomic that is written in pieces smaller than a word: that of a value, or those of all stores with such
 * elements. Call these before any load is written. */
void sn_shader_stores_bytes(sn_shader *s, uint32_t value);
void sn_shader_stores_small(sn_shader *s, const sn_store *stores, uint32_t n);

/* Bytes of workgroup memory; 0: the threads of a workgroup are not to share memory. */
int64_t sn_shader_shared_bytes(const sn_shader *s);

/* The buffer SN_PARTS holds what one shader of a group hands to the next. The first says whether a binding is left for it; the
 * second binds `words` words of it. */
bool sn_shader_can_bind_parts(const sn_shader *s);
uint32_t sn_shader_bind_parts(sn_shader *s, int64_t words, sn_dtype dtype);

uint32_t sn_shader_binding_of(const sn_shader *s, uint32_t value);

/* Whether a value begins where its binding begins. */
bool sn_shader_is_whole(const sn_shader *s, uint32_t value);

/* ---- shader_body.c --------------------------------------------------------------------------- */

/* Adds the lines of a body: the instructions marked in `needed`, and their arguments. Values are named <prefix>0, <prefix>1
 * ... */
sn_status sn_shader_body(sn_shader *s, const sn_body *body, const uint8_t *needed, int rank,
                         char prefix);

/* Adds the name of an instruction's value. */
void sn_shader_add_name(sn_shader *s, sn_text *out, const sn_body *body, uint32_t insn,
                        char prefix);

/* Adds what the stores of the group need of post, and the stores; and stores whose body has been added. */
sn_status sn_shader_post(sn_shader *s);
sn_status sn_shader_stores(sn_shader *s, const sn_body *body, const sn_store *stores, uint32_t n,
                           int rank, char prefix);

/* ---- each kind of group has a file ------------------------------------------------------------ */

sn_status sn_shader_map(sn_shader *s);
sn_status sn_shader_row(sn_shader *s);

/* <left> = left op right, one step of a reduction. */
void sn_shader_combine(sn_shader *s, const sn_reduction *r, const char *left, const char *right);

/* How many parts a reduction with few points of many terms each is cut into. One shader makes a total of each part, another
 * joins those. 1: one shader does all. */
int64_t sn_shader_parts(const sn_shader *s);
sn_status sn_shader_partial_totals(sn_shader *s, int64_t parts);
sn_status sn_shader_join_totals(sn_shader *s, int64_t parts);

/* ---- shader_factor.c ---------------------------------------------------------------------------- */

/* Defines, with any letter, place_a(batch, across), step_a(k) and at_a(place): the place of a factor's element is the sum of
 * the first two, and at_a loads it, or 0 outside of the factor's bounds. */
sn_status sn_shader_factor(sn_shader *s, const sn_group *product, int side, char letter);
/* Defines load_a(batch, across, k): the element, 0 also outside of the matrix, which has `size` places across. */
void sn_shader_factor_loader(sn_shader *s, const sn_group *product, char letter, int64_t size);
/* The WGSL type of such a place. */
const char *sn_shader_place_type(const sn_operand *f);
/* Defines four_a(place): four contiguous elements. */
sn_status sn_shader_factor_fours(sn_shader *s, const sn_operand *f, char letter);

/* How a shader reads a factor: element by element, or in fours of elements that are contiguous along k or across it. */
typedef enum sn_shader_reading {
  SN_READS_ELEMENTS,
  SN_READS_FOURS_ALONG,
  SN_READS_FOURS_ACROSS
} sn_shader_reading;
/* The best way to read a factor. If that is in fours, makes its binding hold fours. */
sn_shader_reading sn_shader_factor_reading(sn_shader *s, const sn_group *product, int side);

/* ---- products ---------------------------------------------------------------------------------- */

/* A product: `batches` matrices of m x n, each element a sum over k terms. k is cut into `parts` parts of `terms` terms, which
 * have threads of their own. */
typedef struct sn_shader_sizes {
  int64_t batches, m, n, k, parts, terms;
} sn_shader_sizes;

/* A product has several shaders, its variants; which is fastest depends on the device, and 0 is a good default. All of them
 * add in the same order. */
int sn_shader_product_variants(const sn_shader *s);
sn_status sn_shader_product(sn_shader *s, int variant);
/* Whether the variants make only totals of parts; and the shader that joins these. */
bool sn_shader_product_has_parts(const sn_shader *s);
sn_status sn_shader_product_join(sn_shader *s);

/* total += a b, in the type of the product's totals. */
void sn_shader_multiply_add(sn_shader *s, const char *total, const char *a, const char *b);

/* shader_product_points.c: a thread computes `micro` rows and columns; fours are read only if micro is 4 and k a multiple of
 * 4. Totals go to fn finish(z, row, column, total), z = part * batches + batch. */
sn_status sn_shader_product_points(sn_shader *s, const sn_shader_sizes *sizes, int micro,
                                   const sn_shader_reading readings[2]);

/* shader_product_tiles.c: a workgroup computes width x width points, a thread rows x columns of them: multiples of 4. */
typedef struct sn_shader_tile {
  int width, rows, columns;
} sn_shader_tile;
sn_status sn_shader_product_tiles(sn_shader *s, const sn_shader_sizes *sizes, sn_shader_tile tile,
                                  const sn_shader_reading readings[2]);

int sn_shader_chain_variants(const sn_shader *s);
sn_status sn_shader_chain(sn_shader *s, int variant);

sn_status sn_shader_call(sn_shader *s);

/* ---- shader_call.c: shared by calls of one shader and of several --------------------------------- */

/* Launches a thread for each of `per_line` elements of each line; in main, q is the line and j the position in it. */
void sn_shader_call_open_elements(sn_shader *s, int64_t per_line);
/* Loads the element of an input at a position of the line, an expression; and stores an element of the result. */
const char *sn_shader_call_element(sn_shader *s, uint32_t input, const char *position);
void sn_shader_call_store(sn_shader *s, const char *position, const char *what);
/* Defines precedes(a, b): whether a is sorted before b. NaN comes last; false is less than true. */
void sn_shader_add_precedes(sn_shader *s);
/* The updates of a scatter, with a thread for each line. */
sn_status sn_shader_scatter_updates(sn_shader *s);

/* ---- shader_passes.c ---------------------------------------------------------------------------- */

/* The number of shaders that a group needs, one after the other; and the one for `pass`. */
int sn_shader_passes(const sn_shader *s);
sn_status sn_shader_pass(sn_shader *s, int pass, int passes);

/* ---- shader_gate.c: shaders that control flow adds --------------------------------------------- */

/* Copies `count` elements. */
sn_status sn_shader_copy(sn_shader *s, const sn_place_of *from, const sn_place_of *to,
                         sn_dtype dtype, int64_t count);

/* Opens a gate if the bool at `test` equals opens_if and the outer gate is open; else closes it. Its constants, an
 * sn_gate_words, are 0 until device_steps.c has laid out the gates. */
sn_status sn_shader_gate(sn_shader *s, const sn_place_of *test, bool opens_if);
typedef struct sn_gate_words {
  uint32_t flag, outer, first,
      count; /* words of its flag, the outer gate's flag, its first dispatch; its dispatches */
} sn_gate_words;

#endif
