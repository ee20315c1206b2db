/* tensor.h - what stands behind the public handles.
 *
 * A tensor is a lazy node (op, type, inputs, attributes) until it is evaluated; then it holds a
 * storage and lets go of its inputs. So the lazy graph is the tensors themselves, kept alive by
 * reference counts, and evaluation copies the part it needs into a dense graph (trace.h).
 *
 *   state        storage  inputs
 *   LAZY         -        yes
 *   VALUE        yes      no  (kept when tracked: sn_gradients still has to walk them)
 *   PLACEHOLDER  -        no
 *   USED_UP      -        no  donated to a program */
#ifndef SN_TENSOR_TENSOR_H
#define SN_TENSOR_TENSOR_H

#include "pipeline.h"
#include "tensor/storage.h"

typedef enum sn_tensor_state {
  SN_TENSOR_LAZY,
  SN_TENSOR_VALUE,
  SN_TENSOR_PLACEHOLDER,
  SN_TENSOR_USED_UP
} sn_tensor_state;

struct sn_tensor {
  sn_context *ctx;
  uint32_t refs; /* handles and lazy users */
  sn_tensor_state state;
  sn_op op;
  sn_type type;
  bool weak;    /* a bare number: takes the dtype of what it meets */
  bool tracked; /* depends on an sn_variable: keeps its inputs after evaluation */
  bool traced;  /* depends on a placeholder: cannot be evaluated by itself */
  bool inside;  /* made by the function whose region is being traced: trace_region.c */
  sn_origin origin;
  uint32_t depth; /* longest way to a leaf, for automatic evaluation */
  uint32_t n_inputs, n_attrs;
  sn_tensor **inputs; /* = few_inputs, or a block of its own */
  int64_t *attrs;     /* = few_attrs, or a block of its own */
  sn_tensor *few_inputs[SN_MAX_ARITY];
  int64_t few_attrs[2];
  sn_storage *storage;
  uint32_t ticket; /* of the run under way that writes storage; 0: the value is there */
  uint64_t mark;   /* = ctx->mark: visited in the present traversal, as node id */
  sn_id id;
  sn_tensor *next;          /* while being destroyed */
  sn_tensor *older, *newer; /* in the context's list of live tensors */
};

/* One run: what it needs is collected beforehand, so that it can go on any thread without
 * allocating. */
typedef struct sn_job sn_job;
struct sn_job {
  _Alignas(uint64_t) sn_context *ctx; /* as what lies behind the job */
  struct sn_compiled *compiled;       /* retained */
  size_t bytes;                       /* of this block */
  sn_run run;
  sn_storage **reads;  /* per argument */
  sn_storage **writes; /* per fresh output */
  uint32_t ticket;
  sn_job *next; /* in order of submission */
};

/* What the last runs took whose time somebody wants. */
#define SN_TIMES 16
typedef struct sn_times {
  uint32_t n; /* so many have come */
  float ms[SN_TIMES];
} sn_times;

/* A compiled graph, shared by the cache, programs and runs under way. */
typedef struct sn_compiled {
  sn_executable *exe;      /* NULL: it is being compiled */
  sn_compiling *compiling; /* until then */
  uint32_t refs;
  uint32_t hash; /* of the traced graph, which is kept as the key */
  sn_arena key_arena;
  sn_graph key;
  bool *donate; /* per argument; NULL: none */
  uint32_t switches;
  size_t memory_budget;
  sn_tuning tuning;
  sn_target target; /* the context's as the tuning says, unless that is plain */
  sn_times times;
  uint64_t last_use;
} sn_compiled;

#define SN_CACHE_ENTRIES 128

struct sn_context {
  sn_env env;
  sn_device device;
  sn_target target; /* the CPU in this context's numeric mode */
  sn_compile_options options;
  sn_storage_pool storages;
  sn_error first_error; /* since the last clear */
  void *workspace;
  size_t workspace_bytes;
  sn_compiled *cache[SN_CACHE_ENTRIES];
  size_t n_cached;
  uint64_t clock;
  size_t hits, misses, evictions;
  sn_job *jobs, **jobs_end; /* submitted and not yet collected */
  size_t n_jobs;
  sn_status lost; /* of the first failed run not yet reported by sn_synchronize */
  sn_profiler profiler;
  size_t n_tensors;
  sn_tensor *newest;    /* of the live tensors */
  size_t settled_bytes; /* of values when the last evaluation ended; more have come since */
  sn_watch *watch;      /* of the run under way; NULL: off */
  uint32_t call; /* number of the public call under way, where somebody looks (sn_origin); else 0 */
  uint64_t mark;
  sn_tensor **scope; /* noted references, NULL marks the begin of a scope */
  size_t n_scope, cap_scope;
  sn_processes processes; /* ranks > 1: that steps are loaded for */
  sn_dtype precision;   /* of products that are recorded, see sn_set_precision; SN_F32: as given */
  struct sn_kept_tuning *tuned; /* tuned.h: what tuning has found */
  size_t n_tuned, cap_tuned;
  sn_arena tuned_text; /* that was asked for last */
  const char *composed; /* public name of the composition under way (compose.h), or NULL */
};

