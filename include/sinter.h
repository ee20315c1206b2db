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
 * Ownership  A function that returns a tensor or another object hands its caller one reference. The
 *            caller gives it back with the matching release function, or by leaving a scope
 *            (sn_scope_begin). Arguments are borrowed, never consumed. Release functions accept
 *            NULL.
 *
 * Errors     A function reports an error by the sn_status that it returns or, if it returns a
 *            pointer, by NULL. The first error since sn_error_clear stays readable: sn_error_status
 *            and sn_error_message. A function that is given a NULL tensor or program fails, too, and
 *            keeps that first error, so a chain of calls is checked once, at its end. After an error
 *            all objects that existed before are intact and usable.
 *
 * Threads    A context and its tensors belong to one thread at a time.
 *
 * The comment of a function ends with a tag [new, errors]. new: it returns a new reference; -: it
 * does not. errors lists what can fail: m memory, s shapes or axes, d dtypes, a any other argument,
 * w a worker thread was lost; -: nothing.
 *
 * The functions on tensors - sn_add, sn_sum, sn_matmul ... - are in sinter_functions.h, which this
 * header includes. docs/reference describes them, with those of JavaScript. */
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

/* Status codes. The numbers are part of the binary interface and never change their meaning. */
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

/* Element types. The numbers never change either. A bool is stored as one byte, 0 or 1. The last
 * four are for storage: they take 16 or 8 bits in memory. Ops compute with them as float32 or int32
 * and round once at their end. */
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

/* allocate returns NULL on failure. alignment is a power of two. release gets the number of bytes
 * that the block was allocated with. */
typedef struct sn_allocator {
  void *user;
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  void (*release)(void *user, void *block, size_t bytes);
} sn_allocator;

/* What each process receives from an exchange. */
typedef enum sn_exchange_kind {
  SN_EXCHANGE_ALL_REDUCE, /* the sum over all processes of what they give */
  SN_EXCHANGE_REDUCE_SCATTER, /* a part of that sum: it is cut into one equal part per process, and process r gets part r */
  SN_EXCHANGE_ALL_GATHER /* what all processes give, in the order of their ranks */
} sn_exchange_kind;

/* One exchange with the other processes during a run. */
typedef struct sn_exchange {
  sn_exchange_kind kind;
  sn_dtype dtype;
  size_t count;     /* elements that each process gives */
  const void *from; /* what this process gives; it may change once start has returned */
  void *to;         /* the result; nobody reads it before finish has returned */
} sn_exchange;

/* The processes that run a step together, each with a part of its blocks (trainStep's option `blocks`) or modules
 * (sinter/parallel). The caller provides the communication: sinter-train uses MPI. All processes start the same exchanges in
 * the same order. Sums have to be those of a binary tree: of neighbours, then of pairs of neighbours ... Both functions return
 * SN_OK, or the status that the run ends with. The thread that runs the program calls them, one at a time. */
typedef struct sn_processes {
  int ranks, rank; /* number of processes, and which one this is: 0 <= rank < ranks */
  /* Split the part of the state that only the update reads: each process holds and updates its share. */
  bool split_state;
  void *user;
  /* Begins an exchange. *ticket is set to a number larger than all before. May return before anything was sent. */
  sn_status (*start)(void *user, const sn_exchange *exchange, uint64_t *ticket);
  /* Returns when all exchanges up to this ticket are over. */
  sn_status (*finish)(void *user, uint64_t ticket);
} sn_processes;

