#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "safetensors.h"
#include "stop.h"

/* Of js/src/io/copying.ts: checksums come first, their places are known. */
#define FIRST "{\"__metadata__\":{\"checksum\":\""
#define SECOND "\",\"data\":\""
#define THIRD "\",\"generation\":\""
#define FOURTH "\",\"format\":\"sinter state 1\",\"run\":\""
enum {
  BLOCK = 1 << 20, /* whose checksum goes into that of the next */
  HEAD_AT = 8 + sizeof FIRST - 1,
  DATA_AT = HEAD_AT + 8 + sizeof SECOND - 1,
  GENERATION_AT = DATA_AT + 8 + sizeof THIRD - 1,
  RUN_AT = GENERATION_AT + 12 + sizeof FOURTH - 1
};

/* ---- the form of a file ---------------------------------------------------------------------- */

/* As JavaScript writes a number. */
static void write_number(FILE *out, double x) {
  if (isfinite(x))
    fprintf(out, "%.17g", x);
  else
    fputs(isnan(x) ? "NaN" : x < 0 ? "-Infinity" : "Infinity", out);
}

#define STATIC_NUMBER "{\"kind\":\"static\",\"value\":[\"number\",\""

/* The tree of { place, state }: numbers, and the tensors by their paths. */
static void write_tree(FILE *out, const sn_step_info *info, const place *at) {
  fputs("{\"kind\":\"object\",\"keys\":[\"place\",\"state\"],\"items\":[{\"kind\":\"object\","
        "\"keys\":"
        "[\"best\",\"index\",\"lossSum\",\"pass\",\"steps\",\"waited\"],\"items\":[",
        out);
  fprintf(out, STATIC_NUMBER "Infinity\"]}," STATIC_NUMBER "%" PRIu64 "\"]}," STATIC_NUMBER,
          at->index);
  write_number(out, at->loss_sum);
  fprintf(out,
          "\"]}," STATIC_NUMBER "%" PRIu64 "\"]}," STATIC_NUMBER "%" PRIu64 "\"]}," STATIC_NUMBER
          "0\"]}]},",
          at->pass, at->steps);
  fputs("{\"kind\":\"object\",\"keys\":[", out);
  for (size_t i = 0; i < info->n_state; i++) {
    if (i) fputc(',', out);
    write_json(out, info->inputs[i].path);
  }
  fputs("],\"items\":[", out);
  for (size_t i = 0; i < info->n_state; i++) fprintf(out, "%s{\"kind\":\"tensor\"}", i ? "," : "");
  fputs("]}]}", out);
}

static char *metadata_of(const checkpoints *c, const place *at) {
  char *tree = NULL, *text = NULL;
  size_t size;
  FILE *out = open_memstream(&tree, &size);
  if (!out) stop(EXIT_TRAINING, "out of memory");
  write_tree(out, c->info, at);
  if (fclose(out)) stop(EXIT_TRAINING, "out of memory");
  out = open_memstream(&text, &size);
  if (!out) stop(EXIT_TRAINING, "out of memory");
  fprintf(out,
          "{\"checksum\":\"00000000" SECOND "00000000" THIRD "%012" PRIu64 FOURTH "%s\",\"tree\":",
          c->generation, c->run);
  write_json(out, tree);
  fputc('}', out);
  if (fclose(out)) stop(EXIT_TRAINING, "out of memory");
  free(tree);
  return text;
}

/* The tensors of a state in the order of their elements, called state.<path>; data: NULL, or of each. */
static stored *list_state(const sn_step_info *info, sn_tensor *const *state) {
  stored *list = allocate(info->n_state, sizeof *list);
  for (size_t i = 0; i < info->n_state; i++) {
    const sn_step_input *input = &info->inputs[i];
    char *name = allocate(strlen(input->path) + sizeof "state.", 1);
    strcat(strcpy(name, "state."), input->path);
    size_t bytes = sn_dtype_bytes(input->dtype);
    for (int k = 0; k < input->rank; k++) bytes *= (size_t)input->dims[k];
    const void *data = state ? sn_data(state[i]) : NULL;
    list[i] = (stored){name, input->dtype, input->rank, input->dims, {data, bytes}, i};
  }
  safetensors_sort(list, info->n_state);
  return list;
}

static void free_list(stored *list, size_t count) {
  for (size_t i = 0; i < count; i++) free((char *)(uintptr_t)list[i].name);
  free(list);
}

static void put_digits(uint8_t *at, uint32_t hash) {
  char digits[9];
  snprintf(digits, sizeof digits, "%08x", hash);
  memcpy(at, digits, 8);
}

