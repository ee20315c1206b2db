/* tensor.h - the structs behind the public handles.
 *
 * A tensor is a lazy node (op, type, inputs, attributes) until it is evaluated; then it holds a
 * storage and releases its inputs. The tensors themselves are the lazy graph, kept alive by reference
 * counts. Evaluation copies the part it needs into a dense graph (trace.h).
 *
 *   state        storage  inputs
 *   LAZY         -        yes
 *   VALUE        yes      no  (kept when tracked: sn_gradients still has to walk them)
 *   PLACEHOLDER  -        no
 *   USED_UP      -        no        donated to a program */
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
  bool weak;    /* a bare number: takes the dtype of the tensor that it is combined with */
  bool tracked; /* depends on an sn_variable: keeps its inputs after evaluation */
  bool traced;  /* depends on a placeholder: cannot be evaluated by itself */
  bool inside;  /* set while a region is traced, if the traced function made it: trace_region.c */
  sn_origin origin;
  uint32_t depth; /* longest path to a tensor that is not lazy, for automatic evaluation */
  uint32_t n_inputs, n_attrs;
  sn_tensor **inputs; /* few_inputs, or an allocation of its own */
  int64_t *attrs;     /* few_attrs, or an allocation of its own */
  sn_tensor *few_inputs[SN_MAX_ARITY];
  int64_t few_attrs[2];
  sn_storage *storage;
  uint32_t ticket; /* of the run that writes storage and may be under way; 0: the value is there */
  uint64_t mark;   /* equals ctx->mark if the traversal under way has visited it; id is then its number */
  sn_id id;
  sn_tensor *next;          /* in a list, while being destroyed or untracked */
  sn_tensor *older, *newer; /* in the context's list of live tensors */
};

/* One run. All that it needs is collected beforehand, so that it can run on any thread without
 * allocating. */
typedef struct sn_job sn_job;
struct sn_job {
  _Alignas(uint64_t) sn_context *ctx; /* aligned for the arrays behind the job, in the same block */
  struct sn_compiled *compiled;       /* retained */
  size_t bytes;                       /* size of the block */
  sn_run run;
  sn_storage **reads;  /* per argument */
  sn_storage **writes; /* per fresh output */
  uint32_t ticket;
  sn_job *next; /* in order of submission */
};

/* The times of the last SN_TIMES runs that were clocked, as a ring buffer. */
#define SN_TIMES 16
typedef struct sn_times {
  uint32_t n; /* clocked runs so far */
  float ms[SN_TIMES];
} sn_times;

/* A compiled graph, shared by the cache, programs and runs under way. */
typedef struct sn_compiled {
  sn_executable *exe;      /* NULL while it is being compiled */
  sn_compiling *compiling; /* NULL afterwards */
  uint32_t refs;
  uint32_t hash; /* of the traced graph, whose copy is the key */
  sn_arena key_arena;
  sn_graph key;
  bool *donate; /* per argument; NULL: none */
  uint32_t switches;
  size_t memory_budget;
  sn_tuning tuning;
  sn_target target; /* the context's, changed by the tuning; unused if the tuning is plain */
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
  sn_job *jobs, **jobs_end; /* jobs submitted and not yet collected, in order */
  size_t n_jobs;
  sn_status lost; /* status of the first failed run that sn_synchronize has not reported yet */
  sn_profiler profiler;
  size_t n_tensors;
  sn_tensor *newest;    /* live tensors, the newest first (tensor.older) */
  size_t settled_bytes; /* live bytes of values at the end of the last evaluation, or less */
  sn_watch *watch;      /* for the run under way; NULL: off */
  uint32_t call; /* number of the public call under way if origins are recorded (sn_origin), else 0 */
  uint64_t mark; /* number of the traversal under way (tensor.mark) */
  sn_tensor **scope; /* references noted in scopes and compositions; NULL marks the begin of a scope */
  size_t n_scope, cap_scope;
  sn_processes processes; /* the processes for which steps are loaded, if ranks > 1 */
  sn_dtype precision;   /* of products that are recorded, see sn_set_precision; SN_F32: as given */
  struct sn_kept_tuning *tuned; /* what tuning has found (tuned.h) */
  size_t n_tuned, cap_tuned;
  sn_arena tuned_text; /* the text that sn_tuned returned last */
  const char *composed; /* public name of the composition under way (compose.h), or NULL */
};

