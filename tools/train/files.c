#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stop.h"

bool file_map(const char *path, file_view *out) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is told of */
  struct stat info;
  if (file < 0) return false;
  bool done = !fstat(file, &info);
  if (done && !S_ISREG(info.st_mode)) {
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    done = false;
  }
  *out = (file_view){.bytes = (const uint8_t *)"", .size = 0};
  if (done && info.st_size > 0) {
    void *at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    done = at != MAP_FAILED;
    if (done) *out = (file_view){at, (size_t)info.st_size};
  }
  const int why = errno;
  close(file);
  errno = why;
  return done;
}

void file_unmap(file_view view) {
  if (view.size) munmap((void *)(uintptr_t)view.bytes, view.size);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_all(int file, file_view piece) {
  while (piece.size) {
    const ssize_t done = write(file, piece.bytes, piece.size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    piece.bytes += done;
    piece.size -= (size_t)done;
  }
  return true;
}

/* A new name lasts only when its folder has reached the disk. */
static bool sync_folder(const char *path) {
  char *copy = strdup(path);
  if (!copy) return false;
  const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(copy);
  if (folder < 0) return false;
  const bool done = !fsync(folder) || errno == EINVAL; /* some file systems cannot */
  close(folder);
  return done;
}

bool file_is_device(const char *path) {
  struct stat info;
  return !stat(path, &info) && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* A device keeps its name: a file in its place would be /dev/null for all. */
static void file_write(const char *path, const file_view *pieces, size_t count) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  bool done = file >= 0;
  for (size_t i = 0; done && i < count; i++) done = write_all(file, pieces[i]);
  if (file >= 0) done = !close(file) && done;
  if (!done) stop(EXIT_OUTPUT, "cannot write %s: %s", path, strerror(errno));
}

void file_replace(const char *path, const file_view *pieces, size_t count) {
  if (file_is_device(path)) {
    file_write(path, pieces, count);
    return;
  }
  char *beside = allocate(strlen(path) + sizeof ".tmp", 1);
  strcat(strcpy(beside, path), ".tmp");
  const int file = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool done = file >= 0;
  for (size_t i = 0; done && i < count; i++) done = write_all(file, pieces[i]);
  done = done && !fsync(file);
  if (file >= 0) done = !close(file) && done;
  done = done && !rename(beside, path) && sync_folder(path);
  if (!done) {
    const int why = errno;
    if (file >= 0) unlink(beside);
    stop(EXIT_OUTPUT, "cannot write %s: %s", path, strerror(why));
  }
  free(beside);
}

/* ---- checksum -------------------------------------------------------------------------------- */

#define P1 0x9e3779b1u
#define P2 0x85ebca77u
#define P3 0xc2b2ae3du
#define P4 0x27d4eb2fu
#define P5 0x165667b1u

static uint32_t rotated(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

static uint32_t word_at(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t checksum(const void *bytes, size_t size, uint32_t seed) {
  const uint8_t *at = bytes, *end = at + size;
  uint32_t hash = seed + P5;
  if (size >= 16) {
    uint32_t lane[4] = {seed + P1 + P2, seed + P2, seed, seed - P1};
    for (; end - at >= 16; at += 16)
      for (int i = 0; i < 4; i++) lane[i] = rotated(lane[i] + word_at(at + 4 * i) * P2, 13) * P1;
    hash = rotated(lane[0], 1) + rotated(lane[1], 7) + rotated(lane[2], 12) + rotated(lane[3], 18);
  }
  hash += (uint32_t)size;
  for (; end - at >= 4; at += 4) hash = rotated(hash + word_at(at) * P3, 17) * P4;
  for (; at < end; at++) hash = rotated(hash + *at * P5, 11) * P1;
  hash = (hash ^ hash >> 15) * P2;
  hash = (hash ^ hash >> 13) * P3;
  return hash ^ hash >> 16;
}
