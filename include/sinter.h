/* sinter.h - the public C API of Sinter, a tensor compiler.
 *
 * A program builds a lazy graph of tensors. Nothing is computed until sn_eval, a read, or the run
 * of a compiled program asks for a value. Then the graph is optimised, fused into few kernels,
 * planned into one block of memory, and run on all cores.
 *
 *   sn_context *ctx;
 *   sn_context_create(NULL, &ctx);
 *   sn_tensor *x = sn_from_data(ctx, SN_F32, 2, (int64_t[]){2, 3}, data);
 *   sn_tensor *y = sn_sum(sn_tanh(x), SN_ALL_AXES, false);
 *   float result;
 *   if (sn_read(y, &result, sizeof result)) puts(sn_error_message(ctx));
 *
 * Shapes     Row-major, rank 0 to SN_MAX_RANK; sizes 0 and 1 are legal everywhere. Sizes and
 *            strides count elements; byte counts end in _bytes. Negative axes count from the end.
 *
 * Ownership  A function that returns a tensor or another object hands its caller one reference,
 *            to be given back with the matching release function, or by leaving a scope
 *            (sn_scope_begin). Arguments are borrowed, never consumed. Release functions accept
 *            NULL.
 *
 * Errors     A function that returns sn_status says so; one that returns a pointer returns NULL.
 *            The first error since sn_error_clear stays readable: sn_error_status and
 *            sn_error_message. A function that is given a NULL tensor returns NULL and keeps that
 *            first error, so a chain of calls is checked once, at its end. After an error all that
 *            existed before is intact and usable.
 *
 * Threads    A context and its tensors belong to one thread at a time.
 *
 * Each function carries a tag [new, errors]. new: it returns a new reference; -: it does not.
 * errors: m for want of memory, s shapes or axes, d dtypes, a another argument, w worker lost.
 *
 * The functions on tensors - sn_add, sn_sum, sn_matmul ... - are in sinter_functions.h, which this
 * header includes; docs/reference describes them, with those of JavaScript. */
#ifndef SINTER_H
#define SINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SN_API __attribute__((visibility("default")))
#else
#define SN_API
#endif

#define SN_VERSION "0.1.0"
#define SN_MAX_RANK 8

/* Status codes; the numbers are part of the binary interface and never change meaning. */
typedef enum sn_status {
  SN_OK = 0,
  SN_ERR_SHAPE = 1,       /* shapes, ranks or axes do not fit */
  SN_ERR_DTYPE = 2,       /* dtypes do not fit */
  SN_ERR_MEMORY = 3,      /* an allocation failed or a size overflows */
  SN_ERR_ARGUMENT = 4,    /* any other bad argument */
  SN_ERR_UNSUPPORTED = 5, /* legal, but not available */
  SN_ERR_WORKER = 6,      /* a thread of the pool was lost */
  SN_ERR_INTERNAL = 7     /* an invariant of the library is broken: a bug */
} sn_status;

/* Element types; pinned like the status codes. bool is stored as one byte, 0 or 1. */
/* The last four are for storage: 16 and 8 bits in memory, computed with as float32 and int32, and
 * rounded once after each op. */
typedef enum sn_dtype {
  SN_F32 = 0,
  SN_F64 = 1,
  SN_I32 = 2,
  SN_BOOL = 3,
  SN_F16 = 4,  /* IEEE 754 binary16 */
  SN_BF16 = 5, /* the upper half of a float32 */
  SN_I8 = 6,
  SN_U8 = 7
} sn_dtype;

typedef struct sn_context
    sn_context;                     /* allocator, thread pool, compiled programs; owns no tensors */
typedef struct sn_tensor sn_tensor; /* reference-counted: a lazy node, or a value in memory */
typedef struct sn_program sn_program; /* a compiled graph */

/* ---- context --------------------------------------------------------------------------------- */

/* allocate returns NULL on failure; alignment is a power of two; release gets the same number of
 * bytes. */
typedef struct sn_allocator {
  void *user;
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *block, size_t bytes);
} sn_allocator;

