/* memory_single.c - the module with one thread. */
#include "jit/modules.h"

bool sn_code_memory_is_shared(void) { return false; }