typedef struct sn_options {
  const sn_allocator
      *allocator; /* NULL: aligned_alloc and free; small freed blocks are kept for reuse */
  int threads;    /* workers of the pool, caller included; 0: one per core */
  size_t memory_limit_bytes; /* 0: none */
  bool deterministic;        /* no fused multiply-adds: the same bits natively and in WebAssembly */
  bool no_jit;               /* WebAssembly: make no code at run time; the results are the same */
  bool relaxed_simd;         /* WebAssembly: the engine has relaxed SIMD */
  /* Natively: the instruction set to use, such as "avx2" or "generic"; the machine must have it. NULL: the best one. */
  const char *isa;
  const sn_processes *
      processes; /* natively: the processes that run the steps of sn_step_load; NULL: only this one */
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
  char op[32];       /* the function that failed: "matmul"; "" if there is none */
  int n_shapes;
  sn_error_shape shapes[SN_ERROR_SHAPES]; /* the first shapes that the message names */
  int line;                               /* where in the library it was raised */
  const char *file;
  char hint[384]; /* what to do about it; "" if there is nothing to say */
} sn_error;

/* The first error since the last clear: its status, its message, and all details. The results are
 * valid until the next clear. [-, -] */
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
  size_t program_evictions; /* programs that the cache dropped for others, or for their memory */
} sn_memory_info;
SN_API void sn_memory(const sn_context *ctx, sn_memory_info *out);

/* All live tensors of one dtype and shape whose values are in memory. */
typedef struct sn_tensor_kind {
  sn_dtype dtype;
  int rank;
  int64_t dims[SN_MAX_RANK];
  size_t count, bytes; /* of all of them */
} sn_tensor_kind;

/* Writes the up to n kinds of tensors that take most memory to out, the largest first, and returns
 * how many it wrote. Allocates nothing, so it works when memory has run out. If there are more than
 * 64 kinds, small ones may be missing. [-, -] */
SN_API size_t sn_largest_kinds(const sn_context *ctx, sn_tensor_kind *out, size_t n);

/* The number of workers in use, and the instruction set of the kernels: "avx512", "avx2", "sse2",
 * "simd128" ... */
SN_API int sn_threads(const sn_context *ctx);
SN_API const char *sn_isa(const sn_context *ctx);

/* Natively the machine's C compiler compiles kernels in the background and keeps the code on disk. Kernels without code are
 * interpreted, with equal bits. sn_code_wait has the kernels of all existing programs compiled, and returns when their code is
 * ready or has failed. sn_code_state returns one line: what was compiled, what failed and why, or "off" if SINTER_CC=off
 * switches it off. The line is valid until the next call. docs/native.md says more. */
SN_API void sn_code_wait(const sn_context *ctx);
SN_API const char *sn_code_state(const sn_context *ctx);

/* Sets the level of debug output, 0 (none) to 6. Initially SINTER_DEBUG of the environment. README.md lists the levels. */
SN_API void sn_set_debug(sn_context *ctx, int level);

/* Mixed precision for everything that is recorded from now on. SN_F16 or SN_BF16: float32 products and convolutions round
 * their operands and results to this dtype; sums, running sums, softmax and losses of these dtypes are computed in float32;
 * other ops keep the dtypes that they are given. Derivatives are rounded where values are. SN_F32: nothing is rounded. Returns
 * the previous setting. Any other dtype changes nothing. [-, -] */
SN_API sn_dtype sn_set_precision(sn_context *ctx, sn_dtype precision);

/* Sets whether memory is filled with NaN before a kernel or the caller writes it. This makes a
 * missing store of a kernel visible, and is slower. Initially on if the environment has
 * SINTER_POISON=1. */
SN_API void sn_set_poison(sn_context *ctx, bool on);

/* Switches a compiler pass on or off for programs compiled from now on; SN_ERR_ARGUMENT for an
 * unknown name. Passes are numbered 0 .. sn_pass_count() - 1 in the order in which they run. The
 * last three switches are "fuse", "jit" and "winograd". "winograd" is off by default: 3 x 3
 * convolutions and the gradients of their inputs then use fewer multiplications where that pays, but
 * the bound of an error depends on the largest terms near a result, not on its own terms. [-, a] */
SN_API sn_status sn_pass_enable(sn_context *ctx, const char *name, bool on);
SN_API int sn_pass_count(void);
SN_API const char *sn_pass_name(int index);

/* ---- tensors --------------------------------------------------------------------------------- */

