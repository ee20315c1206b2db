/* modules.h - the modules of code made at run time that are alive: what programs share, where their
 * functions stand in the function tables, and on which threads they are installed.
 *
 *   table of every thread:  [ the core's functions | module a | module b | free | module c ... ]
 *
 * A module's range of places is the same on all threads; a thread fills its own table when it first
 * needs the module (sn_code_is_ready). Equal bytes are one module. Bounded: beyond
 * SN_CODE_MAX_MODULES or where the host refuses, there is no code and the strip VM runs.
 * Registering and releasing happen on the thread of the API only. */
#ifndef SN_JIT_MODULES_H
#define SN_JIT_MODULES_H

#include "base/alloc.h"

#define SN_CODE_MAX_MODULES 1024

typedef struct sn_code_module {
  sn_env *env;
  uint8_t *bytes;
  size_t size;
  uint32_t hash, refs;
  uint32_t first, n_functions; /* places in the table */
  uint32_t slot, serial;       /* a slot is used again, a serial never */
} sn_code_module;

/* A module of these bytes, copied, with a reference for the caller; *out is NULL where there is no
 * room for one. */
sn_status sn_code_register(sn_env *env, const uint8_t *bytes, size_t size, uint32_t n_functions,
                           sn_code_module **out);
void sn_code_release(sn_code_module *module);

/* Whether this thread can call the module's functions; installs them if need be. */
bool sn_code_is_ready(const void *module);

typedef struct sn_code_counts {
  uint32_t live;    /* modules */
  uint32_t hits;    /* registrations that found their bytes */
  uint32_t refused; /* modules without a place, or that the host did not take */
  size_t bytes;     /* of live modules */
} sn_code_counts;
sn_code_counts sn_code_count(void);

/* ---- the host: install_*.c, memory_*.c ------------------------------------------------ */

/* Where run-time functions may begin in the table; 0: this platform has none. */
uint32_t sn_code_first_place(void);

/* Whether the memory that modules import is shared with other threads. */
bool sn_code_memory_is_shared(void);

typedef enum sn_code_answer { SN_CODE_REFUSED, SN_CODE_INSTALLED, SN_CODE_LATER } sn_code_answer;

/* Fills the module's places in this thread's table with its exports "0", "1" ... SN_CODE_LATER: it
 * is being compiled in the background, to be asked for again. */
sn_code_answer sn_code_install(const sn_code_module *module);

#endif
