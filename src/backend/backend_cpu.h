/* backend_cpu.h - the CPU's functions; the backend of emitted code takes most as they are. */
#ifndef SN_BACKEND_BACKEND_CPU_H
#define SN_BACKEND_BACKEND_CPU_H

#include "backend/backend.h"

sn_status sn_cpu_compile(const sn_device *device, sn_program_code *program, sn_executable **out);
void sn_cpu_release(sn_executable *exe);

/* The same with code made at run time: hang_in adds it to the kernels of a program and of its regions, drop releases it, also
 * after hang_in has failed half way. */
sn_status sn_cpu_compile_with(const sn_device *device, sn_program_code *program,
                              sn_status (*hang_in)(const sn_device *, sn_executable *),
                              void (*drop)(sn_executable *), sn_executable **out);

sn_status sn_cpu_allocate(sn_device *device, size_t bytes, void **out);
void sn_cpu_deallocate(sn_device *device, void *memory, size_t bytes);
sn_status sn_cpu_views(sn_arena *arena, const sn_executable *exe, sn_kernel_view *out);
sn_status sn_cpu_listing(sn_arena *arena, const sn_executable *exe, size_t k, const char **out);
void *sn_cpu_map(sn_device *device, void *memory);
void sn_cpu_copy(sn_device *device, void *to, const void *from, size_t bytes);
sn_status sn_cpu_run(sn_device *device, sn_run *run);
bool sn_cpu_queues(const sn_device *device);
sn_status sn_cpu_submit(sn_device *device, sn_run *run, uint32_t *ticket);
bool sn_cpu_poll(const sn_device *device, uint32_t ticket, sn_status *status);
void sn_cpu_wait(sn_device *device, uint32_t ticket);

/* The functions that a backend shares with the CPU's if only its code differs. */
#define SN_CPU_ALL_BUT_CODE                                                                 \
  .views = sn_cpu_views, .allocate = sn_cpu_allocate, .deallocate = sn_cpu_deallocate,      \
  .map = sn_cpu_map, .copy = sn_cpu_copy, .upload = sn_cpu_copy, .download = sn_cpu_copy,   \
  .run = sn_cpu_run, .queues = sn_cpu_queues, .submit = sn_cpu_submit, .poll = sn_cpu_poll, \
  .wait = sn_cpu_wait

#endif
