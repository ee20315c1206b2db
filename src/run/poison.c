#include "run/poison.h"

#include <string.h>

void sn_poison(void *block, size_t bytes) {
  const uint32_t word = SN_POISON_WORD;
  char *at = block;
  if (!bytes) return; /* block may be NULL then */
  for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word)
    memcpy(at, &word, sizeof word);
  memcpy(at, &word, bytes);
}