/* If status is an error and the first one since the last clear, keeps it for the public API. Returns status. */
sn_status sn_context_report(sn_context *ctx, sn_status status);

/* usage.c: gives ctx->first_error, which is SN_ERR_MEMORY, a hint at what holds the memory. */
void sn_hint_at_usage(sn_context *ctx);

/* A new tensor with one reference; its inputs are retained. */
sn_status sn_tensor_new(sn_context *ctx, sn_op op, sn_tensor *const *inputs, size_t n_inputs,
                        const int64_t *attrs, size_t n_attrs, const sn_type *type, sn_tensor **out);

/* A tensor with a value in storage. On success it takes over the caller's reference to the storage. */
sn_status sn_tensor_from_storage(sn_context *ctx, const sn_type *type, sn_storage *storage,
                                 sn_tensor **out);

/* Makes the tensor a VALUE in storage, whose reference it takes over. Releases its inputs unless it is tracked. */
void sn_tensor_settle(sn_tensor *t, sn_storage *storage, uint32_t ticket);

/* The status that a function returns for a NULL tensor: that of the first error, which made it NULL. */
sn_status sn_context_null_status(sn_context *ctx);

/* Reports the first tensor that is NULL or of another context. what: names the argument, such as "eval: tensor". */
sn_status sn_context_check_tensors(sn_context *ctx, sn_tensor *const *tensors, size_t n,
                                   const char *what);

/* Makes room in the scope for n more references, so that handing them out cannot fail. */
sn_status sn_scope_reserve(sn_context *ctx, size_t n);

/* The last step of every public function that returns a tensor: if a scope or composition is open, that
 * takes the reference over. NULL stays NULL; without memory for it the tensor is released and NULL returned. */
sn_tensor *sn_hand_out(sn_tensor *t);

/* ---- jobs.c ---------------------------------------------------------------------------------- */

/* *out is a job for one run of compiled, with room for its pointers. The caller fills in the
 * arguments' buffers. */
sn_status sn_job_new(sn_context *ctx, sn_compiled *compiled, sn_job **out);
void sn_job_free(sn_job *job);

/* Holds the storages of the arguments and allocates those of fresh outputs. out[i] is the storage of
 * graph output i, with a new reference. */
sn_status sn_job_outputs(sn_job *job, sn_storage *const *arguments, sn_storage **out);

/* Runs the job now on this thread, or queues it for the driver. Both take the job over. *ticket is 0 if
 * the job ran at once. */
sn_status sn_job_run(sn_job *job);
sn_status sn_job_submit(sn_job *job, uint32_t *ticket);

/* Collects finished runs; wait: waits for all submitted ones and collects them. */
void sn_jobs_collect(sn_context *ctx, bool wait);

/* Whether the run with this ticket is over. It may not have been collected yet. */
bool sn_jobs_done(const sn_context *ctx, uint32_t ticket);

/* Waits for the run with this ticket and those before it, and collects them. */
void sn_jobs_wait(sn_context *ctx, uint32_t ticket);

/* ---- cache.c --------------------------------------------------------------------------------- */

/* *out is the compiled form of *traced, from the cache or made now, with a reference for the caller. */
sn_status sn_compile_cached(sn_context *ctx, const sn_graph *traced,
                            const sn_compile_options *options, sn_compiled **out);
void sn_compiled_release(sn_context *ctx, sn_compiled *compiled);
/* The options that tell programs of one graph apart, as bits, without that of being on record. */
uint32_t sn_compiled_switches(const sn_compiled *compiled);

/* Compiles in pieces; compiled->exe is set at the end. Each call continues, for one stage at least, until sn_host_now_ms()
 * reaches `until`. In between anything may happen on this thread; the cache gets it only at the end. After a failure the
 * caller releases it. *traced and *options as for sn_compiling_new. */
sn_status sn_compile_begin(sn_context *ctx, const sn_graph *traced,
                           const sn_compile_options *options, sn_compiled **out);
sn_status sn_compile_continue(sn_context *ctx, sn_compiled *compiled, double until);
void sn_cache_clear(sn_context *ctx);

/* Frees memory: the programs that only the cache holds, and what others keep packed. Returns false if
 * there was nothing to free. */
bool sn_cache_trim(sn_context *ctx);

#endif
