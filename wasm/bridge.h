/* bridge.h - the interface between JS and the wasm module: the public C API with integers (and a
 * few doubles) only, so that one op is one call without strings, objects or allocation in between.
 *
 *   Context   One per module instance; all of this runs on the thread that created it.
 *   Handles   Tensors and programs are pointers; 0 reports an error, to be read with sinter_error_info.
 *   Scratch   Anything that is not one number travels through the scratch block, an array of 32-bit
 *             words whose address and size sinter_scratch reports. "in:" and "out:" below are its
 *             contents from word 0 on. Dims, axes and counts take one word each, doubles two, texts
 *             as many bytes as they have and a NUL.
 *   Threads   src/threads exports what Web Workers call (sn_worker_main, sn_worker_driver). */
#ifndef SINTER_BRIDGE_H
#define SINTER_BRIDGE_H

#include "sinter.h"

#define SN_EXPORT(name) __attribute__((export_name(#name))) name

/* The scratch block, made at least words long; NULL when there is no memory for that. */
int32_t *SN_EXPORT(sinter_scratch)(uint32_t words);

/* 64-byte aligned block for a worker's stack and thread-local data; NULL when there is no
 * memory. */
void *SN_EXPORT(sinter_worker_memory)(uint32_t bytes);

/* Per device a context: that of the CPU, then that of a graphics processor, where the module has one (gpu/bridge_gpu.h). A tensor
 * belongs to one of them, and so does what is made of it. */
enum { SINTER_DEVICES = 2 };
extern sn_context *sinter_contexts[SINTER_DEVICES];

/* New tensors and programs are for this device from now on; the one before. */
uint32_t sinter_enter(uint32_t device);

/* ---- context ---- */
sn_status SN_EXPORT(sinter_create)(int threads, bool deterministic, bool jit, bool relaxed_simd,
                                   uint32_t memory_limit_bytes);
void *SN_EXPORT(sinter_pool)(void);  /* the sn_pool that workers enter, or NULL */
void SN_EXPORT(sinter_revive)(void); /* after dead workers were marked: see sn_pool_revive */
const char *SN_EXPORT(sinter_isa)(void);
const char *SN_EXPORT(sinter_version)(void);
const sn_error *SN_EXPORT(sinter_error_info)(void);
void SN_EXPORT(sinter_error_clear)(void);
void SN_EXPORT(sinter_call)(
    uint32_t number); /* what is made from now on has this number of a call (sn_origin); 0: none */
void SN_EXPORT(sinter_memory)(void);         /* out: the fields of sn_memory_info */
size_t SN_EXPORT(sinter_tensor_bytes)(void); /* of the values of live tensors */
/* out: programs cached, hits, misses, evictions; modules of run-time code alive, their bytes,
 * shared, refused */
void SN_EXPORT(sinter_caches)(void);
void SN_EXPORT(sinter_set_debug)(int level);
sn_dtype SN_EXPORT(sinter_set_precision)(sn_dtype precision);
void SN_EXPORT(sinter_set_poison)(bool on);
int SN_EXPORT(sinter_pass_count)(void);
const char *SN_EXPORT(sinter_pass_name)(int index);
sn_status SN_EXPORT(sinter_pass_enable)(int index, bool on);

/* ---- tensors ---- */
sn_tensor *
    SN_EXPORT(sinter_empty)(int dtype,
                            int rank); /* in: dims; out: address of the elements; the CPU's */
sn_tensor *SN_EXPORT(sinter_scalar)(double value);
sn_tensor *SN_EXPORT(sinter_placeholder)(int dtype, int rank); /* in: dims */
sn_tensor *SN_EXPORT(sinter_copy)(sn_tensor *t);               /* evaluated, in memory of its own */
void SN_EXPORT(sinter_retain)(sn_tensor *t);
void SN_EXPORT(sinter_release)(sn_tensor *t);
void SN_EXPORT(sinter_describe)(const sn_tensor *t);    /* out: dtype, rank, dims */
const void *SN_EXPORT(sinter_data)(sn_tensor *t);       /* evaluates; where the elements are */
bool SN_EXPORT(sinter_is_computed)(const sn_tensor *t); /* whether sinter_data would only look */
sn_status SN_EXPORT(sinter_eval)(uint32_t count);       /* in: tensors */
sn_status SN_EXPORT(sinter_eval_async)(uint32_t count); /* in: tensors; out: ticket */
bool SN_EXPORT(sinter_ticket_done)(uint32_t ticket);
void SN_EXPORT(sinter_take_turns)(void); /* see driver.h */
bool SN_EXPORT(sinter_turn)(double ms);
sn_status SN_EXPORT(sinter_synchronize)(void);

/* ---- ops ---- */
sn_tensor *SN_EXPORT(sinter_unary)(uint32_t op, sn_tensor *x);
sn_tensor *SN_EXPORT(sinter_binary)(uint32_t op, sn_tensor *x, sn_tensor *y);
sn_tensor *SN_EXPORT(sinter_binary_scalar)(uint32_t op, sn_tensor *x, double y); /* x op y */
sn_tensor *SN_EXPORT(sinter_scalar_binary)(uint32_t op, double x, sn_tensor *y);
sn_tensor *SN_EXPORT(sinter_ternary)(uint32_t op, sn_tensor *x, sn_tensor *y, sn_tensor *z);
/* The functions of src/tensor/functions.def, sinter_sum ..., are declared where they are made, in
 * sinter_bridge.inc. Numbers go as they are, dtypes and modes by their numbers. In the scratch
 * block lie dims, permutations and what there is one of for each axis, one array after the other;
 * tensors of a list, and behind them a text; of windows strides, dilation, before, after, window,
 * output padding, per axis, then padding, groups, channels first, ceil, whether padding counts. */