/* A tensor of the given shape with a copy of data (row-major, sn_size_bytes long). [new, m s a] */
SN_API sn_tensor *sn_from_data(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims,
                               const void *data);

/* As sn_from_data, but with undefined contents. The caller writes them through *data before the
 * first use of the tensor. */
SN_API sn_tensor *sn_empty(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims,
                           void **data);

/* A rank-0 value that takes the dtype of the tensor it is combined with: sn_mul(x, sn_scalar(ctx,
 * 2)) keeps x's dtype. Outside of compiled programs its value is an input of the cached program, so
 * another value compiles nothing. [new, m] */
SN_API sn_tensor *sn_scalar(sn_context *ctx, double value);

SN_API sn_tensor *sn_retain(sn_tensor *t); /* one more reference; returns t */
SN_API void sn_release(sn_tensor *t);      /* gives one reference back */

/* Between begin and end, the scope records every tensor reference that is handed to the caller.
 * sn_scope_end releases them, except those that sn_keep has taken out. Scopes nest. [-, m] */
SN_API sn_status sn_scope_begin(sn_context *ctx);
SN_API void sn_scope_end(sn_context *ctx);
SN_API sn_tensor *sn_keep(sn_tensor *t);

/* Of NULL: no dtype, rank -1, no sizes, 0 elements. */
SN_API sn_dtype sn_dtype_of(const sn_tensor *t);
SN_API int sn_rank(const sn_tensor *t);
SN_API const int64_t *sn_dims(const sn_tensor *t); /* sn_rank(t) sizes, valid while t lives */
SN_API int64_t sn_size(const sn_tensor *t);        /* number of elements */
SN_API size_t sn_size_bytes(const sn_tensor *t);
SN_API size_t sn_dtype_bytes(sn_dtype dtype); /* of one element; 0 where there is no such dtype */

/* Computes the tensors (one program for all) so that their values are in memory. [-, m w] */
SN_API sn_status sn_eval(sn_tensor *const *tensors, size_t count);

/* Evaluates t if needed and copies its elements to out, which holds bytes >= sn_size_bytes(t). */
SN_API sn_status sn_read(sn_tensor *t, void *out, size_t bytes);

/* Evaluates t if needed and returns its elements in place, valid while t lives and is not donated.
 * NULL on error. */
SN_API const void *sn_data(sn_tensor *t);

/* True if the value of t is in memory, so that reading it computes nothing and waits for nothing.
 * False for lazy tensors, placeholders and donated tensors, and during a run that writes t. */
SN_API bool sn_is_computed(const sn_tensor *t);

/* As sn_eval, but a thread of the pool drives the run while the caller goes on. *ticket is a number
 * for sn_ticket_done, which says whether the run is over. Later evaluations run after this one.
 * Without a pool it runs at once. [-, m w] */
SN_API sn_status sn_eval_async(sn_tensor *const *tensors, size_t count, uint32_t *ticket);
SN_API bool sn_ticket_done(sn_context *ctx, uint32_t ticket);

/* Waits for all runs in progress. Returns the status of the first run that failed since the last
 * call. [-, w] */
SN_API sn_status sn_synchronize(sn_context *ctx);

/* ---- functions on tensors -------------------------------------------------------------------- */

/* Axes as bits: bit i set = axis i. */
#define SN_ALL_AXES ((uint32_t)0xffffffff)
/* Instead of an axis: all elements, in row-major order, as one axis. */
#define SN_FLAT INT32_MIN
/* Instead of an optional whole number: its default. For optional floating-point numbers pass NAN. */
#define SN_DEFAULT INT32_MIN

/* How the windows of convolutions and pools lie along the spatial axes of x, which is (n,
 * spatial..., channels). {0} means stride 1 (for a pool: the sizes of the window), no dilation, no
 * padding, one group. Arrays have one number per spatial axis. */