/* What an exchange brings. */
typedef enum sn_exchange_kind {
  SN_EXCHANGE_ALL_REDUCE,     /* the sum over all processes of what they give */
  SN_EXCHANGE_REDUCE_SCATTER, /* of that sum this process's part: the rank-th of as many equal ones as there are processes */
  SN_EXCHANGE_ALL_GATHER      /* all that they give, in the order of their ranks */
} sn_exchange_kind;

/* One exchange with the other processes, of a run. */
typedef struct sn_exchange {
  sn_exchange_kind kind;
  sn_dtype dtype;
  size_t count;     /* elements that each process gives */
  const void *from; /* this process's; may change once start has returned */
  void *to;         /* nobody looks at it before finish has returned */
} sn_exchange;

/* The processes that run a step together, each with a part of its blocks (trainStep's option `blocks`, sinter/parallel).
 * How they talk to each other is the program's own: sinter-train has them over MPI. All processes start the same exchanges
 * in the same order. Sums are those of a binary tree: of neighbours, then of pairs of them ... Functions return SN_OK, or the status
 * that the run ends with. They are called by the thread that runs the program, one at a time. */
typedef struct sn_processes {
  int ranks, rank; /* 0 <= rank < ranks */
  /* What only the update reads of the state is split: each process has its part of it, and updates that. */
  bool split_state;
  void *user;
  /* Begins; *ticket: larger than all before. May return before anything was sent. */
  sn_status (*start)(void *user, const sn_exchange *exchange, uint64_t *ticket);
  /* Returns when all exchanges up to this ticket are over. */
  sn_status (*finish)(void *user, uint64_t ticket);
} sn_processes;

typedef struct sn_options {
  const sn_allocator *allocator; /* NULL: aligned_alloc and free; small freed blocks are kept for the next */
  int threads;                   /* workers of the pool, caller included; 0: one per core */
  size_t memory_limit_bytes;     /* 0: none */
  bool deterministic;            /* drop FMA: the same bits natively and in WebAssembly */
  bool no_jit;                   /* WebAssembly: make no code at run time; the same results */
  bool relaxed_simd;             /* WebAssembly: the engine knows relaxed SIMD */
  /* Natively: the instruction set to use, as sn_isa names it, among those that the machine has; NULL: the best one. */
  const char *isa;
  const sn_processes *processes; /* natively: those that steps are loaded for (sn_step_load); NULL: this one alone */
} sn_options;

/* Creates a context with *options (NULL: defaults) in *out. [new, m a] */
SN_API sn_status sn_context_create(const sn_options *options, sn_context **out);

/* Releases the context, its programs and threads. Its tensors must have been released. [-, -] */
SN_API void sn_context_destroy(sn_context *ctx);

#define SN_ERROR_SHAPES 4

typedef struct sn_error_shape {
  int rank;
  int64_t dims[SN_MAX_RANK];
} sn_error_shape;

typedef struct sn_error {
  sn_status status;
  char message[384]; /* "matmul: inner dimensions differ: a (2, 3), b (4, 5)" */
  char op[32];       /* the function that refused: "matmul"; "" where it is none */
  int n_shapes;
  sn_error_shape shapes[SN_ERROR_SHAPES]; /* the first ones that the message names */
  int line;                               /* where in the library it was raised */
  const char *file;
  char hint[384]; /* what to do about it, where there is something to say; else "" */
} sn_error;

/* The first error since the last clear: its status, its text, and all that is known of it. They
 * live until the next clear. [-, -] */
SN_API sn_status sn_error_status(const sn_context *ctx);
SN_API const char *sn_error_message(const sn_context *ctx);
SN_API const sn_error *sn_error_info(const sn_context *ctx);
SN_API void sn_error_clear(sn_context *ctx);

typedef struct sn_memory_info {
  size_t bytes_in_use; /* all blocks of the context: tensors, programs, graph */
  size_t bytes_peak;   /* largest bytes_in_use so far */
  size_t tensor_bytes; /* values of live tensors alone */
  size_t tensors;      /* live tensors, lazy ones included */
  size_t programs;     /* compiled programs in the cache */
  size_t program_hits; /* evaluations that found their program in the cache */
  size_t program_misses;
  size_t program_evictions; /* programs that the cache gave up for others, or for their memory */
} sn_memory_info;
SN_API void sn_memory(const sn_context *ctx, sn_memory_info *out);

