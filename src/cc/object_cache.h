/* object_cache.h - compiled objects on disk, in a directory that is this user's alone.
 *
 *   <hash of the key>.so = [ the shared object | its key | sizes and a checksum ]
 *
 * A loader does not look at what stands behind an object, so one file has all. What is taken from it: a plain file of
 * this user that nobody else can write, with the very key that is asked for, and a checksum that is right. An object
 * is made in a directory of its own, and takes its place by one rename: it is there as a whole or not at all. */
#ifndef SN_CC_OBJECT_CACHE_H
#define SN_CC_OBJECT_CACHE_H

#include "cc/compiler.h"

#include <stdint.h>

/* What an object was made from: texts, one after the other. */
enum { SN_CC_KEY_PARTS = 4 };
typedef struct sn_cc_key {
  const char *part[SN_CC_KEY_PARTS];
  size_t size[SN_CC_KEY_PARTS];
} sn_cc_key;

typedef struct sn_cc_cache {
  char dir[SN_CC_PATH]; /* "": there is none */
  char reason[SN_CC_REASON];
} sn_cc_cache;

/* Finds or makes the directory; name: or NULL for the usual place. */
void sn_cc_cache_open(sn_cc_cache *cache, const char *name);

/* Where the object of this key would be; "" without a cache. */
void sn_cc_cache_path(const sn_cc_cache *cache, const sn_cc_key *key, char *out);

/* Whether the file there is an object of this key, to be loaded as it is: then it counts as used now. */
bool sn_cc_cache_holds(const char *path, const sn_cc_key *key);

/* Makes an object, which is in the work directory, one of the cache. */
bool sn_cc_cache_keep(const char *object, const char *path, const sn_cc_key *key);

/* A directory to work in, of this user alone: in the cache, named SN_CC_WORK and more, or among temporary files. */
#define SN_CC_WORK "work-"
bool sn_cc_work_begin(const sn_cc_cache *cache, char *dir, char *reason);
void sn_cc_work_end(const char *dir);

/* Writes a file that was not there. */
bool sn_cc_write(const char *path, const char *const *parts, const size_t *sizes, int n,
                 char *reason);

#endif
