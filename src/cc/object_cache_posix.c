#define _GNU_SOURCE 1

#include "cc/object_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"

#define MAGIC UINT64_C(0x31636372746e6973)

typedef struct trailer {
  uint64_t object_bytes, key_bytes, checksum, magic;
} trailer;

static uint64_t hash(uint64_t h, const void *bytes, size_t n) {
  const uint8_t *at = bytes;
  for (size_t i = 0; i < n; i++) h = (h ^ at[i]) * UINT64_C(1099511628211);
  return h;
}

static size_t key_bytes(const sn_cc_key *key) {
  size_t n = 0;
  for (int i = 0; i < SN_CC_KEY_PARTS; i++) n += key->size[i];
  return n;
}

/* ---- the directory --------------------------------------------------------------------------- */

static bool refuse(sn_cc_cache *cache, const char *why) {
  sn_format(cache->reason, sizeof cache->reason, "no cache: %s: %s", cache->dir, why);
  cache->dir[0] = '\0';
  return false;
}

/* Makes the directory and those above it that are missing. */
static bool make_dirs(char *path) {
  for (char *at = path + 1; *at; at++) {
    if (*at != '/') continue;
    *at = '\0';
    mkdir(path, 0700);
    *at = '/';
  }
  return !mkdir(path, 0700) || errno == EEXIST;
}

static bool place(sn_cc_cache *cache, const char *name) {
  const char *home = secure_getenv("HOME"), *caches = secure_getenv("XDG_CACHE_HOME");
  size_t n = 0;
  if (name && *name == '/')
    n = sn_format(cache->dir, sizeof cache->dir, "%s", name);
  else if (caches && *caches == '/')
    n = sn_format(cache->dir, sizeof cache->dir, "%s/sinter", caches);
  else if (home && *home == '/')
    n = sn_format(cache->dir, sizeof cache->dir, "%s/.cache/sinter", home);
  if (!n) return refuse(cache, "there is no place for it");
  return n < sizeof cache->dir - 64 || refuse(cache, "its name is too long");
}

void sn_cc_cache_open(sn_cc_cache *cache, const char *name) {
  struct stat about;
  *cache = (sn_cc_cache){0};
  if (!place(cache, name)) return;
  if (!make_dirs(cache->dir) || lstat(cache->dir, &about))
    refuse(cache, strerror(errno));
  else if (!S_ISDIR(about.st_mode))
    refuse(cache, "it is no directory");
  else if (about.st_uid != geteuid() || about.st_mode & 077)
    refuse(cache, "others can read or write it");
}

void sn_cc_cache_path(const sn_cc_cache *cache, const sn_cc_key *key, char *out) {
  uint64_t a = UINT64_C(14695981039346656037), b = UINT64_C(0x9e3779b97f4a7c15);
  out[0] = '\0';
  if (!*cache->dir) return;
  for (int i = 0; i < SN_CC_KEY_PARTS; i++) {
    a = hash(a, key->part[i], key->size[i]);
    b = hash(b ^ a, key->part[i], key->size[i]);
  }
  sn_format(out, SN_CC_PATH, "%s/%08x%08x%08x%08x.so", cache->dir, (unsigned)(a >> 32), (unsigned)a,
            (unsigned)(b >> 32), (unsigned)b);
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool has_key(const char *at, const sn_cc_key *key) {
  for (int i = 0; i < SN_CC_KEY_PARTS; at += key->size[i++])
    if (memcmp(at, key->part[i], key->size[i]) != 0) return false;
  return true;
}

static bool is_whole(const char *bytes, size_t n, const sn_cc_key *key) {
  trailer end;
  if (n < sizeof end) return false;
  memcpy(&end, bytes + n - sizeof end, sizeof end);
  const size_t body = n - sizeof end;
  if (end.magic != MAGIC || end.object_bytes > body || end.key_bytes != body - end.object_bytes)
    return false;
  return end.key_bytes == key_bytes(key) && end.checksum == hash(MAGIC, bytes, body) &&
         has_key(bytes + end.object_bytes, key);
}

bool sn_cc_cache_holds(const char *path, const sn_cc_key *key) {
  struct stat about;
  bool holds = false;
  const int file = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
  if (file < 0) return false;
  if (!fstat(file, &about) && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
      !(about.st_mode & 022) && about.st_size > 0) {
    const size_t n = (size_t)about.st_size;
    const char *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      holds = is_whole(bytes, n, key);
      munmap((void *)(uintptr_t)bytes, n);
    }
  }
  if (holds) futimens(file, NULL); /* it may fail: a cache that cannot be written to is not tidied either */
  close(file);
  return holds;
}

static bool write_all(int file, const char *bytes, size_t n) {
  while (n) {
    const ssize_t written = write(file, bytes, n);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    n -= (size_t)written;
  }
  return true;
}

bool sn_cc_write(const char *path, const char *const *parts, const size_t *sizes, int n,
                 char *reason) {
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool done = file >= 0;
  for (int i = 0; done && i < n; i++) done = write_all(file, parts[i], sizes[i]);
  if (!done) sn_format(reason, SN_CC_REASON, "%s: %s", path, strerror(errno));
  if (file >= 0) close(file);
  return done;
}

/* Writes the key and the trailer behind the object. */
static bool add_key(int file, const char *bytes, size_t n, const sn_cc_key *key) {
  trailer end = {.object_bytes = n,
                 .key_bytes = key_bytes(key),
                 .checksum = hash(MAGIC, bytes, n),
                 .magic = MAGIC};
  for (int i = 0; i < SN_CC_KEY_PARTS; i++)
    end.checksum = hash(end.checksum, key->part[i], key->size[i]);
  if (lseek(file, 0, SEEK_END) < 0) return false;
  for (int i = 0; i < SN_CC_KEY_PARTS; i++)
    if (!write_all(file, key->part[i], key->size[i])) return false;
  return write_all(file, (const char *)&end, sizeof end);
}

bool sn_cc_cache_keep(const char *object, const char *path, const sn_cc_key *key) {
  struct stat about;
  bool done = false;
  const int file = *path ? open(object, O_RDWR | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (file < 0) return false;
  if (!fstat(file, &about) && about.st_size > 0 && !fchmod(file, 0600)) {
    const size_t n = (size_t)about.st_size;
    const char *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      done = add_key(file, bytes, n, key);
      munmap((void *)(uintptr_t)bytes, n);
    }
  }
  done = !close(file) && done;
  return done && !rename(object, path);
}

/* ---- work ------------------------------------------------------------------------------------ */

bool sn_cc_work_begin(const sn_cc_cache *cache, char *dir, char *reason) {
  const char *temporary = secure_getenv("TMPDIR");
  if (!temporary || *temporary != '/' || strlen(temporary) > SN_CC_PATH - 64) temporary = "/tmp";
  if (*cache->dir) {
    sn_format(dir, SN_CC_PATH, "%s/" SN_CC_WORK "XXXXXX", cache->dir);
    if (mkdtemp(dir)) return true;
  }
  sn_format(dir, SN_CC_PATH, "%s/sinter-XXXXXX", temporary);
  if (mkdtemp(dir)) return true;
  sn_format(reason, SN_CC_REASON, "%s: %s", temporary, strerror(errno));
  return false;
}

void sn_cc_work_end(const char *dir) {
  DIR *open_dir = opendir(dir);
  for (const struct dirent *entry; open_dir && (entry = readdir(open_dir));)
    if (entry->d_name[0] != '.') unlinkat(dirfd(open_dir), entry->d_name, 0);
  if (open_dir) closedir(open_dir);
  rmdir(dir);
}