typedef enum sn_padding {
  SN_PADDING_VALID,   /* only windows inside of x */
  SN_PADDING_SAME,    /* enough for ceil(n / stride) windows; an odd element goes to the end */
  SN_PADDING_EXPLICIT /* `before` and `after`; for a pool each is smaller than the window */
} sn_padding;
typedef struct sn_window_options {
  const int64_t *strides, *dilation; /* NULL: the defaults */
  sn_padding padding;
  const int64_t *before, *after;
  int64_t groups;      /* of a convolution: outputs of a group depend only on its own channels */
  bool channels_first; /* x and the result are (n, channels, spatial...) */
  /* Of a transposed convolution: elements to add at the end of the result, 0 .. max(stride,
   * dilation) - 1. It chooses one of the sizes that the convolution maps to that of x. NULL: 0. */
  const int64_t *output_padding;
  bool
      ceil; /* of a pool: also a last window that extends beyond x, unless it begins behind the end of x */
  bool count_padding; /* of a mean pool: padding counts as zeros */
} sn_window_options;

/* sn_add, sn_sum, sn_matmul, sn_conv ... */
#include "sinter_ops.h"

#include "sinter_functions.h"

/* ---- derivatives ----------------------------------------------------------------------------- */

/* A lazy copy of x that sn_gradients can tell from x itself. [new, m] */
SN_API sn_tensor *sn_variable(sn_tensor *x);

/* out[i] = d y / d wrt[i], for a scalar float y; zeros if y does not depend on wrt[i]. All wrt[i]
 * must be floats. This only adds to the graph, so the result can be differentiated again. out
 * receives count references. [new, m s d] */
SN_API sn_status sn_gradients(sn_tensor *y, sn_tensor *const *wrt, size_t count, sn_tensor **out);

/* Reverse mode for n_outputs outputs of any shape: cotangents[k] has the shape and dtype of
 * outputs[k], and grads[i] becomes the sum over k of cotangents[k] times the derivative of outputs[k]
 * with respect to wrt[i]. An sn_scalar may be the cotangent of a scalar. Nothing is computed before
 * a gradient is read. [new, m s d] */
SN_API sn_status sn_vjp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                        sn_tensor *const *cotangents, sn_tensor *const *wrt, size_t n_wrt,
                        sn_tensor **grads);

/* Forward mode: out[k] becomes the sum over i of the derivative of outputs[k] with respect to wrt[i]
 * times tangents[i]. tangents[i] has the shape and dtype of wrt[i], or is an sn_scalar for a scalar,
 * or NULL for zeros; with NULL, wrt[i] need not be a float. [new, m s d] */
SN_API sn_status sn_jvp(sn_context *ctx, sn_tensor *const *outputs, size_t n_outputs,
                        sn_tensor *const *wrt, sn_tensor *const *tangents, size_t n_wrt,
                        sn_tensor **out);

/* Turns the results of a function for one example into its results for many. examples are n
 * placeholders, and outputs was computed from them. batches[i] is like examples[i] with one more axis,
 * in_axes[i], along which all batches have the same number of examples. out[k] becomes outputs[k]
 * with one more axis, out_axes[k]; if outputs[k] does not depend on the examples, its values are
 * repeated. out_axes[k] may be SN_NO_AXIS for such an output: it stays as it is. Negative axes count
 * from the end. The result is a graph over all examples, not a loop over them. [new, m s d] */
#define SN_NO_AXIS (-2147483647 - 1)
SN_API sn_status sn_vmap(sn_context *ctx, sn_tensor *const *outputs, const int *out_axes,
                         size_t n_outputs, sn_tensor *const *examples, sn_tensor *const *batches,
                         const int *in_axes, size_t n, sn_tensor **out);

/* A lazy copy of x through which no derivative will be taken. Once it is computed, it releases the
 * values that it was computed from, even if they depend on variables. [new, m] */
SN_API sn_tensor *sn_untracked(sn_tensor *x);