/* Live tensors with values in memory that are of one dtype and shape. */
typedef struct sn_tensor_kind {
  sn_dtype dtype;
  int rank;
  int64_t dims[SN_MAX_RANK];
  size_t count, bytes; /* of all of them */
} sn_tensor_kind;

/* Which kinds of tensors take most memory: up to n of them, the largest first; returns how many.
 * Allocates nothing, so it can be asked when memory has run out. Where there are more than 64
 * kinds, small ones may be left out. [-] */
SN_API size_t sn_largest_kinds(const sn_context *ctx, sn_tensor_kind *out, size_t n);

/* Workers in use, and the instruction set of the kernels: "avx512", "avx2", "sse2", "simd128"
 * ... */
SN_API int sn_threads(const sn_context *ctx);
SN_API const char *sn_isa(const sn_context *ctx);

/* Natively the machine's C compiler makes code of kernels in the background, which is kept on disk; until it is ready, and
 * where there is none, they are interpreted, to equal bits. sn_code_wait has it made for all programs that there are, and
 * returns when it is ready or has failed. sn_code_state: one line with what was made, what failed and why, and "off" where
 * SINTER_CC=off switches it off; it lives until the next call. docs/native.md says more. */
SN_API void sn_code_wait(const sn_context *ctx);
SN_API const char *sn_code_state(const sn_context *ctx);

/* Amount of debug output, 0 (none) to 6; starts as the environment's SINTER_DEBUG. See README. */
SN_API void sn_set_debug(sn_context *ctx, int level);

/* Mixed precision: what is recorded from now on rounds the operands and results of float32 products and convolutions to
 * `precision`, SN_F16 or SN_BF16, and sums, running sums, softmax and losses of these dtypes in float32; other ops keep the
 * dtypes that they are given. Derivatives are rounded where values are. SN_F32: as given. Returns what it was before; of
 * another dtype it changes nothing and returns that. [-] */
SN_API sn_dtype sn_set_precision(sn_context *ctx, sn_dtype precision);

/* Whether memory is filled with NaN before a kernel or the caller writes it, which makes a missing
 * store of a kernel visible and runs slower; starts as whether the environment has
 * SINTER_POISON=1. */
SN_API void sn_set_poison(sn_context *ctx, bool on);

/* Switches a compiler pass of programs compiled from now on; SN_ERR_ARGUMENT for an unknown name.
 * Passes by number, 0 .. sn_pass_count() - 1, in the order they run; the last three are
 * "fuse", "jit" and "winograd", which is off by default: convolutions of 3 x 3 and the gradients of
 * their inputs have fewer multiplications where that pays, but errors that are bounded by the largest
 * terms around, not by a sum's own. [-, a] */
SN_API sn_status sn_pass_enable(sn_context *ctx, const char *name, bool on);
SN_API int sn_pass_count(void);
SN_API const char *sn_pass_name(int index);

/* ---- tensors --------------------------------------------------------------------------------- */

/* A tensor of the given shape with a copy of data (row-major, sn_size_bytes long). [new, m s a] */
SN_API sn_tensor *sn_from_data(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims,
                               const void *data);

/* As sn_from_data with undefined contents, to be written through *data before its first use. */
SN_API sn_tensor *sn_empty(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims,
                           void **data);

/* A rank-0 value that takes the dtype of what it meets: sn_mul(x, sn_scalar(ctx, 2)) keeps x's
 * dtype. In eager use its value is an input of the program, not part of its identity. [new, m] */
SN_API sn_tensor *sn_scalar(sn_context *ctx, double value);

SN_API sn_tensor *sn_retain(sn_tensor *t); /* one more reference; returns t */
SN_API void sn_release(sn_tensor *t);      /* gives one reference back */

/* Between begin and end, every tensor reference handed to the caller is noted; end releases those
 * that sn_keep has not taken out. Scopes nest. [-, m] */
SN_API sn_status sn_scope_begin(sn_context *ctx);
SN_API void sn_scope_end(sn_context *ctx);
SN_API sn_tensor *sn_keep(sn_tensor *t);

