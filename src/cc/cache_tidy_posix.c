#define _GNU_SOURCE 1

#include "cc/cache_tidy.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"

/* One walk over the directory finds the AT_ONCE oldest objects; to remove more, it is walked again. LEAST_AGE: seconds. */
enum { AT_ONCE = 64, OBJECT_NAME = 35, LEAST_AGE = 3600 };

typedef struct object {
  char name[OBJECT_NAME + 1];
  struct timespec used;
  uint64_t bytes;
} object;

/* The least recently used objects, oldest first. */
typedef struct oldest {
  object objects[AT_ONCE];
  size_t n;
} oldest;

static bool is_object(const char *name) {
  return strlen(name) == OBJECT_NAME && strspn(name, "0123456789abcdef") == OBJECT_NAME - 3 &&
         !strcmp(name + OBJECT_NAME - 3, ".so");
}

static bool is_before(const struct timespec *a, const struct timespec *b) {
  return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void put_in(oldest *all, const object *o) {
  size_t at = all->n;
  if (at == AT_ONCE && !is_before(&o->used, &all->objects[--at].used)) return;
  for (; at && is_before(&o->used, &all->objects[at - 1].used); at--)
    all->objects[at] = all->objects[at - 1];
  all->objects[at] = *o;
  if (all->n < AT_ONCE) all->n++;
}

/* Finds the oldest objects. Returns the bytes of all objects. */
static uint64_t walk(DIR *dir, oldest *all) {
  uint64_t sum = 0;
  *all = (oldest){0};
  rewinddir(dir);
  for (const struct dirent *e; (e = readdir(dir));) {
    struct stat about;
    object o = {0};
    if (!is_object(e->d_name) || fstatat(dirfd(dir), e->d_name, &about, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(about.st_mode))
      continue;
    memcpy(o.name, e->d_name, OBJECT_NAME);
    o.used = about.st_mtim;
    o.bytes = (uint64_t)about.st_size;
    sum += o.bytes;
    put_in(all, &o);
  }
  return sum;
}

void sn_cc_cache_shrink(const sn_cc_cache *cache, uint64_t limit) {
  DIR *dir = *cache->dir ? opendir(cache->dir) : NULL;
  if (!dir) return;
  oldest all;
  uint64_t sum = walk(dir, &all);
  const uint64_t wanted = sum > limit ? limit / 4 * 3 : sum;
  while (sum > wanted && all.n) {
    bool removed = false;
    for (size_t i = 0; i < all.n && sum > wanted; i++) {
      if (unlinkat(dirfd(dir), all.objects[i].name, 0)) continue;
      removed = true;
      sum -= all.objects[i].bytes;
    }
    if (!removed) break;
    if (sum > wanted) sum = walk(dir, &all);
  }
  closedir(dir);
}

void sn_cc_cache_sweep(const sn_cc_cache *cache, int seconds) {
  DIR *dir = *cache->dir ? opendir(cache->dir) : NULL;
  const time_t age = 2 * seconds > LEAST_AGE ? 2 * seconds : LEAST_AGE;
  for (const struct dirent *e; dir && (e = readdir(dir));) {
    struct stat about;
    char path[SN_CC_PATH];
    if (strncmp(e->d_name, SN_CC_WORK, strlen(SN_CC_WORK)) != 0 ||
        fstatat(dirfd(dir), e->d_name, &about, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(about.st_mode) ||
        about.st_uid != geteuid() || about.st_mtime > time(NULL) - age)
      continue;
    if (sn_format(path, sizeof path, "%s/%s", cache->dir, e->d_name) < sizeof path)
      sn_cc_work_end(path);
  }
  if (dir) closedir(dir);
}