/* Ends what sn_variable began, for t and everything it was made from: no gradient will be taken
 * through them any more, so computed values release what they were computed from. A loop that updates
 * its parameters eagerly (w = w - rate * gradient) has to call this for each new w, or all earlier
 * values would stay alive. */
SN_API void sn_untrack(sn_tensor *t);

/* ---- control flow ---------------------------------------------------------------------------- */

/* A traced function: outputs that were computed from the placeholders (sn_placeholder) inputs. Other tensors that the outputs
 * read are captured. All are borrowed.
 *
 * Values that depend on no placeholder are computed once, outside of the function. Branches and checkpoints are an exception:
 * every tensor that was made after their placeholders belongs to them, whatever it is made of. So a branch that is not taken
 * computes nothing, and a checkpoint keeps nothing. */
typedef struct sn_traced {
  sn_tensor *const *inputs;
  size_t n_inputs;
  sn_tensor *const *outputs;
  size_t n_outputs;
} sn_traced;

/* Calls body `length` times, once for each slice along the first axis of the stacks: body(carries,
 * slices) -> (carries, slices). inputs: the n_carries initial carries, then a stack for each further
 * argument of the body. out: the last carries, then the slices that the body made, stacked. reverse:
 * from the last slice to the first. A carry keeps its dtype and shape. Outside of traces the loop
 * runs at once. [new, m s d a] */
SN_API sn_status sn_scan(sn_context *ctx, const sn_traced *body, size_t n_carries,
                         sn_tensor *const *inputs, int64_t length, bool reverse, sn_tensor **out);

/* Calls body(carries) -> carries as long as test(carries) -> bool is true. out: the last carries. The
 * loop has no vjp, because its number of rounds is not known beforehand. [new, m s d a] */
SN_API sn_status sn_while(sn_context *ctx, const sn_traced *test, const sn_traced *body,
                          sn_tensor *const *carries, sn_tensor **out);

/* Calls on_true or on_false, which take the same operands and give results of the same dtypes and
 * shapes. condition is a bool scalar. [new, m s d a] */
SN_API sn_status sn_cond(sn_tensor *condition, const sn_traced *on_true, const sn_traced *on_false,
                         sn_tensor *const *operands, sn_tensor **out);

/* Which values a checkpoint keeps for the derivative besides its operands. */
typedef struct sn_save_policy {
  bool products;        /* results of matrix products and convolutions */
  const int32_t *names; /* values that sn_named gave one of these numbers */
  size_t n_names;
} sn_save_policy;

/* out: the results of body(operands). Derivatives compute the values inside of body again instead of
 * keeping them; keep (or NULL) says which are kept. [new, m s d a] */
SN_API sn_status sn_checkpoint(sn_context *ctx, const sn_traced *body, sn_tensor *const *operands,
                               const sn_save_policy *keep, sn_tensor **out);

/* x as a value that a checkpoint may keep by its name, a number of the caller's choice. [new, m] */
SN_API sn_tensor *sn_named(sn_tensor *x, int32_t name);

/* out: the results of body(arguments), with `rule` as its derivative. If reverse, rule(arguments,
 * cotangents of the results) gives the cotangents of the arguments. Else rule(arguments, their
 * tangents) gives the tangents of the results, and is linear in the tangents. Only floats have
 * cotangents and tangents, in their own dtypes. Captured tensors have no derivative. [new, m s d a] */
SN_API sn_status sn_custom(sn_context *ctx, const sn_traced *body, const sn_traced *rule,
                           bool reverse, sn_tensor *const *arguments, sn_tensor **out);

/* ---- compiled programs ----------------------------------------------------------------------- */

/* A tensor without a value: an argument of a program to be compiled. [new, m s] */
SN_API sn_tensor *sn_placeholder(sn_context *ctx, sn_dtype dtype, int rank, const int64_t *dims);

/* Compiles outputs as a function of the placeholders inputs. Other tensors that outputs depend on are
 * captured with their present values. donate (n_inputs flags or NULL): the program may write its
 * outputs into the memory of this argument; a run then uses up the caller's tensor. [new, m a] */