SN_API sn_dtype sn_dtype_of(const sn_tensor *t);
SN_API int sn_rank(const sn_tensor *t);
SN_API const int64_t *sn_dims(const sn_tensor *t); /* sn_rank of them, valid while t lives */
SN_API int64_t sn_size(const sn_tensor *t);        /* number of elements */
SN_API size_t sn_size_bytes(const sn_tensor *t);
SN_API size_t sn_dtype_bytes(sn_dtype dtype);

/* Computes the tensors (one program for all) so that their values are in memory. [-, m w] */
SN_API sn_status sn_eval(sn_tensor *const *tensors, size_t count);

/* Evaluates t if needed and copies its elements to out, which holds bytes >= sn_size_bytes(t). */
SN_API sn_status sn_read(sn_tensor *t, void *out, size_t bytes);

/* Evaluates t if needed; its elements in place, valid while t lives and is not donated. NULL on
 * error. */
SN_API const void *sn_data(sn_tensor *t);

/* Whether its value is in memory, so that reading it computes nothing and waits for nothing. False
 * for lazy tensors, placeholders, donated ones, and while a run that writes it is under way. */
SN_API bool sn_is_computed(const sn_tensor *t);

/* As sn_eval, but a thread of the pool drives the run while the caller goes on. *ticket is a number
 * for sn_ticket_done; later evaluations run after this one. Without a pool it runs at once. [-, m
 * w] */
SN_API sn_status sn_eval_async(sn_tensor *const *tensors, size_t count, uint32_t *ticket);
SN_API bool sn_ticket_done(sn_context *ctx, uint32_t ticket);

/* Waits for every run under way; the status of the first that failed since the last call. [-, w] */
SN_API sn_status sn_synchronize(sn_context *ctx);

/* ---- functions on tensors -------------------------------------------------------------------- */

/* Axes as bits: bit i set = axis i. */
#define SN_ALL_AXES ((uint32_t)0xffffffff)
/* In the place of an axis: all elements, in row-major order, as one. */
#define SN_FLAT INT32_MIN
/* In the place of a whole number that need not be given; of other numbers that is NAN. */
#define SN_DEFAULT INT32_MIN

/* How windows lie along the spatial axes of x, which is (n, spatial..., channels). {0}: stride 1
 * (of a pool the window's sizes), no dilation, no padding, one group. Arrays have a number per
 * axis. */
typedef enum sn_padding {
  SN_PADDING_VALID,   /* windows inside of x */
  SN_PADDING_SAME,    /* as much as makes ceil(n / stride) windows; the odd one behind */
  SN_PADDING_EXPLICIT /* before and after; of a pool each smaller than the window */
} sn_padding;
typedef struct sn_window_options {
  const int64_t *strides, *dilation; /* NULL: the defaults */
  sn_padding padding;
  const int64_t *before, *after;
  int64_t groups;      /* of a convolution: channels of one do not meet those of others */
  bool channels_first; /* x and the result are (n, channels, spatial...) */
  /* Of a transposed convolution: elements more at the end of the result, 0 .. max(stride, dilation)
   * - 1, among the sizes that the convolution takes to that of x. NULL: 0. */
  const int64_t *output_padding;
  bool ceil;          /* of a pool: a last window that leaves x, unless it begins behind x */
  bool count_padding; /* of a mean: padding counts, as zeros */
} sn_window_options;

/* sn_add, sn_sum, sn_matmul, sn_conv ... */
#include "sinter_ops.h"

#include "sinter_functions.h"

/* ---- derivatives ----------------------------------------------------------------------------- */

/* A lazy copy of x that sn_gradients can tell from x itself. [new, m] */
SN_API sn_tensor *sn_variable(sn_tensor *x);

/* out[i] = d y / d wrt[i], for a scalar float y; zeros where y does not depend on wrt[i], which
 * must be floats. Only more graph: it can be differentiated again. out holds count references.
 * [new, m s d] */
SN_API sn_status sn_gradients(sn_tensor *y, sn_tensor *const *wrt, size_t count, sn_tensor **out);

/* The same of several outputs of any shape, n_outputs of them: cotangents[k] has the shape and
 * dtype of outputs[k], and grads[i] becomes the sum over k of cotangents[k] times the derivative of
 * outputs[k] by wrt[i]. A bare number may be the cotangent of a scalar. Nothing is computed before
 * a gradient is read. [new, m s d] */
