/* wgsl.h - a program for a device that reads WGSL: a shader for each of its steps, with what it binds and how many
 * workgroups run. Steps without points have none. */
#ifndef SN_WGSL_WGSL_H
#define SN_WGSL_WGSL_H

#include "wgsl/shader.h"

typedef struct sn_dispatch {
  const char *text;
  const sn_shader_binding *bindings;
  uint32_t n_bindings;
  const uint32_t *constants; /* bits; binding n_bindings, if there are any */
  uint32_t n_constants;
  uint32_t groups[3];
} sn_dispatch;

/* Of one group; *out has no text where there is nothing to do. */
sn_status sn_wgsl_group(sn_arena *arena, const sn_program_code *program, const sn_group *group,
                        sn_dispatch *out);

/* Calls `take` for each in order. */
typedef sn_status sn_take_dispatch(void *user, const sn_dispatch *dispatch);
sn_status sn_wgsl_program(const sn_program_code *program, sn_arena *arena, sn_take_dispatch *take,
                          void *user);

/* A device: storage buffers that a shader may bind, and the memory that threads of a workgroup may share; 0: they are not to,
 * as on a device in software, which runs them one after the other. */
sn_target sn_wgsl_target(uint32_t buffers, uint32_t shared_bytes);

#endif
