/* memory_shared.c - the module with threads. */
#include "jit/modules.h"

bool sn_code_memory_is_shared(void) { return true; }