/* ---- derivatives, control flow and programs ---- */
sn_tensor *SN_EXPORT(sinter_variable)(sn_tensor *x);
/* A copy of t that no derivative by a variable will be asked of: once evaluated it lets go of its
 * inputs. */
sn_tensor *SN_EXPORT(sinter_untracked)(sn_tensor *t);
/* in: count tensors; out, behind them: as many derivatives */
sn_status SN_EXPORT(sinter_gradients)(sn_tensor *y, uint32_t count);
/* in: a traced body, that is its placeholders and its results, as many inputs as placeholders, the
 * length, whether in reverse; out, behind them: n_outputs tensors */
sn_status SN_EXPORT(sinter_scan)(uint32_t n_inputs, uint32_t n_outputs, uint32_t n_carries);
/* in: the traced test, the traced body, n carries; out, behind them: n tensors */
sn_status SN_EXPORT(sinter_while)(uint32_t n);
/* in: the condition, two traced branches, n_operands tensors; out, behind them: n_outputs */
sn_status SN_EXPORT(sinter_cond)(uint32_t n_operands, uint32_t n_outputs);
/* in: a traced body, n operands, whether products are kept, n_names numbers; out, behind them: n_outputs */
sn_status SN_EXPORT(sinter_checkpoint)(uint32_t n, uint32_t n_outputs, uint32_t n_names);
/* in: how many derivatives the rule takes and makes, a traced body, the traced rule, n arguments; out, behind them:
 * n_outputs */
sn_status SN_EXPORT(sinter_custom)(uint32_t n, uint32_t n_outputs, uint32_t reverse);
sn_tensor *SN_EXPORT(sinter_named)(sn_tensor *x, int32_t name);
/* in: outputs, their cotangents, n arguments; out, behind them: as many cotangents */
sn_status SN_EXPORT(sinter_vjp)(uint32_t n_outputs, uint32_t n);
/* in: outputs, n arguments, their tangents or 0; out, behind them: the outputs' tangents */
sn_status SN_EXPORT(sinter_jvp)(uint32_t n_outputs, uint32_t n);
/* in: outputs, their axes, n examples, their batches, the axes of these; out, behind them: as many
 * tensors as outputs */
sn_status SN_EXPORT(sinter_vmap)(uint32_t n_outputs, uint32_t n);
/* in: n_inputs placeholders, n_outputs tensors, n_inputs donation flags, bits of passes to switch
 * off, and on, whether to record, the memory budget or 0, whether to tune, whether values
 * may be more precise; compiled by the next one */
sn_program *SN_EXPORT(sinter_compile)(uint32_t n_inputs, uint32_t n_outputs);
/* Compiles for about ms milliseconds; out: whether it is done. */
sn_status SN_EXPORT(sinter_compile_continue)(sn_program *program, double ms);
/* in: n_inputs tensors; out, behind them: the program's outputs, and of the async one the
 * ticket. */
sn_status SN_EXPORT(sinter_program_run)(sn_program *program, uint32_t n_inputs);
/* The same, looking for the first value that is not finite; out: the address of JSON that tells of it, or 0. */
sn_status SN_EXPORT(sinter_program_watch)(sn_program *program, uint32_t n_inputs,
                                          uint32_t n_outputs);
sn_status SN_EXPORT(sinter_program_run_async)(sn_program *program, uint32_t n_inputs,
                                              uint32_t n_outputs);
void SN_EXPORT(sinter_program_release)(sn_program *program);
sn_program *SN_EXPORT(sinter_program_prelude)(const sn_program *program);
/* in: the note. The bytes; out: how many. */
const void *SN_EXPORT(sinter_program_save)(sn_program *program);
/* bytes: a tensor. out: how many inputs and outputs it has; of a training step tensors of the state, and rates, else -1. */
sn_program *SN_EXPORT(sinter_program_load)(sn_tensor *bytes);
const char *SN_EXPORT(sinter_program_note)(const sn_program *program);
/* in: tensors of the state, rates, the precision; all these tensors; the paths of the inputs and the note, each with its
 * NUL. out: as sinter_program_save */
const void *SN_EXPORT(sinter_step_save)(sn_program *program);
sn_status SN_EXPORT(sinter_step_init)(sn_program *program); /* out: tensors of the state and the rates */
const char *SN_EXPORT(sinter_program_inspection)(const sn_program *program);
/* JSON; NULL: it is not one that tunes, or there is no memory for the text. */
const char *SN_EXPORT(sinter_program_tuning)(sn_program *program);
const char *SN_EXPORT(sinter_tuned)(void);
sn_status SN_EXPORT(sinter_use_tuned)(void); /* in: the text */
const char *SN_EXPORT(sinter_program_wat)(sn_program *program, uint32_t kernel);
/* in: name of the function */
const char *SN_EXPORT(sinter_program_c_source)(sn_program *program);

const char *SN_EXPORT(sinter_program_graph)(sn_program *program);
/* A reference to it; NULL: there are no more. */
sn_tensor *SN_EXPORT(sinter_program_captured)(const sn_program *program, uint32_t number);

/* ---- profile ---- */
sn_status SN_EXPORT(sinter_profile_start)(uint32_t max_spans);
void SN_EXPORT(sinter_profile_stop)(void);
const sn_kernel_profile *SN_EXPORT(sinter_profile_kernels)(void); /* out: count */
const sn_span *SN_EXPORT(sinter_profile_spans)(void);             /* out: count, lost */
double SN_EXPORT(sinter_profile_now)(void);

#endif