SN_API sn_status sn_vjp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                        sn_tensor *const *cotangents, sn_tensor *const *wrt, size_t n_wrt,
                        sn_tensor **grads);

/* Forward: out[k] becomes the sum over i of the derivative of outputs[k] by wrt[i] times
 * tangents[i], which has the shape and dtype of wrt[i], or is a bare number for a scalar, or NULL
 * for zeros. Without a tangent wrt[i] need not be a float. [new, m s d] */
SN_API sn_status sn_jvp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                        sn_tensor *const *wrt, sn_tensor *const *tangents, size_t n_wrt,
                        sn_tensor **out);

/* The results of a function for many examples at once, from those that it made of one. examples, n
 * of them, are placeholders; batches[i] is like examples[i] but for one more axis in_axes[i], along
 * which it has as many examples as the others. out[k] becomes outputs[k] with one more axis
 * out_axes[k]: where it does not depend on an example its values are repeated. Or SN_NO_AXIS: it
 * does not depend and stays as it is. Axes below 0 count from the end. More graph of all examples,
 * no loop over them. [new, m s d] */
#define SN_NO_AXIS (-2147483647 - 1)
SN_API sn_status sn_vmap(sn_context *ctx, sn_tensor *const *outputs, const int *out_axes,
                         size_t n_outputs, sn_tensor *const *examples, sn_tensor *const *batches,
                         const int *in_axes, size_t n, sn_tensor **out);

/* A lazy copy of x that no derivative will be taken through: once computed it lets go of what it
 * was computed from, whatever variables that depends on. [new, m] */
SN_API sn_tensor *sn_untracked(sn_tensor *x);

/* Ends what sn_variable began, for t and all it was made from: no gradient will be taken through
 * them any more, so values that have been computed let go of what they were computed from. A loop
 * that updates its parameters eagerly (w = w - rate * gradient) calls it on each new w, or its past
 * would stay alive. */
SN_API void sn_untrack(sn_tensor *t);

/* ---- control flow ---------------------------------------------------------------------------- */

/* A function as it was traced: what its outputs are made of, from placeholders (sn_placeholder) on.
 * Other tensors that it reads are captured. All are borrowed.
 *
 * What depends on no placeholder is computed outside, once. But a branch that is not taken computes nothing, and a
 * checkpoint keeps nothing: what was made later than their placeholders is theirs, whatever it is made of. */
typedef struct sn_traced {
  sn_tensor *const *inputs;
  size_t n_inputs;
  sn_tensor *const *outputs;
  size_t n_outputs;
} sn_traced;

/* Calls body for each slice along the first axis of its stacks, `length` times: body(carries,
 * slices) -> (carries, slices). inputs: the first carries, n_carries of them, then a stack for each
 * further argument of the body. out: the last carries, then the slices that the body made, stacked.
 * reverse: from the last slice to the first. A carry keeps its dtype and shape. Outside of traces
 * the loop runs at once. [new, m s d a] */
SN_API sn_status sn_scan(sn_context *ctx, const sn_traced *body, size_t n_carries,
                         sn_tensor *const *inputs, int64_t length, bool reverse, sn_tensor **out);

/* Calls body(carries) -> carries as long as test(carries) -> bool holds. out: the last carries. It
 * has no vjp: how often it runs is not known beforehand. [new, m s d a] */
SN_API sn_status sn_while(sn_context *ctx, const sn_traced *test, const sn_traced *body,
                          sn_tensor *const *carries, sn_tensor **out);

/* Calls one of two functions of the same operands, with results of the same dtypes and shapes;
 * condition is a bool scalar. [new, m s d a] */
SN_API sn_status sn_cond(sn_tensor *condition, const sn_traced *on_true, const sn_traced *on_false,
                         sn_tensor *const *operands, sn_tensor **out);

/* What a checkpoint keeps for the derivative besides its operands. */
typedef struct sn_save_policy {
  bool products;        /* of matrices, convolutions */
  const int32_t *names; /* values of sn_named with one of these numbers */
  size_t n_names;
} sn_save_policy;

/* body(operands), whose values derivatives do not keep but make again; keep (or NULL) lists those
 * that are kept. [new, m s d a] */
