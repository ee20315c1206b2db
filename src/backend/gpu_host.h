/* gpu_host.h - what the host does for a graphics processor that it reaches and this code does not: buffers and programs
 * by number, 0 is none. In WebAssembly JavaScript supplies them (js/src/webgpu); tests put their own in.
 *
 * Invariant: what is asked for is done in the order of asking, whenever that may be. So a run that was submitted is over
 * for whoever asks for more. */
#ifndef SN_BACKEND_GPU_HOST_H
#define SN_BACKEND_GPU_HOST_H

#include "wgsl/wgsl.h"

#ifdef __wasm__
#define SN_GPU(name) __attribute__((import_module("gpu"), import_name(#name))) sn_gpu_##name
#else
#define SN_GPU(name) sn_gpu_##name
#endif

/* Writes why the last call was refused, with its 0, as far as there is room. */
void SN_GPU(why)(char *text, size_t room);

/* A buffer; 0: there is no memory for it. */
uint32_t SN_GPU(allocate)(size_t bytes);
void SN_GPU(release)(uint32_t buffer);
void SN_GPU(upload)(uint32_t to, const void *from, size_t bytes);
void SN_GPU(copy)(uint32_t to, uint32_t from, size_t bytes);

/* A program without steps; more are added at its end. Nothing of a step is read later. gate_words: of its gates, 0: it has
 * none; the first is 1, dispatches have theirs, the others begin as 0. arguments: so many buffers are the caller's. */
uint32_t SN_GPU(program)(uint32_t gate_words, uint32_t arguments);
void SN_GPU(step)(uint32_t program, const sn_device_step *step);
void SN_GPU(forget)(uint32_t program);

/* Submits the steps. buffers: of the program, by number. An sn_status: nothing was touched unless it is 0. */
uint32_t SN_GPU(run)(uint32_t program, void *const *buffers, size_t n_buffers);

#endif
