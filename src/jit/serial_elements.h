/* serial_elements.h - a loop over tiny programs (kernels/serial_loop.h) as scalars: where every element is, and groups written out
 * element by element.
 *
 *   emit_serial.c    control flow: sections of straight-line code, and what stands between them
 *   serial_groups.c  the groups of a section */
#ifndef SN_JIT_SERIAL_ELEMENTS_H
#define SN_JIT_SERIAL_ELEMENTS_H

#include "jit/body.h"
#include "kernels/serial_loop.h"

typedef struct sn_element {
  uint32_t leaf;    /* where it is kept, or SN_NONE */
  uint32_t section; /* in which `now` is its value, counted from 1 */
  sn_vec_value now;
} sn_element;

/* Where a value's elements are: in memory, or each in a register if other sections read it. */
typedef struct sn_home {
  const sn_type *type;
  bool in_memory, in_registers;
  uint32_t pointer; /* local with the address */
  int64_t offset;   /* elements from there to the first one */
  int level;        /* of what is read in memory: 0 if that never changes */
  sn_element *elements;
} sn_home;

typedef struct sn_serial {
  sn_jit j;                /* first: bodies are read by way of this */
  sn_home **homes;         /* of the values of the region under way */
  int64_t at[SN_MAX_RANK]; /* the point that is described: of the space, then reduced */
  sn_vec_value *kept;      /* per slot and point of a row */
  int64_t row_points;
  uint32_t n_registers;
} sn_serial;

/* Element i as it is now; and a new value for it. */
sn_vec_value sn_serial_element(sn_serial *s, sn_home *home, int64_t i);
void sn_serial_set(sn_serial *s, sn_home *home, int64_t i, sn_vec_value value);

/* Describes all of a group in the section under way. */
sn_status sn_serial_group(sn_serial *s, const sn_group *group, const sn_kernel *kernel);

/* A load or a kept value of a body: sn_jit.read. */
sn_vec_value sn_serial_read(sn_jit *j, const sn_body *body, const sn_insn *insn);

#endif