SN_API sn_status sn_checkpoint(sn_context *ctx, const sn_traced *body, sn_tensor *const *operands,
                               const sn_save_policy *keep, sn_tensor **out);

/* x, a value that a checkpoint may keep; names are numbers of the caller's choice. [new, m] */
SN_API sn_tensor *sn_named(sn_tensor *x, int32_t name);

/* body(arguments), with a derivative of its own. reverse: rule(arguments, cotangents of the results)
 * makes those of the arguments; else rule(arguments, their tangents) makes tangents of the results,
 * linear in those it is given. Floats alone have them, in their dtypes. What the functions capture
 * has no derivative. [new, m s d a] */
SN_API sn_status sn_custom(sn_context *ctx, const sn_traced *body, const sn_traced *rule,
                           bool reverse, sn_tensor *const *arguments, sn_tensor **out);

/* ---- compiled programs ----------------------------------------------------------------------- */

/* A tensor without a value: an argument of the program being traced. [new, m s] */
SN_API sn_tensor *sn_placeholder(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims);

/* Compiles outputs as a function of the placeholders inputs; other tensors met on the way are
 * captured as they are now. donate (n_inputs flags or NULL): the program may write its outputs into
 * that argument's memory; the caller's tensor is then used up by the run. [new, m a] */
SN_API sn_status sn_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                            sn_tensor *const *outputs, size_t n_outputs, const bool *donate,
                            sn_program **out);

/* How a program is compiled where that differs from its context. All zero: not at all. */
typedef struct sn_program_options {
  const bool *donate;             /* as in sn_compile */
  uint32_t passes_off, passes_on; /* bit i: pass number i */
  bool record;                    /* keep what the compiler did, for sn_program_inspection */
  /* Bytes that the arena keeps within, 0: as many as it takes. Cheap values are made again instead
   * of kept, with the same bits. SN_ERR_ARGUMENT, and how far it came down, if it cannot. */
  size_t memory_budget;
  /* Tune it by its first calls, unless sn_use_tuned has told of it: they run forms of the program by turns, of which the
   * quickest is kept. The forms have the same bits. One on record is not tuned: it is the form that is known, if any. */
  bool tune;
  /* What is rounded to floats of 16 bits (see sn_set_precision) keeps the precision of float32 behind a product, while its
   * kernel has it in registers; what lies in memory is rounded. Nothing changes in a deterministic context. */
  bool excess_precision;
} sn_program_options;

/* As sn_compile. options may be NULL. [new, m a] */
SN_API sn_status sn_compile_with(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                                 sn_tensor *const *outputs, size_t n_outputs,
                                 const sn_program_options *options, sn_program **out);

/* Runs the program; outputs receives new tensors. Inputs are evaluated first when lazy and must
 * have the placeholders' shapes and dtypes. Donated inputs must not be read afterwards; one that
 * others hold or lazily depend on is copied first and stays theirs. [new, m s d w] */
SN_API sn_status sn_program_run(sn_program *program, sn_tensor *const *inputs, sn_tensor **outputs);

/* As sn_program_run, on the pool's driver thread: returns at once; see sn_eval_async.
 * [new, m s d w] */
SN_API sn_status sn_program_run_async(sn_program *program, sn_tensor *const *inputs,
                                      sn_tensor **outputs, uint32_t *ticket);

typedef struct sn_program_info {
  size_t nodes;         /* of the graph after all passes */
  size_t kernels;       /* steps of one run */
  size_t arena_bytes;   /* planned block for intermediates */
  uint64_t naive_bytes; /* what they would take without reuse */
  double flops;         /* of one run */
  double bytes;         /* read and written by the kernels of one run */
  size_t inputs, outputs;
} sn_program_info;
SN_API void sn_program_describe(const sn_program *program, sn_program_info *out);
SN_API void sn_program_release(sn_program *program);

/* What tuning has tried so far, as JSON, which lives until the program's next text is asked for. Where an earlier program of
 * the same graph has been tuned, what it has tried; of one that is on record, too. Where sn_use_tuned told of it, what is
 * chosen, without times. NULL in *out if the program is not one that tunes, or is on record and nothing is known:
 *
 *   { "done": true, "ms": 1.9, "plainMs": 2.1,     of a run as tuned and as it was, from one check by turns
 *     "trials": [{ "knob": "lanes", "what": "...", "factor": 4, "outcome": "taken", "chosen": true, "ms": 1.9, "bestMs": 2.1 }] }
 *
 * outcome: "taken", "lost", "same" (its kernels are those of the best), "refused" (it could not be compiled). [-, m] */
