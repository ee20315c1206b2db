#include "tensor/storage.h"

#include "run/poison.h"

/* Smaller blocks are not cached: the heap is quick with them. */
#define SMALLEST_CACHED 1024
#define CACHE_LIMIT_BYTES ((size_t)256 << 20)

static sn_storage *take_cached(sn_storage_pool *pool, size_t bytes) {
  for (sn_storage **at = &pool->cached; *at; at = &(*at)->next) {
    sn_storage *found = *at;
    if (found->bytes != bytes) continue;
    *at = found->next;
    pool->cached_bytes -= bytes;
    return found;
  }
  return NULL;
}

static sn_status allocate(sn_storage_pool *pool, size_t bytes, sn_storage **out) {
  sn_storage *storage;
  sn_device *device = pool->device;
  SN_TRY(sn_alloc_zeroed(device->env, 1, sizeof *storage, (void **)&storage));
  const sn_status status = device->backend->allocate(device, bytes, &storage->data);
  if (status) {
    sn_free(device->env, storage, sizeof *storage);
    return status;
  }
  storage->bytes = bytes;
  *out = storage;
  return SN_OK;
}

sn_status sn_storage_new(sn_storage_pool *pool, size_t bytes, sn_storage **out) {
  sn_storage *storage = bytes >= SMALLEST_CACHED ? take_cached(pool, bytes) : NULL;
  if (!storage) SN_TRY(allocate(pool, bytes, &storage));
  void *contents = sn_storage_map(pool, storage);
  if (pool->device->env->poison && contents) sn_poison(contents, bytes);
  storage->version = ++pool->versions;
  storage->refs = 1;
  storage->job_refs = 0;
  storage->failed = false;
  storage->next = NULL;
  pool->live_bytes += bytes;
  *out = storage;
  return SN_OK;
}

static void destroy(sn_storage_pool *pool, sn_storage *storage) {
  sn_device *device = pool->device;
  device->backend->deallocate(device, storage->data, storage->bytes);
  sn_free(device->env, storage, sizeof *storage);
}

static void retire(sn_storage_pool *pool, sn_storage *storage) {
  if (storage->refs || storage->job_refs) return;
  pool->live_bytes -= storage->bytes;
  if (storage->bytes < SMALLEST_CACHED || pool->cached_bytes + storage->bytes > CACHE_LIMIT_BYTES) {
    destroy(pool, storage);
    return;
  }
  storage->next = pool->cached;
  pool->cached = storage;
  pool->cached_bytes += storage->bytes;
}

void *sn_storage_map(const sn_storage_pool *pool, const sn_storage *storage) {
  return pool->device->backend->map(pool->device, storage->data);
}

void sn_storage_retain(sn_storage *storage) { storage->refs++; }

void sn_storage_release(sn_storage_pool *pool, sn_storage *storage) {
  if (!storage) return;
  storage->refs--;
  retire(pool, storage);
}

void sn_storage_job_begin(sn_storage *storage) { storage->job_refs++; }

void sn_storage_job_end(sn_storage_pool *pool, sn_storage *storage) {
  storage->job_refs--;
  retire(pool, storage);
}

bool sn_storage_trim(sn_storage_pool *pool) {
  const bool any = pool->cached != NULL;
  while (pool->cached) {
    sn_storage *next = pool->cached->next;
    destroy(pool, pool->cached);
    pool->cached = next;
  }
  pool->cached_bytes = 0;
  return any;
}
