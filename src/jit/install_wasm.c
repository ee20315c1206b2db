/* install_wasm.c - the host compiles the bytes and puts the functions into the instance's table. */
#include "jit/modules.h"

__attribute__((import_module("host"), import_name("code_first"))) uint32_t host_code_first(void);
__attribute__((import_module("host"), import_name("code_install"))) int
host_code_install(const uint8_t *bytes, size_t size, uint32_t first, uint32_t n, uint32_t serial);

uint32_t sn_code_first_place(void) { return host_code_first(); }

sn_code_answer sn_code_install(const sn_code_module *m) {
  return (sn_code_answer)host_code_install(m->bytes, m->size, m->first, m->n_functions, m->serial);
}
