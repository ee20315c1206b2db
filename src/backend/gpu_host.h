/* gpu_host.h - functions of the host, which reaches a graphics processor that this code cannot reach itself. Buffers and
 * programs are numbers, 0 is none. In WebAssembly JavaScript supplies the functions (js/src/webgpu); tests supply their own.
 *
 * Invariant: requests are carried out in the order of the calls, at whatever time. So for all later calls, a run that was
 * submitted is over. */
#ifndef SN_BACKEND_GPU_HOST_H
#define SN_BACKEND_GPU_HOST_H

#include "wgsl/wgsl.h"

#ifdef __wasm__
#define SN_GPU(name) __attribute__((import_module("gpu"), import_name(#name))) sn_gpu_##name
#else
#define SN_GPU(name) sn_gpu_##name
#endif

/* Writes why the last call was refused: a text with its final 0, as far as there is room. */
void SN_GPU(why)(char *text, size_t room);

/* A buffer; 0: there is no memory for it. */
uint32_t SN_GPU(allocate)(size_t bytes);
void SN_GPU(release)(uint32_t buffer);
void SN_GPU(upload)(uint32_t to, const void *from, size_t bytes);
void SN_GPU(copy)(uint32_t to, uint32_t from, size_t bytes);

/* Makes a program without steps; sn_gpu_step appends one, and reads nothing of it later. gate_words: words of its gates, 0 if
 * it has none; the first word is 1, dispatches have their own, and the others begin as 0. arguments: so many of the program's
 * buffers are the caller's. */
uint32_t SN_GPU(program)(uint32_t gate_words, uint32_t arguments);
void SN_GPU(step)(uint32_t program, const sn_device_step *step);
void SN_GPU(forget)(uint32_t program);

/* Submits the steps. buffers: the program's, by number. Returns an sn_status; unless it is 0, no memory was changed. */
uint32_t SN_GPU(run)(uint32_t program, void *const *buffers, size_t n_buffers);

#endif
