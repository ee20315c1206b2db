/* storage.h - reference-counted memory of tensor values, with a cache of freed blocks.
 *
 * A training step frees and asks for the same sizes again and again; handing back a warm block of
 * exactly the asked size spares page faults, zeroing and heap searches. The cache is bounded and is
 * emptied before any allocation of the context is allowed to fail. */
#ifndef SN_TENSOR_STORAGE_H
#define SN_TENSOR_STORAGE_H

#include "backend/backend.h"

typedef struct sn_storage sn_storage;
struct sn_storage {
  void *data; /* on its pool's device */
  size_t bytes;
  uint64_t version;  /* of its contents: another one for each, in all of a pool's memory */
  uint32_t refs;     /* tensors and programs that hold it */
  uint32_t job_refs; /* runs under way that read or write it */
  bool failed;       /* the run that was to write it was lost */
  sn_storage *next;  /* in the cache */
};

typedef struct sn_storage_pool {
  sn_device *device;
  sn_storage *cached; /* newest first */
  size_t cached_bytes, live_bytes;
  uint64_t versions; /* so many there were */
} sn_storage_pool;

/* A block with one reference; its contents are undefined. */
sn_status sn_storage_new(sn_storage_pool *pool, size_t bytes, sn_storage **out);

/* Where the host finds the contents; NULL: it cannot look there. */
void *sn_storage_map(const sn_storage_pool *pool, const sn_storage *storage);

void sn_storage_retain(sn_storage *storage);
void sn_storage_release(sn_storage_pool *pool, sn_storage *storage);
void sn_storage_job_begin(sn_storage *storage);
void sn_storage_job_end(sn_storage_pool *pool, sn_storage *storage);

/* Gives all cached blocks back to the heap; false when there were none. */
bool sn_storage_trim(sn_storage_pool *pool);

#endif