/* Goes on with the checksum of all elements by those of a tensor: by blocks of the whole, wherever tensors end. */
typedef struct running {
  uint8_t *block;
  size_t used;
  uint32_t hash;
} running;

static void add(running *r, file_view data) {
  while (data.size) {
    const size_t n = data.size < BLOCK - r->used ? data.size : BLOCK - r->used;
    memcpy(r->block + r->used, data.bytes, n);
    data.bytes += n;
    data.size -= n;
    r->used += n;
    if (r->used < BLOCK) continue;
    r->hash = checksum(r->block, BLOCK, r->hash);
    r->used = 0;
  }
}

static uint32_t hash_pieces(const file_view *pieces, size_t count) {
  running r = {.block = allocate(BLOCK, 1)};
  for (size_t i = 0; i < count; i++) add(&r, pieces[i]);
  if (r.used) r.hash = checksum(r.block, r.used, r.hash);
  free(r.block);
  return r.hash;
}

static void seal(uint8_t *head, size_t size, uint32_t of_data) {
  put_digits(head + DATA_AT, of_data);
  memset(head + HEAD_AT, '0', 8);
  put_digits(head + HEAD_AT, checksum(head, size, 0));
}

/* ---- the folder ------------------------------------------------------------------------------ */

static char *path_of(const checkpoints *c, int slot) {
  const size_t size = strlen(c->folder) + 40;
  char *path = allocate(size, 1);
  snprintf(path, size, "%s/checkpoint-%d.safetensors", c->folder, slot);
  return path;
}