SN_API sn_status sn_program_tuning(sn_program *program, const char **out);

/* What tuning has found in this context, as text to keep for this machine: it lives until the next call. [-, m] */
SN_API sn_status sn_tuned(sn_context *ctx, const char **out);

/* Uses what sn_tuned wrote, of any machine: programs that tune are then compiled at once as it says. SN_ERR_ARGUMENT names
 * a line that is damaged; those before it are used. [-, m a] */
SN_API sn_status sn_use_tuned(sn_context *ctx, const char *text);

/* What of the program depends on captured tensors alone and is worth keeping: it runs at the first
 * call, and its results are kept with the program and counted as its own. sn_program_describe,
 * text, inspection and wat tell of it as of the rest, which they leave it out of; C source is of
 * the whole. It belongs to the program; NULL where there is none. [-, -] */
SN_API sn_program *sn_program_prelude(const sn_program *program);

/* The program as bytes, with what it captured and a text of the caller's (or NULL): a file, a
 * message. They belong to the program and live until it is released or asked for text. [-, m w] */
SN_API sn_status sn_program_save(sn_program *program, const char *note, const void **bytes,
                                 size_t *size);

/* A program of sn_program_save's bytes, in any process of the same version of Sinter: nothing is
 * traced, no pass runs. In the numeric mode it was saved in it has the same bits. Bytes that are
 * damaged, or of another version, are an error that says so; they are not needed afterwards.
 * [new, m a] */
SN_API sn_status sn_program_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out);

/* The text it was saved with; NULL: none, or not loaded. It belongs to the program. [-, -] */
SN_API const char *sn_program_note(const sn_program *program);

/* ---- training steps -------------------------------------------------------------------------- */

/* A training step is a program that makes of a state and a batch the loss and the next state. Its
 * inputs are the tensors of the state, then the learning rates, then the batch; its results are
 * others, if there are any, then the loss, a number, then the state again. As bytes it has what a
 * trainer needs: the parts of its inputs, and the state that it begins with. */
typedef struct sn_step_input {
  const char *path; /* the keys that lead to it: "params.0.weight", "optimizer.count", "key"; of
                       a batch "batch.0", "batch.1.mask" */
  sn_dtype dtype;
  int rank;
  int64_t dims[SN_MAX_RANK];
  /* 1; or the number of processes, of which each has a part of these n elements: those from rank * n / parts on, as a
   * tensor (n / parts). So it is with parameters of blocks that processes share, and with what split_state splits. */
  int parts;
} sn_step_input;

typedef struct sn_step_info {
  size_t n_state, n_rates, n_batch;
  size_t n_others;             /* results before the loss */
  const sn_step_input *inputs; /* n_state + n_rates + n_batch */
  sn_dtype precision;          /* of products: SN_F32, SN_F16 or SN_BF16 */
  bool deterministic;          /* of the context that saved it: in one like it the bits are the same */
} sn_step_info;

typedef struct sn_step_parts {
  size_t n_state, n_rates;
  sn_tensor *const *values; /* of the state and the rates, as training begins */
  const char *const *paths; /* of all inputs; those of the state differ */
  sn_dtype precision;
} sn_step_parts;

/* As sn_program_save, of a program that is a training step. [-, m a w] */
SN_API sn_status sn_step_save(sn_program *program, const sn_step_parts *parts, const char *note,
                              const void **bytes, size_t *size);

/* As sn_program_load, of bytes that have to be those of a training step. sn_program_run runs it; which
 * inputs that uses up is as it was compiled: of trainStep, the state. [new, m a] */
SN_API sn_status sn_step_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out);

/* What the parts of a step are; it belongs to the program. NULL: that is none, or was not loaded.
 * [-, -] */
SN_API const sn_step_info *sn_step_describe(const sn_program *program);

