/* kernel.h - a group made ready to run: the macro-kernels of the kinds.
 *
 * A kernel runs in stages, one dispatch each; a stage is a number of independent units. How the
 * work is cut into units, and the order of every sum, follow from sizes alone, so 1..N threads give
 * the same bits.
 *
 *   map          1 stage   unit: one strip of the space
 *   row          1 stage   unit: some rows, each through all phases, then `post`
 *   contraction  1 stage   unit: one tile of one matrix of the batch; its rows go through `post`
 *             or 2 stages  unit: a part of the operands, packed into memory that is shared or
 *                          kept; then as above
 *             or 2 stages  unit: one tile summed over a segment of k -> partials in shared memory;
 *                          then unit: a strip of the space: its partials added up, then `post`
 *             before the first: the one stage of a map that is its prologue
 *   reduce       1 stage   unit: some outputs, wholly reduced, then `post`
 *             or 1 stage   unit: some rows of outputs, each reduced over its bag (ragged)
 *             or 2 stages  unit: one block of one reduction -> partials in shared memory;
 *                          then unit: some outputs: their partials combined, then `post`
 *   call         1 stage   unit: some lines along the axis, or pieces of long ones; see call.h
 *             or 1 or 2 stages for quantised blocks: kernel_blocks.c
 *   control      no stage:   it runs programs, see run/rounds.h
 *   chain        1 stage   unit: a block of rows, through all members; see kernel_chain.c
 *             or 2 stages  unit: a part of what its products pack for all blocks; then as above */
#ifndef SN_KERNELS_KERNEL_H
#define SN_KERNELS_KERNEL_H

#include "kernels/call.h"
#include "kernels/code.h"
#include "kernels/fold.h"
#include "kernels/gemm.h"
#include "kernels/machine.h"
#include "kernels/schedule.h"
#include "kernels/vm.h"

#define SN_MAX_STAGES 2

/* How a reduction walks memory. */
typedef enum sn_reduce_mode {
  SN_REDUCE_ROWS,    /* the reduced elements of one output are adjacent: strips along them fold */
  SN_REDUCE_COLUMNS, /* neighbouring outputs are adjacent: a strip of accumulators walks down */
  SN_REDUCE_RAGGED   /* as columns, down the bag of the outputs' row */
} sn_reduce_mode;

typedef struct sn_reduce_plan {
  sn_reduce_mode mode;
  int64_t outputs, length; /* points of the space, points reduced for each */
  int64_t block;           /* reduced points of a unit's share when there are two stages */
  int64_t blocks;          /* such shares per output; > 1: two stages */
  int64_t unit;            /* outputs of a unit that runs the post body; at most a strip */
  bool adds_memory; /* ragged: the body only loads, so rows are added as they lie in memory */
  sn_fold_plan fold;
  size_t accumulator_offset; /* in worker memory, behind the bodies' strips */
} sn_reduce_plan;

/* How a row group runs: rows one after the other, their totals gathered for `post`. */
typedef struct sn_row_plan {
  int64_t rows, length;
  int64_t unit;        /* rows of a unit; at most a strip */
  sn_fold_plan *folds; /* per total */
  /* in worker memory, behind the bodies' strips */
  size_t fold_offset;   /* of SN_FOLD_SCRATCH_BYTES per total, for the phase under way */
  size_t totals_offset; /* of a strip per total, with its values for the unit's rows */
  size_t *kept_offset;  /* per kept slot: of one row */
} sn_row_plan;

typedef struct sn_stage {
  int64_t units;
  double unit_cost; /* estimated nanoseconds on one worker, for the decision to use threads */
} sn_stage;

/* A product's B that may stay packed from run to run: an argument that was the same in the last
 * call. A version identifies contents: memory that is written anew gets a new version (a donated
 * argument, too); 0 is none. */
typedef struct sn_packed {
  bool wanted;
  uint32_t argument;
  uint64_t met;     /* the argument's version at the last sn_executable_keep */
  uint64_t version; /* of the packed contents */
} sn_packed;

/* Apart from sn_kernel, as it is larger than all the rest of that. */
typedef struct sn_product_plan {
  sn_gemm gemm;
  sn_nest batch_a, batch_b; /* of a contraction: where each matrix begins */
} sn_product_plan;

