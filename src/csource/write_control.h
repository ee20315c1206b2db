/* write_control.h - prints control flow as C: a loop, or an if, around calls of its regions' functions. */
#ifndef SN_CSOURCE_WRITE_CONTROL_H
#define SN_CSOURCE_WRITE_CONTROL_H

#include "base/text.h"
#include "program/steps.h"

/* Adds the name that the function around it has for a value's buffer. */
typedef void sn_c_buffer_fn(void *user, uint32_t value);

typedef struct sn_c_control {
  const sn_program_code *program;
  const sn_step *step;
  uint32_t regions[SN_MAX_REGIONS]; /* numbers of the regions' functions, region_<number> */
  sn_c_buffer_fn *add_buffer;
  void *user;
} sn_c_control;

/* Adds the statement. A carry has two buffers: a round reads one and writes the other. */
sn_status sn_c_add_control(sn_text *text, const sn_c_control *control);

#endif