SN_API sn_status sn_compile(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                            sn_tensor *const *outputs, size_t n_outputs, const bool *donate,
                            sn_program **out);

/* Options of one program, in addition to those of its context. All zero: the context's. */
typedef struct sn_program_options {
  const bool *donate;             /* as in sn_compile */
  uint32_t passes_off, passes_on; /* bit i: pass number i */
  bool record;                    /* keep what the compiler did, for sn_program_inspection */
  /* Largest size of the arena in bytes; 0: no limit. Cheap values are computed again instead of kept, with the same bits.
   * If the budget cannot be reached, SN_ERR_ARGUMENT says how far it got. */
  size_t memory_budget;
  /* Tune the program, unless sn_use_tuned already has its choices: its first calls run variants of it in turn, and the
   * fastest is kept. All variants have the same bits. A program with `record` is not tuned: it takes known choices, if any. */
  bool tune;
  /* With mixed precision (sn_set_precision), the ops behind a product keep float32's precision while their kernel has the
   * values in registers; values in memory are rounded. Changes nothing in a deterministic context. */
  bool excess_precision;
} sn_program_options;

/* As sn_compile. options may be NULL. [new, m a] */
SN_API sn_status sn_compile_with(sn_context *ctx, sn_tensor *const *inputs, size_t n_inputs,
                                 sn_tensor *const *outputs, size_t n_outputs,
                                 const sn_program_options *options, sn_program **out);

/* Runs the program; outputs receives new tensors. Inputs must have the placeholders' shapes and
 * dtypes; lazy ones are evaluated first. Donated inputs must not be read afterwards. A donated input
 * that has other references, or on which lazy tensors depend, is copied first and stays valid for
 * those. [new, m s d w] */
SN_API sn_status sn_program_run(sn_program *program, sn_tensor *const *inputs, sn_tensor **outputs);

/* As sn_program_run, on the pool's driver thread: returns at once; see sn_eval_async.
 * [new, m s d w] */
SN_API sn_status sn_program_run_async(sn_program *program, sn_tensor *const *inputs,
                                      sn_tensor **outputs, uint32_t *ticket);

typedef struct sn_program_info {
  size_t nodes;         /* of the graph after all passes */
  size_t kernels;       /* steps of one run */
  size_t arena_bytes;   /* of the planned block for intermediate values */
  uint64_t naive_bytes; /* that they would take without reuse of memory */
  double flops;         /* of one run */
  double bytes;         /* that the kernels of one run read and write */
  size_t inputs, outputs;
} sn_program_info;
SN_API void sn_program_describe(const sn_program *program, sn_program_info *out);
SN_API void sn_program_release(sn_program *program);

/* What tuning has tried so far, as JSON. If an earlier program of the same graph was tuned, its trials; also for a program with
 * `record`. If the choices are from sn_use_tuned, these, without times. *out is NULL if the program does not tune, or has
 * `record` and nothing is known. The text is valid until another text of the program is asked for.
 *
 *   { "done": true, "ms": 1.9, "plainMs": 2.1,     times of a run tuned and untuned, measured in turn
 *     "trials": [{ "knob": "lanes", "what": "...", "factor": 4, "outcome": "taken", "chosen": true, "ms": 1.9, "bestMs": 2.1 }] }
 *
 * outcome: "taken", "lost", "same" (its kernels are those of the best), "refused" (it could not be compiled). [-, m] */
SN_API sn_status sn_program_tuning(sn_program *program, const char **out);

/* All choices that tuning has made in this context, as text to keep for this machine. Valid until the next call. [-, m] */
SN_API sn_status sn_tuned(sn_context *ctx, const char **out);

/* Uses a text of sn_tuned, from any machine: programs that tune are then compiled at once with its choices. If a line is
 * damaged, SN_ERR_ARGUMENT names it; the lines before it are used. [-, m a] */
SN_API sn_status sn_use_tuned(sn_context *ctx, const char *text);