/* Small members come first, as code reaches them with offsets of one byte. */
typedef struct sn_kernel {
  const sn_group *group;
  const struct sn_kernel_kind *kind;
  sn_stage stages[SN_MAX_STAGES];
  int n_stages;
  uint32_t n_members;
  struct sn_kernel *members;  /* of a chain: for a whole block, then for the smaller last one */
  struct sn_kernel *prologue; /* of a contraction: the kernel that runs before it, or NULL */
  size_t worker_bytes;        /* private memory of each worker */
  size_t scratch_offset;      /* in worker memory: of a contraction's panels, of a chain's locals */
  size_t shared_bytes;        /* partials, packed operands: what one stage makes for the next */
  size_t shared_offset;       /* of a chain's member: in the chain's shared memory */
  sn_strip_fn *add;           /* adds up a contraction's partials */
  sn_product_plan *product;   /* of a contraction, and of matmul_dequantized; else NULL */
  sn_blocks_plan *blocks;     /* of a call over quantised blocks; else NULL */
  const sn_gemm_run_time *gemm_run_time; /* whose kernel the product has, or NULL */
  sn_code code;
  sn_packed packed;
  int64_t whole_m;      /* if it computes a block of rows of a product: rows of the whole; else 0 */
  size_t *phase_offset; /* of each phase's strips in worker memory */
  sn_vm_code *phases;   /* per phase of the group */
  sn_vm_code post;
  sn_reduce_plan reduce;
  sn_row_plan row;
  sn_call_plan call;
  sn_schedule schedule; /* of a chain */
} sn_kernel;

sn_status sn_kernel_make(sn_arena *arena, const sn_machine *machine, const sn_group *group,
                         sn_kernel *out);

/* The i-th of the kernels that compute points, NULL behind the last: prologue, members, then the
 * kernel itself unless it is a chain or control flow. */
sn_kernel *sn_kernel_part(const sn_kernel *kernel, uint32_t i);

/* bool_words.c: replaces *group by a faster equivalent in arena, if it is logic on bools. */
sn_status sn_bool_words(sn_arena *arena, const sn_group **group);

/* What computes its points: "jit" or "cc" if it has code and `code` says that it is called; else "vm",
 * or "ready" for kernels that are compiled into this library. */
const char *sn_kernel_engine(const sn_kernel *kernel, bool code);

/* print_kernels.c: one kernel, and all, as text. */
struct sn_text;
void sn_kernel_print(struct sn_text *text, size_t number, const sn_kernel *kernel);

/* Everything a unit touches. */
typedef struct sn_kernel_run {
  const sn_kernel *kernel;
  int stage;
  void *const *values;
  void *shared;
  char *workers; /* worker w's memory at workers + w * worker_stride */
  size_t worker_stride;
  sn_range columns; /* the columns that count, for a limited member of a chain */
} sn_kernel_run;

/* An sn_pool_fn whose arg is an sn_kernel_run. */
void sn_kernel_units(void *run, int64_t begin, int64_t end, int worker);

/* From now on the product's B is packed before its tiles, into memory that stays (sn_gemm_side.kept). */
static inline void sn_kernel_keep_packed(sn_kernel *kernel) {
  sn_gemm *gemm = &kernel->product->gemm;
  kernel->stages[0].units = gemm->pack_units = gemm->left.units + gemm->right.units;
}

static inline size_t sn_align64(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* What each kind of group does, in the file of its name. `split`, or NULL, allocates the members and
 * the prologue and sets their group and whole_m; kernel.c makes them. `make` plans the kernel itself,
 * whose group, kind and whole_m are set. `units` runs units of the stage under way in a worker's memory. */
typedef struct sn_kernel_kind {
  sn_status (*split)(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel);
  sn_status (*make)(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel);
  void (*units)(const sn_kernel_run *run, int64_t begin, int64_t end, void *memory);
} sn_kernel_kind;

extern const sn_kernel_kind sn_kernel_map, sn_kernel_reduce, sn_kernel_row, sn_kernel_contraction,
    sn_kernel_call, sn_kernel_chain, sn_kernel_ragged, sn_kernel_blocks;

/* kernel_map.c: assembles the post body for the VM, and allocates the lists of phases. */
sn_status sn_kernel_make_post(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel);

/* kernel_reduce.c: assembles the phase's body for the VM over `rank` dims in another order. order[i]:
 * the number of a dim, counted over the space, then the reduced dims. */
sn_status sn_kernel_make_phase(sn_arena *arena, const sn_machine *machine, sn_kernel *kernel,
                               const int *order, int rank);

#endif
