/* wgsl.h - a program for a device that reads WGSL: shaders in the order in which they run, with what they bind and how many
 * workgroups run. Steps without points have none. Control flow is written out (device_steps.c): the regions' shaders, between
 * marks that say how often. */
#ifndef SN_WGSL_WGSL_H
#define SN_WGSL_WGSL_H

#include "wgsl/shader.h"

/* The rounds of loops that one run may have: each takes 256 bytes. */
#define SN_GPU_MOST_ROUNDS 65536

/* Layout known to js/src/webgpu/programs.ts, as that of sn_device_step. */
typedef struct sn_dispatch {
  const char *text;
  const sn_shader_binding *bindings;
  uint32_t n_bindings;
  const uint32_t *constants; /* bits; binding n_bindings, if there are any */
  uint32_t n_constants;
  uint32_t groups[3];
  uint32_t gate;        /* the word of the gates where its workgroups lie; 0: behind none */
  uint32_t asks_rounds; /* 0 or 1: the last binding is their numbers */
  const char *name;     /* of its kernel */
} sn_dispatch;

typedef enum sn_device_step_kind {
  SN_DEVICE_DISPATCH,
  SN_DEVICE_ROUNDS, /* what follows, to its end, so many times */
  SN_DEVICE_WHILE,  /* what follows, to its end, while a flag is not 0 */
  SN_DEVICE_END,
  SN_DEVICE_VARIANT /* another dispatch in the place of the one before: the same bits of the same buffers */
} sn_device_step_kind;

typedef struct sn_device_step {
  uint32_t kind;
  uint32_t number; /* of rounds; of the flag's word */
  sn_dispatch dispatch;
} sn_device_step;

typedef struct sn_device_steps {
  sn_device_step *list;
  size_t n;
  size_t *ends; /* per step of the program: where the next one's begin */
  uint32_t gate_words;
} sn_device_steps;

/* Of all of a program's steps. */
sn_status sn_wgsl_program(sn_arena *arena, const sn_program_code *program, sn_device_steps *out);

/* The dispatches of step k in one run, each `while` counted as one round. */
double sn_wgsl_dispatches(const sn_device_steps *steps, size_t k);

/* Adds the shaders of step k, with what they bind. */
void sn_wgsl_print(sn_text *text, const sn_device_steps *steps, size_t k);

/* A device: storage buffers that a shader may bind, and the memory that threads of a workgroup may share; 0: they are not to,
 * as on a device in software, which runs them one after the other. */
sn_target sn_wgsl_target(uint32_t buffers, uint32_t shared_bytes);

#endif