/* The prelude: the part of the program that depends only on captured tensors and is worth keeping. It
 * runs at the first call, and the program keeps and counts its results. It is a program of its own for
 * sn_program_describe, _text, _inspection and _wat, which leave it out of their answers about
 * `program`; sn_program_c_source covers both. It belongs to the program; NULL: there is none. [-, -] */
SN_API sn_program *sn_program_prelude(const sn_program *program);

/* The program as bytes, to store or send, with the tensors that it captured and a note of the caller
 * (or NULL). The bytes belong to the program and are valid until it is released or asked for a text.
 * [-, m w] */
SN_API sn_status sn_program_save(sn_program *program, const char *note, const void **bytes,
                                 size_t *size);

/* Makes a program of the bytes of sn_program_save, in any process with the same version of Sinter.
 * Nothing is traced and no pass runs. In the numeric mode in which it was saved the results have the
 * same bits. Damaged bytes, and bytes of another version, are an error that says so. The bytes are
 * not needed afterwards. [new, m a] */
SN_API sn_status sn_program_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out);

/* The note that a loaded program was saved with; NULL: none, or not loaded. It belongs to the program.
 * [-, -] */
SN_API const char *sn_program_note(const sn_program *program);

/* ---- training steps -------------------------------------------------------------------------- */

/* A training step is a program that computes the loss and the next state from a state and a batch. Its
 * inputs are the tensors of the state, then the learning rates, then the batch. Its results are other
 * tensors, if there are any, then the loss, a scalar, then the next state. The bytes of a step also
 * contain what a trainer needs: descriptions of its inputs, and the initial state. */
typedef struct sn_step_input {
  const char *path; /* the keys that lead to it: "params.0.weight", "optimizer.count", "key"; for a
                       batch "batch.0", "batch.1.mask" */
  sn_dtype dtype;
  int rank;
  int64_t dims[SN_MAX_RANK];
  /* 1; or the number of processes among which these n elements are split: each has those from rank * n / parts on, as a
   * tensor of shape (n / parts). So it is for parameters of modules that processes share, and for what split_state splits. */
  int parts;
} sn_step_input;

typedef struct sn_step_info {
  size_t n_state, n_rates, n_batch;
  size_t n_others;             /* number of results before the loss */
  const sn_step_input *inputs; /* n_state + n_rates + n_batch of them */
  sn_dtype precision;          /* of products: SN_F32, SN_F16 or SN_BF16 */
  bool
      deterministic; /* of the context that saved it; in a context with the same setting the bits are the same */
} sn_step_info;

typedef struct sn_step_parts {
  size_t n_state, n_rates;
  sn_tensor *const *values; /* initial values of the state, then of the rates */
  const char *const *paths; /* of all inputs; the paths of the state must differ from each other */
  sn_dtype precision;
} sn_step_parts;

/* As sn_program_save, for a program that is a training step. [-, m a w] */
SN_API sn_status sn_step_save(sn_program *program, const sn_step_parts *parts, const char *note,
                              const void **bytes, size_t *size);

/* As sn_program_load, for bytes that must be those of a training step. sn_program_run runs it and uses
 * up the inputs that were donated when it was compiled; for a step of trainStep, the state. [new, m a] */
SN_API sn_status sn_step_load(sn_context *ctx, const void *bytes, size_t size, sn_program **out);

/* Describes a loaded training step. The result belongs to the program. NULL: the program is not a
 * step, or was not loaded. [-, -] */
SN_API const sn_step_info *sn_step_describe(const sn_program *program);

/* Makes the values that the step was saved with: n_state + n_rates new tensors in out, first the state, then the rates. Of a
 * split tensor, this process's part. [new, m a] */
SN_API sn_status sn_step_init(sn_program *program, sn_tensor **out);

/* ---- what a program is ----------------------------------------------------------------------- */

/* The graph after a stage ("trace", a pass name, "groups", "plan", "kernels") as text that does not
 * change from run to run; NULL for an unknown stage. The text belongs to the program. It exists only
 * for programs compiled with `record`, or while the level of sn_set_debug is at least 5. [-, -] */