checkpoints checkpoints_open(const char *folder, const char *run, const sn_step_info *info) {
  if (mkdir(folder, 0777) && errno != EEXIST)
    stop(EXIT_OUTPUT, "cannot make %s: %s", folder, strerror(errno));
  const int lock =
      open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* held to the end of the process */
  if (lock < 0) stop(EXIT_OUTPUT, "cannot open %s: %s", folder, strerror(errno));
  if (flock(lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    stop(EXIT_CHECKPOINT, "%s: another process trains there", folder);
  return (checkpoints){.folder = folder, .run = run, .info = info, .slot = 1};
}

bool checkpoints_exist(const checkpoints *c) {
  bool any = false;
  for (int slot = 0; slot < 2; slot++) {
    char *path = path_of(c, slot);
    any = any || !access(path, F_OK);
    free(path);
  }
  return any;
}

/* ---- writing --------------------------------------------------------------------------------- */

void checkpoints_write(checkpoints *c, sn_tensor *const *state, const place *at) {
  const size_t n = c->info->n_state;
  c->generation++;
  c->slot = 1 - c->slot;
  char *metadata = metadata_of(c, at), *path = path_of(c, c->slot);
  stored *list = list_state(c->info, state);
  file_view head = safetensors_head(list, n, metadata), *data = allocate(n, sizeof *data);
  for (size_t i = 0; i < n; i++) data[i] = list[i].data;
  seal((uint8_t *)(uintptr_t)head.bytes, head.size, hash_pieces(data, n));
  safetensors_write(path, head, list, n);
  free((void *)(uintptr_t)head.bytes);
  free(data);
  free(path);
  free(metadata);
  free_list(list, n);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct candidate {
  file_view file;
  size_t head_bytes;
  uint64_t generation;
  place at;
  const char *wrong; /* NULL: it is whole */
  char run[160];
} candidate;

/* The numbers that stand in the tree, from the first on: index, lossSum, pass, steps. Whatever they are read as, the
 * header is compared with the one that has them. */
static bool read_numbers(const candidate *found, place *at) {
  char *text = allocate(found->head_bytes + 1, 1), *numbers[6] = {0}, *from = text;
  memcpy(text, found->file.bytes, found->head_bytes);
  for (size_t i = 0; i < 8; i++) text[i] = ' '; /* the length may have a NUL */
  static const char before[] = "\\\"number\\\",\\\"";
  for (int i = 0; i < 6 && from; i++) {
    from = strstr(from, before);
    if (from) numbers[i] = from += sizeof before - 1;
  }
  if (from)
    *at = (place){.index = strtoull(numbers[1], NULL, 10),
                  .loss_sum = strtod(numbers[2], NULL),
                  .pass = strtoull(numbers[3], NULL, 10),
                  .steps = strtoull(numbers[4], NULL, 10)};
  free(text);
  return from != NULL;
}

static bool is_intact(const candidate *found) {
  const size_t size = found->head_bytes;
  uint8_t *head = allocate(size, 1);
  memcpy(head, found->file.bytes, size);
  const file_view data = {found->file.bytes + size, found->file.size - size};
  seal(head, size, hash_pieces(&data, 1));
  const bool same = !memcmp(head, found->file.bytes, size);
  free(head);
  return same;
}

/* Whether the header is the one that this program writes of these numbers. */
static bool is_own(const checkpoints *c, const candidate *found) {
  checkpoints like = *c;
  like.generation = found->generation;
  char *metadata = metadata_of(&like, &found->at);
  stored *list = list_state(c->info, NULL);
  file_view head = safetensors_head(list, c->info->n_state, metadata);
  size_t data = 0;
  for (size_t i = 0; i < c->info->n_state; i++) data += list[i].data.size;
  bool same = head.size == found->head_bytes && found->file.size - head.size == data;
  if (same) {
    memcpy((uint8_t *)(uintptr_t)head.bytes + HEAD_AT, found->file.bytes + HEAD_AT, 8);
    memcpy((uint8_t *)(uintptr_t)head.bytes + DATA_AT, found->file.bytes + DATA_AT, 8);
    same = !memcmp(head.bytes, found->file.bytes, head.size);
  }
  free((void *)(uintptr_t)head.bytes);
  free(metadata);
  free_list(list, c->info->n_state);
  return same;
}

/* Of which training it says that it is. */
static void read_run(candidate *found) {
  const char *from = (const char *)found->file.bytes + RUN_AT;
  for (size_t i = 0; i + 1 < sizeof found->run && RUN_AT + i < found->head_bytes && from[i] != '"';
       i++)
    found->run[i] = from[i];
}

/* What the file at path is. */
static candidate examine(const checkpoints *c, const char *path) {
  candidate found = {.wrong = NULL};
  if (!file_map(path, &found.file)) {
    found.wrong = strerror(errno);
    return found;
  }
  uint64_t length = 0;
  for (size_t i = 0; i < 8 && found.file.size >= 8; i++)
    length |= (uint64_t)found.file.bytes[i] << 8 * i;
  found.wrong = "damaged: it ends too early";
  if (found.file.size < RUN_AT || length > found.file.size - 8 || length + 8 < RUN_AT) return found;
  found.head_bytes = (size_t)length + 8;
  found.wrong = "damaged: the checksum is that of other bytes";
  if (!is_intact(&found)) return found;
  char digits[13] = "";
  memcpy(digits, found.file.bytes + GENERATION_AT, 12);
  found.generation = strtoull(digits, NULL, 10);
  read_run(&found);
  found.wrong = "damaged: the header is another one";
  if (read_numbers(&found, &found.at) && (strcmp(found.run, c->run) || is_own(c, &found)))
    found.wrong = NULL;
  return found;
}

static void load(const checkpoints *c, sn_context *ctx, const candidate *found, sn_tensor **state) {
  const sn_step_info *info = c->info;
  stored *list = list_state(info, NULL);
  const uint8_t *data = found->file.bytes + found->head_bytes;
  for (size_t i = 0; i < info->n_state; data += list[i++].data.size) {
    sn_tensor **at = &state[list[i].number];
    *at = sn_from_data(ctx, list[i].dtype, list[i].rank, list[i].dims, data);
    if (!*at) stop_for(EXIT_TRAINING, "the state of the checkpoint", ctx);
  }
  free_list(list, info->n_state);
}

bool checkpoints_read(checkpoints *c, sn_context *ctx, sn_tensor **state, place *at) {
  char *paths[2] = {path_of(c, 0), path_of(c, 1)};
  candidate found[2];
  int best = -1, damaged = -1;
  for (int i = 0; i < 2; i++) {
    if (access(paths[i], F_OK)) {
      found[i] = (candidate){.wrong = ""};
      continue;
    }
    found[i] = examine(c, paths[i]);
    if (found[i].wrong)
      damaged = i;
    else if (best < 0 || found[i].generation > found[best].generation)
      best = i;
  }
  if (best < 0 && damaged >= 0)
    stop(EXIT_CHECKPOINT, "%s: %s", paths[damaged], found[damaged].wrong);
  if (damaged >= 0)
    fprintf(stderr, "sinter-train: %s: %s; going on from the other checkpoint\n", paths[damaged],
            found[damaged].wrong);
  if (best >= 0) {
    if (strcmp(found[best].run, c->run))
      stop(EXIT_CHECKPOINT, "%s is of another training: %s; this one: %s", paths[best],
           found[best].run, c->run);
    load(c, ctx, &found[best], state);
    *at = found[best].at;
    c->generation = found[best].generation;
    c->slot = best;
  }
  for (int i = 0; i < 2; i++) {
    file_unmap(found[i].file);
    free(paths[i]);
  }
  return best >= 0;
}
