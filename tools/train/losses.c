#include "losses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "stop.h"

static const char head[] = "step,loss\n";

_Noreturn static void fail(const losses *l) {
  stop(EXIT_OUTPUT, "cannot write %s: %s", l->path, strerror(errno));
}

/* Where the rows of later steps begin, or a last one that is not whole. */
static long end_of_rows(FILE *file, uint64_t steps) {
  char line[128];
  if (!fgets(line, sizeof line, file)) return 0;
  if (strcmp(line, head)) return -1;
  long end = ftell(file);
  while (fgets(line, sizeof line, file)) {
    char *behind;
    const uint64_t step = strtoull(line, &behind, 10);
    if (behind == line || *behind != ',' || !strchr(line, '\n') || step > steps) break;
    end = ftell(file);
  }
  return end;
}

losses losses_open(const char *path, uint64_t steps) {
  losses l = {.path = path};
  if (!path) return l;
  const bool reads = steps && !file_is_device(path);
  l.file = fopen(path, reads ? "r+" : "w");
  if (!l.file && reads && errno == ENOENT) l.file = fopen(path, "w+");
  if (!l.file) fail(&l);
  const long end = reads ? end_of_rows(l.file, steps) : 0;
  if (end < 0) stop(EXIT_INPUT, "%s is no list of losses", path);
  if (reads && (fseek(l.file, end, SEEK_SET) || ftruncate(fileno(l.file), end))) fail(&l);
  if (!end && fputs(head, l.file) < 0) fail(&l);
  return l;
}

void losses_add(losses *l, uint64_t step, double loss) {
  if (l->file && fprintf(l->file, "%" PRIu64 ",%.9g\n", step, loss) < 0) fail(l);
}

void losses_sync(losses *l) {
  if (l->file && (fflush(l->file) || (fsync(fileno(l->file)) && errno != EINVAL))) fail(l);
}