/* Keeps the first error for the public API; returns status. */
sn_status sn_context_report(sn_context *ctx, sn_status status);

/* usage.c: the hint of the error of having run out of memory. */
void sn_hint_at_usage(sn_context *ctx);

/* A new tensor with one reference; its inputs are retained. */
sn_status sn_tensor_new(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                        const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_tensor **out);

/* A tensor with a value in storage, whose reference it takes over. */
sn_status sn_tensor_from_storage(sn_context *ctx, const sn_type *type, sn_storage *storage,
                                 sn_tensor **out);

/* The value has come: storage (retained by the caller for it) in, inputs out unless tracked. */
void sn_tensor_settle(sn_tensor *t, sn_storage *storage, uint32_t ticket);

/* What a function that was given a NULL tensor returns: the error the chain began with. */
sn_status sn_context_missing(sn_context *ctx);

/* Reports the first of tensors that is NULL or of another context; what: "eval: tensor". */
sn_status sn_context_accept(sn_context *ctx, sn_tensor *const *tensors, size_t n, const char *what);

/* Room for the notes of n more references, so that handing them out cannot fail. */
sn_status sn_scope_reserve(sn_context *ctx, size_t n);

/* The last step of every public function that returns a tensor: notes the reference in the open
 * scope. NULL stays NULL; without memory for the note the tensor is released and NULL returned. */
sn_tensor *sn_hand_out(sn_tensor *t);

/* ---- jobs.c ---------------------------------------------------------------------------------- */

/* A job for one run of compiled, with room for its pointers; arguments are still to be filled
 * in. */
sn_status sn_job_new(sn_context *ctx, sn_compiled *compiled, sn_job **out);
void sn_job_free(sn_job *job);

/* Allocates the fresh outputs; out[i] = storage of graph output i with a new reference each.
 * arguments: the storages of the arguments. */
sn_status sn_job_outputs(sn_job *job, sn_storage *const *arguments, sn_storage **out);

/* Runs the job now on this thread, or queues it for the driver; takes the job over. *ticket: 0 when
 * done. */
sn_status sn_job_run(sn_job *job);
sn_status sn_job_submit(sn_job *job, uint32_t *ticket);

/* Collects finished runs. wait: all of them. */
void sn_jobs_collect(sn_context *ctx, bool wait);

/* Whether the run with this ticket is over; it may still have to be collected. */
bool sn_jobs_done(const sn_context *ctx, uint32_t ticket);

/* Waits for the run with this ticket, and those before it. */
void sn_jobs_wait(sn_context *ctx, uint32_t ticket);

/* ---- cache.c --------------------------------------------------------------------------------- */

/* The compiled form of *traced, from the cache or made now; one reference for the caller. */
sn_status sn_compile_cached(sn_context *ctx, const sn_graph *traced,
                            const sn_compile_options *options, sn_compiled **out);
void sn_compiled_release(sn_context *ctx, sn_compiled *compiled);
/* What of its options makes it another program, whether it is on record or not. */
uint32_t sn_compiled_switches(const sn_compiled *compiled);

/* The same in pieces: at the end compiled->exe is there. Continues until the clock of sn_host_now_ms shows `until`, for
 * one stage at least. In between anything may happen on this thread; nobody else finds it in the cache before the end.
 * After a failure it is to be released. *traced and *options as for sn_compiling_new. */
sn_status sn_compile_begin(sn_context *ctx, const sn_graph *traced,
                           const sn_compile_options *options, sn_compiled **out);
sn_status sn_compile_continue(sn_context *ctx, sn_compiled *compiled, double until);
void sn_cache_clear(sn_context *ctx);

/* Drops the programs that nobody but the cache holds, and what others keep packed; false when there
 * was nothing. */
bool sn_cache_trim(sn_context *ctx);

#endif
