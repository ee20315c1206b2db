/* storage.h - reference-counted memory of tensor values, with a cache of freed blocks.
 *
 * A training step frees and allocates the same sizes again and again; reusing a warm block of exactly the
 * requested size saves page faults, zeroing and heap searches. The cache is bounded, and is emptied
 * before any allocation of the context is allowed to fail. */
#ifndef SN_TENSOR_STORAGE_H
#define SN_TENSOR_STORAGE_H

#include "backend/backend.h"

typedef struct sn_storage sn_storage;
struct sn_storage {
  void *data; /* memory of the pool's device */
  size_t bytes;
  uint64_t version;  /* number of its contents, unique within the pool */
  uint32_t refs;     /* tensors and programs that hold it */
  uint32_t job_refs; /* runs under way that read or write it */
  bool failed;       /* a lost run was to write it, so its contents are invalid */
  sn_storage *next;  /* while it is in the cache */
};

typedef struct sn_storage_pool {
  sn_device *device;
  sn_storage *cached; /* newest first */
  size_t cached_bytes, live_bytes;
  uint64_t versions; /* the last version given */
} sn_storage_pool;

/* A block with one reference; its contents are undefined. */
sn_status sn_storage_new(sn_storage_pool *pool, size_t bytes, sn_storage **out);

/* The address of the contents for the host; NULL if it cannot read the device's memory. */
void *sn_storage_map(const sn_storage_pool *pool, const sn_storage *storage);

void sn_storage_retain(sn_storage *storage);
void sn_storage_release(sn_storage_pool *pool, sn_storage *storage);
void sn_storage_job_begin(sn_storage *storage);
void sn_storage_job_end(sn_storage_pool *pool, sn_storage *storage);

/* Frees all cached blocks. Returns false if there were none. */
bool sn_storage_trim(sn_storage_pool *pool);

#endif
