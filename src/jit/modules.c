#include "jit/modules.h"

#include <string.h>

/* Live modules, sorted by their first place in the table. */
static sn_code_module *live[SN_CODE_MAX_MODULES];
static uint32_t n_live;
static sn_code_module *in_slot[SN_CODE_MAX_MODULES];
static uint32_t last_serial;
static sn_code_counts counts;
static _Atomic uint32_t refused; /* workers count here, too (sn_code_is_ready) */

static uint32_t hash_bytes(const uint8_t *bytes, size_t n) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < n; i++) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}

static sn_code_module *find_equal(const sn_env *env, const uint8_t *bytes, size_t size,
                                  uint32_t hash) {
  for (uint32_t i = 0; i < n_live; i++) {
    sn_code_module *m = live[i];
    if (m->env == env && m->hash == hash && m->size == size && !memcmp(m->bytes, bytes, size))
      return m;
  }
  return NULL;
}

/* Returns the first place of the lowest gap of n places. *at is the index in `live` for a module that is put there. */
static uint32_t find_places(uint32_t n, uint32_t *at) {
  uint32_t place = sn_code_first_place();
  for (*at = 0; *at < n_live && live[*at]->first - place < n; ++*at)
    place = live[*at]->first + live[*at]->n_functions;
  return place;
}

static uint32_t free_slot(void) {
  uint32_t slot = 0;
  while (in_slot[slot]) slot++;
  return slot;
}

sn_status sn_code_register(sn_env *env, const uint8_t *bytes, size_t size, uint32_t n_functions,
                           sn_code_module **out) {
  *out = NULL;
  const uint32_t hash = hash_bytes(bytes, size);
  sn_code_module *m = find_equal(env, bytes, size, hash);
  if (m) {
    m->refs++;
    counts.hits++;
    *out = m;
    return SN_OK;
  }
  if (!sn_code_first_place() || n_live == SN_CODE_MAX_MODULES) {
    refused++;
    return SN_OK;
  }
  uint8_t *copy;
  SN_TRY(sn_alloc(env, size, (void **)&copy));
  const sn_status status = sn_alloc_zeroed(env, 1, sizeof *m, (void **)&m);
  if (status) {
    sn_free(env, copy, size);
    return status;
  }
  memcpy(copy, bytes, size);
  uint32_t at;
  *m = (sn_code_module){.env = env,
                        .bytes = copy,
                        .size = size,
                        .hash = hash,
                        .refs = 1,
                        .first = find_places(n_functions, &at),
                        .n_functions = n_functions,
                        .slot = free_slot(),
                        .serial = ++last_serial};
  memmove(live + at + 1, live + at, (n_live - at) * sizeof *live);
  live[at] = m;
  n_live++;
  in_slot[m->slot] = m;
  counts.bytes += size;
  *out = m;
  return SN_OK;
}

void sn_code_release(sn_code_module *m) {
  if (!m || --m->refs) return;
  uint32_t at = 0;
  while (live[at] != m) at++;
  memmove(live + at, live + at + 1, (n_live - at - 1) * sizeof *live);
  n_live--;
  in_slot[m->slot] = NULL;
  counts.bytes -= m->size;
  sn_env *env = m->env;
  sn_free(env, m->bytes, m->size);
  sn_free(env, m, sizeof *m);
}

sn_code_counts sn_code_count(void) {
  counts.live = n_live;
  counts.refused = refused;
  return counts;
}

/* Per slot: the serial of the module that this thread has installed, or the complement of the serial
 * if the host refused it. The places of a released module stay filled until a later module overwrites them. */
static _Thread_local uint32_t installed[SN_CODE_MAX_MODULES];

bool sn_code_is_ready(const void *module) {
  const sn_code_module *m = module;
  uint32_t *here = &installed[m->slot];
  if (*here == m->serial) return true;
  if (*here == ~m->serial) return false;
  const sn_code_answer answer = sn_code_install(m);
  if (answer == SN_CODE_LATER) return false;
  *here = answer == SN_CODE_INSTALLED ? m->serial : ~m->serial;
  if (answer == SN_CODE_REFUSED) refused++;
  return answer == SN_CODE_INSTALLED;
}
