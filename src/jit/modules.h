/* modules.h - the registry of live modules of code made at run time: which programs share one, where its
 * functions stand in the function tables, and on which threads it is installed.
 *
 *   table of every thread:  [ the core's functions | module a | module b | free | module c ... ]
 *
 * A module has the same range of places on all threads; a thread fills its own table when it first
 * needs the module (sn_code_is_ready). Equal bytes are one module. There are at most
 * SN_CODE_MAX_MODULES; beyond that, or if the host refuses a module, there is no code and the strip VM
 * runs. Only the thread of the API registers and releases. */
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
  uint32_t slot, serial;       /* a slot is reused after release, a serial number never */
} sn_code_module;

/* *out is a module with a copy of these bytes and a reference for the caller, or NULL if there is no
 * room for one more. */
sn_status sn_code_register(sn_env *env, const uint8_t *bytes, size_t size, uint32_t n_functions,
                           sn_code_module **out);
void sn_code_release(sn_code_module *module);

/* Whether this thread can call the module's functions. Installs them in its table first if necessary. */
bool sn_code_is_ready(const void *module);

typedef struct sn_code_counts {
  uint32_t live;    /* modules */
  uint32_t hits;    /* registrations that found a module with their bytes */
  uint32_t refused; /* modules for which there was no room, or that the host did not accept on some thread */
  size_t bytes;     /* of live modules */
} sn_code_counts;
sn_code_counts sn_code_count(void);

/* ---- the host: install_*.c, memory_*.c ------------------------------------------------ */

/* The first place in the table for functions made at run time; 0: this platform makes none. */
uint32_t sn_code_first_place(void);

/* Whether the memory that modules import is shared with other threads. */
bool sn_code_memory_is_shared(void);

typedef enum sn_code_answer { SN_CODE_REFUSED, SN_CODE_INSTALLED, SN_CODE_LATER } sn_code_answer;

/* Fills the module's places in this thread's table with its exports "0", "1" ... SN_CODE_LATER: the
 * host is still compiling it in the background; ask again. */
sn_code_answer sn_code_install(const sn_code_module *module);

#endif
