/* wgsl.h - a program for a device that runs WGSL: the shaders in the order in which they run, with their bindings and numbers
 * of workgroups. Steps without points have no shader. Control flow is flattened (device_steps.c): the shaders of its regions
 * stand between marks that say how often they run. */
#ifndef SN_WGSL_WGSL_H
#define SN_WGSL_WGSL_H

#include "wgsl/shader.h"

/* Most rounds of nested scans together: the numbers of a round take 256 bytes. */
#define SN_GPU_MOST_ROUNDS 65536

/* js/src/webgpu/programs.ts knows the layouts of this and of sn_device_step. */
typedef struct sn_dispatch {
  const char *text;
  const sn_shader_binding *bindings;
  uint32_t n_bindings;
  const uint32_t *constants; /* bits, bound as binding n_bindings if there are any */
  uint32_t n_constants;
  uint32_t groups[3];
  uint32_t gate;        /* the word of the gates' buffer that holds its numbers of workgroups; 0: it is behind no gate */
  uint32_t asks_rounds; /* 0 or 1: the last binding is the numbers of the rounds under way */
  const char *name;     /* of its group */
} sn_dispatch;

typedef enum sn_device_step_kind {
  SN_DEVICE_DISPATCH,
  SN_DEVICE_ROUNDS, /* repeats the steps up to its SN_DEVICE_END `number` times */
  SN_DEVICE_WHILE,  /* repeats the steps up to its SN_DEVICE_END while the flag of gate `number` is not 0 */
  SN_DEVICE_END,
  SN_DEVICE_VARIANT /* a dispatch that can replace the one before: it writes the same bits to the same buffers */
} sn_device_step_kind;

typedef struct sn_device_step {
  uint32_t kind;
  uint32_t number;
  sn_dispatch dispatch;
} sn_device_step;

typedef struct sn_device_steps {
  sn_device_step *list;
  size_t n;
  size_t *ends; /* per step of the program: the end of its device steps in list */
  uint32_t gate_words; /* words of the gates' buffer; 0: there are no gates */
} sn_device_steps;

/* The device steps of all of a program's steps. */
sn_status sn_wgsl_program(sn_arena *arena, const sn_program_code *program, sn_device_steps *out);

/* The number of dispatches of step k in one run, with every `while` counted as one round. */
double sn_wgsl_dispatches(const sn_device_steps *steps, size_t k);

/* Prints the shaders of step k with their bindings. */
void sn_wgsl_print(sn_text *text, const sn_device_steps *steps, size_t k);

/* The target for a device. buffers: storage buffers that a shader may bind; shared_bytes: workgroup memory, or 0 if threads are
 * not to share any, as on a device in software, which runs the threads of a workgroup one after the other. */
sn_target sn_wgsl_target(uint32_t buffers, uint32_t shared_bytes);

#endif
