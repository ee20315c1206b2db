/* install_posix.c - native programs make no WebAssembly: the strip VM is compiled for the machine's
 * widest vectors, and cc/ makes C of groups. */
#include "jit/modules.h"

uint32_t sn_code_first_place(void) { return 0; }

bool sn_code_memory_is_shared(void) { return false; }

sn_code_answer sn_code_install(const sn_code_module *module) {
  (void)module;
  return SN_CODE_REFUSED;
}