/* The values that it was saved with, of the state, this process's part where it is split, then of the rates:
 * n_state + n_rates new tensors in out. [new, m a] */
SN_API sn_status sn_step_init(sn_program *program, sn_tensor **out);

/* ---- what a program is ----------------------------------------------------------------------- */

/* The graph after a stage ("trace", a pass name, "groups", "plan", "kernels") as stable text; NULL
 * for an unknown stage. The text belongs to the program. Recorded only for programs compiled with
 * `record` or while sn_set_debug is >= 5. [-, -] */
SN_API const char *sn_program_text(const sn_program *program, const char *stage);

/* What the compiler did, as one JSON text: the graph after every stage as text, DOT, nodes and
 * edges, the kernels, the plan of memory. It belongs to the program; NULL unless compiled with
 * `record`. [-, -] */
SN_API const char *sn_program_inspection(const sn_program *program);

/* The WebAssembly emitted for kernel number `kernel` as text, natively the C that is compiled for it, or a
 * comment that says why there is none; on a graphics processor its shaders in WGSL. *out belongs to the program and lives until the next call of
 * this function or of sn_program_c_source. [-, m a] */
SN_API sn_status sn_program_wat(sn_program *program, size_t kernel, const char **out);

/* The program as standalone C11: one function per kernel, and
 *   void name(const float *a0, ..., float *out0, ...)
 * which calls them. What the program captured are its arguments behind the inputs, in the order of
 * sn_program_captured; a comment says what each is. *out belongs to the program and lives until the
 * next call of this function or of sn_program_wat. [-, m] */
SN_API sn_status sn_program_c_source(sn_program *program, const char *name, const char **out);

/* What the program computes as one JSON text, as little lowered as can be: each node an op of docs/ops.md, before
 * any is taken apart or fused, with regions where it has control flow. sn.inspect's jsSource is written from it.
 *   {"nodes": [{"op", "dtype", "shape", "attrs": {name: number or list}, "inputs": [node ...]} ...],
 *    "outputs": [node ...], "regions": [graph ...]}
 * Of a program compiled with `record`. It belongs to the program, as the texts above. [-, m a] */
SN_API sn_status sn_program_graph(sn_program *program, const char **out);

/* The captured tensor that is the graph's argument inputs + number; NULL: there are no more. It
 * belongs to the program. [-, -] */
SN_API sn_tensor *sn_program_captured(const sn_program *program, size_t number);

/* ---- profile --------------------------------------------------------------------------------- */

typedef struct sn_kernel_profile {
  const char *name;   /* e.g. "matmul+add+relu" */
  const char *kind;   /* "map", "scalar", "reduce", "row", "contraction", "ready" */
  const char *engine; /* of the last call: "vm", "jit", "cc", "ready" */
  double ms;          /* summed over calls: from first start to last end over the workers */
  double flops;       /* summed over calls */
  double bytes;       /* summed over calls */
  uint32_t calls;
  uint32_t threads; /* most workers that took part in a call */
} sn_kernel_profile;

typedef struct sn_span {
  double begin_ms, end_ms; /* on the clock of sn_profile_now */
  uint32_t kernel;         /* index into the kernel profiles, or one of SN_SPAN_* */
  uint32_t worker;         /* 0: the caller or driver */
  uint32_t step;           /* the kernel's number in its program, as sn_program_inspection has it */
} sn_span;

/* Spans that are no kernel's: a whole run of a program, and compiling one. What a worker does not
 * spend in kernels is within a run (waiting for others, or handing out work), in the compiler,
 * or outside of the library. */
#define SN_SPAN_RUN UINT32_MAX
#define SN_SPAN_COMPILE (UINT32_MAX - 1)

/* Starts recording at most max_spans spans (more are counted, not kept). [-, m] */
SN_API sn_status sn_profile_start(sn_context *ctx, size_t max_spans);
/* Ends it. The arrays belong to the context and live until the next start. */
SN_API void sn_profile_stop(sn_context *ctx);
SN_API size_t sn_profile_kernels(const sn_context *ctx, const sn_kernel_profile **out);
SN_API size_t sn_profile_spans(const sn_context *ctx, const sn_span **out, size_t *lost);
SN_API double sn_profile_now(void);

#ifdef __cplusplus
}
#endif

#endif