SN_API const char *sn_program_text(const sn_program *program, const char *stage);

/* What the compiler did, as one JSON text: the graph after every stage as text, DOT, nodes and
 * edges, the kernels, and the memory plan. It belongs to the program; NULL unless the program was
 * compiled with `record`. [-, -] */
SN_API const char *sn_program_inspection(const sn_program *program);

/* The code of kernel number `kernel` as text: in WebAssembly the emitted module, natively the C that is compiled for it, on a
 * graphics processor its shaders in WGSL; or a comment that says why there is none. *out belongs to the program and is valid
 * until the next call of this function or of sn_program_c_source. [-, m a] */
SN_API sn_status sn_program_wat(sn_program *program, size_t kernel, const char **out);

/* The program as standalone C11: one function per kernel, and
 *   void name(const float *a0, ..., float *out0, ...)
 * which calls them. Captured tensors are arguments behind the inputs, in the order of
 * sn_program_captured; a comment says what each is. name is an identifier of C. *out belongs to the
 * program and is valid until the next call of this function or of sn_program_wat. [-, m a] */
SN_API sn_status sn_program_c_source(sn_program *program, const char *name, const char **out);

/* What the program computes, as one JSON text with as little lowering as possible: each node is an op of docs/ops.md, before
 * any op is expanded or fused, with regions for control flow. sn.inspect's jsSource is written from it.
 *   {"nodes": [{"op", "dtype", "shape", "attrs": {name: number or list}, "inputs": [node ...]} ...],
 *    "outputs": [node ...], "regions": [graph ...]}
 * Only for a program compiled with `record`. It belongs to the program, like the texts above. [-, m a] */
SN_API sn_status sn_program_graph(sn_program *program, const char **out);

/* Captured tensor `number`: argument inputs + number of the graph. NULL: there are no more. It
 * belongs to the program. [-, -] */
SN_API sn_tensor *sn_program_captured(const sn_program *program, size_t number);

/* ---- profile --------------------------------------------------------------------------------- */

typedef struct sn_kernel_profile {
  const char *name;   /* e.g. "matmul+add+relu" */
  const char *kind;   /* "map", "scalar", "reduce", "row", "contraction", "ready" */
  const char *engine; /* of the last call: "vm", "jit", "cc", "ready" */
  double ms; /* summed over calls: of each, from the first worker's start to the last one's end */
  double flops; /* summed over calls */
  double bytes; /* summed over calls */
  uint32_t calls;
  uint32_t threads; /* most workers that took part in a call */
} sn_kernel_profile;

typedef struct sn_span {
  double begin_ms, end_ms; /* on the clock of sn_profile_now */
  uint32_t kernel;         /* index into the kernel profiles, or one of SN_SPAN_* */
  uint32_t worker;         /* 0: the caller or driver */
  uint32_t step;           /* the kernel's number in its program, as in sn_program_inspection */
} sn_span;

/* Spans of other things than kernels: a whole run of a program, and compiling one. Time that a worker
 * does not spend in kernels is within a run (waiting for others, or handing out work), in the
 * compiler, or outside of the library. */
#define SN_SPAN_RUN UINT32_MAX
#define SN_SPAN_COMPILE (UINT32_MAX - 1)

/* Starts recording. At most max_spans spans are kept; further ones are only counted. [-, m] */
SN_API sn_status sn_profile_start(sn_context *ctx, size_t max_spans);
/* Ends recording. The arrays below belong to the context and are valid until the next start. */
SN_API void sn_profile_stop(sn_context *ctx);
SN_API size_t sn_profile_kernels(const sn_context *ctx, const sn_kernel_profile **out);
SN_API size_t sn_profile_spans(const sn_context *ctx, const sn_span **out, size_t *lost);
SN_API double sn_profile_now(void);

#ifdef __cplusplus
}
#endif

#endif
