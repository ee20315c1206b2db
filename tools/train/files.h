/* files.h - whole files: read as memory, and written so that there is the old one or the new one, never a mix. */
#ifndef TRAIN_FILES_H
#define TRAIN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct file_view {
  const uint8_t *bytes;
  size_t size;
} file_view;

/* A file as it lies on disk, to be read only. False: it cannot be read; errno says why. */
bool file_map(const char *path, file_view *out);
void file_unmap(file_view view);

/* Whether there is something at path that is neither a file nor a folder: a pipe, a terminal, /dev/null. */
bool file_is_device(const char *path);

/* Writes the pieces into a file beside path, waits until they are on the disk, and gives that its name. A device is written
 * in its place. */
void file_replace(const char *path, const file_view *pieces, size_t count);

/* xxHash32 (Y. Collet, https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md). */
uint32_t checksum(const void *bytes, size_t size, uint32_t seed);

#endif
