/* collectives_mpi.c - exchanges in buckets, by a thread of their own.
 *
 *   step    start start start ........ work ........ finish
 *              \     \     \                           |
 *   bucket   [ piece | piece | piece ] full or asked for -> thread: exchange, give the pieces what they wait for
 *
 * Where buckets end follows from what is started alone, so that all processes have the same ones, in the same order. They
 * are the smaller the less a step exchanges: what is in the last one has no work before it to hide behind.
 *
 * A sum: process r gets the r-th part of the bucket of every process, adds them up in pairs of neighbours, and gives the
 * sum to all. Each sends 2 (R - 1) / R of the bucket, and every number is added in one place: the bits are those of the
 * tree, and equal everywhere. Of a reduce-scatter the parts are those of each piece, and stay where they were added: half
 * as much is sent. Floats that travel as bfloat16 are rounded before each of the two ways, and added as floats
 * between them: equal everywhere too, but not the same for other numbers of processes. */
#include "collectives_mpi.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "feedback_mpi.h"
#include "stop.h"

/* Of a bucket: a part of what the step before has exchanged, at most MOST_BYTES, as larger ones are not quicker; but
 * enough for messages that take longer than an empty one. */
enum { PARTS_OF_STEP = 16, MOST_BYTES = 1 << 20, LEAST_MESSAGE_BYTES = 8 << 10 };

typedef struct piece {
  void *to;
  size_t count;
} piece;

typedef struct bucket {
  struct bucket *next;
  sn_dtype dtype;
  sn_exchange_kind kind;
  bool rounded;           /* to bfloat16 */
  size_t number;          /* in its step */
  size_t count, capacity; /* elements */
  char *elements;
  piece *pieces;
  size_t n_pieces, cap_pieces;
  uint64_t ticket; /* of the last piece */
} bucket;

/* What goes on from step to step of one program. Sums of another one lie in other places. */
typedef struct course {
  feedback given,
      returned; /* what rounding leaves: of the caller's thread per piece, of the other one per bucket */
  size_t bytes, most; /* of the step; of a bucket */
} course;

static struct {
  int ranks, rank;
  MPI_Comm comm; /* the thread's */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t more, less; /* there is a bucket; one is done */
  bucket *open;              /* to which pieces are added; of the caller's thread */
  bucket *queue, **end;      /* handed to the thread */
  uint64_t started, done;    /* tickets */
  bool closing;
  bool rounding;                    /* sums of floats travel as bfloat16 */
  course courses[2], *course;       /* for whole batches, for the last one; that of this step */
  size_t n_sums, n_buckets;         /* of the step */
  double latency, seconds_per_byte; /* of a slow network that is played; see read_slowness */
  group_times times;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .more = PTHREAD_COND_INITIALIZER,
         .less = PTHREAD_COND_INITIALIZER};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void rest(double seconds) {
  if (seconds <= 0) return;
  const time_t whole = (time_t)seconds;
  nanosleep(&(struct timespec){whole, (long)((seconds - (double)whole) * 1e9)}, NULL);
}

/* A short rest of this thread ends when it should: by default Linux adds up to 50 microseconds to each. */
static void rest_precisely(void) {
#ifdef __linux__
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL); /* nanoseconds */
#endif
}

/* MPI waits by looking again and again: processes that share cores would take them from each other's work. */
void collectives_wait(MPI_Request *request) {
  int over = 0;
  for (int i = 0; !over; i++) {
    MPI_Test(request, &over, MPI_STATUS_IGNORE);
    if (!over) rest(i < 10 ? 5e-6 : 50e-6);
  }
}

/* ---- the exchange of a bucket ---------------------------------------------------------------- */

#define SUM_PARTS(type)                                                                    \
  do {                                                                                     \
    type *x = parts;                                                                       \
    for (size_t apart = 1; apart < n; apart *= 2)                                          \
      for (size_t i = 0; i + apart < n; i += 2 * apart)                                    \
        for (size_t k = 0; k < count; k++) x[i * count + k] += x[(i + apart) * count + k]; \
  } while (0)

/* Of n parts in pairs of neighbours, in the place of the first. */
static void sum_parts(sn_dtype dtype, void *parts, size_t n, size_t count) {
  if (dtype == SN_F32) SUM_PARTS(float);
  if (dtype == SN_F64) SUM_PARTS(double);
  if (dtype == SN_I32) SUM_PARTS(uint32_t); /* wraps */
}

static void all_to_all(const void *from, void *to, size_t bytes) {
  MPI_Request request;
  MPI_Ialltoall(from, (int)bytes, MPI_BYTE, to, (int)bytes, MPI_BYTE, all.comm, &request);
  collectives_wait(&request);
}

static void gather(const void *from, void *to, size_t bytes) {
  MPI_Request request;
  MPI_Iallgather(from, (int)bytes, MPI_BYTE, to, (int)bytes, MPI_BYTE, all.comm, &request);
  collectives_wait(&request);
}

static void check_size(size_t bytes) {
  if (bytes > INT_MAX) stop(EXIT_TRAINING, "a tensor is too large to be exchanged");
}

static size_t element_bytes(const bucket *b) {
  return b->rounded ? sizeof(uint16_t) : sn_dtype_bytes(b->dtype);
}

/* Gives every process its part of the bucket, and adds up what comes of this one's: n parts, the sum is in the first. Numbers
 * that were rounded are floats then. */
static void *sum_own_part(const bucket *b, const char *mine, size_t n, size_t count) {
  const size_t bytes = count * element_bytes(b);
  char *parts = allocate(n, bytes);
  all_to_all(mine, parts, bytes);
  if (b->rounded) {
    float *wide = allocate(n * count, sizeof *wide);
    feedback_widen((const uint16_t *)(const void *)parts, n * count, wide);
    free(parts);
    parts = (char *)wide;
  }
  sum_parts(b->dtype, parts, n, count);
  return parts;
}

static void give_back(const bucket *b, const char *sums) {
  for (size_t i = 0; i < b->n_pieces; i++) {
    const piece *p = &b->pieces[i];
    const size_t bytes = p->count * element_bytes(b);
    if (b->rounded)
      feedback_widen((const uint16_t *)(const void *)sums, p->count, p->to);
    else
      memcpy(p->to, sums, bytes);
    sums += bytes;
  }
}

static double all_reduce(const bucket *b) {
  const size_t n = (size_t)all.ranks, count = (b->count + n - 1) / n;
  const size_t bytes = count * element_bytes(b);
  check_size(bytes);
  char *mine = allocate(n, bytes);
  memcpy(mine, b->elements, b->count * element_bytes(b));
  void *sum = sum_own_part(b, mine, n, count);
  if (b->rounded) feedback_round(&all.course->returned, b->number, sum, count, sum);
  gather(sum, mine, bytes);
  give_back(b, mine);
  free(sum);
  free(mine);
  return 2 * (double)(n - 1) * (double)bytes;
}

/* The bucket by processes: of each piece the part that is for one of them. */
static char *by_ranks(const bucket *b, size_t n) {
  const size_t size = element_bytes(b);
  char *out = allocate(b->count, size), *to = out;
  for (size_t r = 0; r < n; r++) {
    const char *from = b->elements;
    for (size_t i = 0; i < b->n_pieces; i++) {
      const size_t bytes = b->pieces[i].count / n * size;
      memcpy(to, from + r * bytes, bytes);
      to += bytes;
      from += n * bytes;
    }
  }
  return out;
}

static double reduce_scatter(const bucket *b) {
  const size_t n = (size_t)all.ranks, count = b->count / n;
  check_size(count * element_bytes(b));
  char *mine = by_ranks(b, n), *sum = sum_own_part(b, mine, n, count), *from = sum;
  for (size_t i = 0; i < b->n_pieces; i++) {
    const size_t bytes = b->pieces[i].count / n * sn_dtype_bytes(b->dtype);
    memcpy(b->pieces[i].to, from, bytes);
    from += bytes;
  }
  free(sum);
  free(mine);
  return (double)(n - 1) * (double)count * (double)element_bytes(b);
}

static double all_gather(const bucket *b) {
  const size_t n = (size_t)all.ranks, size = sn_dtype_bytes(b->dtype), bytes = b->count * size;
  check_size(bytes);
  char *given = allocate(n, bytes), *from = given;
  gather(b->elements, given, bytes);
  for (size_t r = 0; r < n; r++)
    for (size_t i = 0; i < b->n_pieces; i++) {
      const size_t part = b->pieces[i].count * size;
      memcpy((char *)b->pieces[i].to + r * part, from, part);
      from += part;
    }
  free(given);
  return (double)(n - 1) * (double)bytes;
}

/* As long as a network takes that has this latency and bandwidth: two rounds of messages for a sum, one else. */
static double exchange(const bucket *b) {
  static double (*const of[])(const bucket *) = {[SN_EXCHANGE_ALL_REDUCE] = all_reduce,
                                                 [SN_EXCHANGE_REDUCE_SCATTER] = reduce_scatter,
                                                 [SN_EXCHANGE_ALL_GATHER] = all_gather};
  const double begin = now(), bytes = of[b->kind](b);
  const int rounds = b->kind == SN_EXCHANGE_ALL_REDUCE ? 2 : 1;
  rest(begin + all.latency * rounds + all.seconds_per_byte * bytes - now());
  return bytes;
}

static void free_bucket(bucket *b) {
  free(b->elements);
  free(b->pieces);
  free(b);
}

static void *work(void *unused) {
  rest_precisely();
  pthread_mutex_lock(&all.lock);
  for (;;) {
    while (!all.queue && !all.closing) pthread_cond_wait(&all.more, &all.lock);
    bucket *b = all.queue;
    if (!b) break;
    all.queue = b->next;
    if (!all.queue) all.end = &all.queue;
    pthread_mutex_unlock(&all.lock);
    const double begin = now(), bytes = exchange(b);
    pthread_mutex_lock(&all.lock);
    all.times.under_way += now() - begin;
    all.times.bytes += bytes;
    all.done = b->ticket;
    pthread_cond_signal(&all.less);
    free_bucket(b);
  }
  pthread_mutex_unlock(&all.lock);
  return unused;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void hand_over(void) {
  if (!all.open) return;
  pthread_mutex_lock(&all.lock);
  *all.end = all.open;
  all.end = &all.open->next;
  pthread_cond_signal(&all.more);
  pthread_mutex_unlock(&all.lock);
  all.open = NULL;
}

static void *grown(void *block, size_t bytes) {
  void *larger = realloc(block, bytes);
  if (!larger) stop(EXIT_TRAINING, "out of memory");
  return larger;
}

static void add(bucket *b, const sn_exchange *x, uint64_t ticket) {
  const size_t size = element_bytes(b);
  if (b->count + x->count > b->capacity) {
    b->capacity = b->count + x->count > 2 * b->capacity ? b->count + x->count : 2 * b->capacity;
    b->elements = grown(b->elements, b->capacity * size);
  }
  if (b->n_pieces == b->cap_pieces) {
    b->cap_pieces = b->cap_pieces ? 2 * b->cap_pieces : 8;
    b->pieces = grown(b->pieces, b->cap_pieces * sizeof *b->pieces);
  }
  char *to = b->elements + b->count * size;
  if (b->rounded)
    feedback_round(&all.course->given, all.n_sums, x->from, x->count, (uint16_t *)(void *)to);
  else
    memcpy(to, x->from, x->count * size);
  all.n_sums += x->kind != SN_EXCHANGE_ALL_GATHER;
  all.course->bytes += x->count * size;
  b->count += x->count;
  b->pieces[b->n_pieces++] = (piece){x->to, x->count};
  b->ticket = ticket;
}

static sn_status start(void *user, const sn_exchange *x, uint64_t *ticket) {
  (void)user;
  *ticket = ++all.started;
  if (all.open && (x->kind != all.open->kind || x->dtype != all.open->dtype)) hand_over();
  if (!all.open) {
    all.open = allocate(1, sizeof *all.open);
    const bool sum = x->kind != SN_EXCHANGE_ALL_GATHER;
    *all.open = (bucket){.dtype = x->dtype,
                         .kind = x->kind,
                         .rounded = all.rounding && sum && x->dtype == SN_F32,
                         .number = all.n_buckets++};
  }
  add(all.open, x, *ticket);
  if (all.open->count * element_bytes(all.open) >= all.course->most) hand_over();
  return SN_OK;
}

static sn_status finish(void *user, uint64_t ticket) {
  (void)user;
  hand_over();
  pthread_mutex_lock(&all.lock);
  const double begin = now();
  const bool waits = all.done < ticket;
  while (all.done < ticket) pthread_cond_wait(&all.less, &all.lock);
  if (waits) all.times.waited += now() - begin;
  pthread_mutex_unlock(&all.lock);
  return SN_OK;
}

void collectives_next_step(bool last) {
  course *c = all.course = &all.courses[last];
  const size_t part = c->bytes / PARTS_OF_STEP;
  const size_t least = LEAST_MESSAGE_BYTES * (size_t)all.ranks;
  const size_t wanted = part > MOST_BYTES ? MOST_BYTES : part,
               most = wanted < least ? least : wanted;
  if (most != c->most) feedback_free(&c->returned); /* buckets are others now; none is under way */
  c->most = most;
  c->bytes = all.n_sums = all.n_buckets = 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* SINTER_TRAIN_NETWORK="MICROSECONDS MEGABYTES_A_SECOND" plays a network slower than the one that is there. */
static void read_slowness(void) {
  const char *text = getenv("SINTER_TRAIN_NETWORK");
  if (!text) return;
  char *end;
  all.latency = 1e-6 * strtod(text, &end);
  const double rate = 1e6 * strtod(end, &end);
  if (*end || !(all.latency >= 0) || !(rate > 0))
    stop(EXIT_USAGE, "SINTER_TRAIN_NETWORK is %s, expected microseconds and megabytes a second",
         text);
  all.seconds_per_byte = 1 / rate;
}

sn_processes collectives_open(int ranks, int rank) {
  all.ranks = ranks;
  all.rank = rank;
  all.end = &all.queue;
  read_slowness();
  MPI_Comm_dup(MPI_COMM_WORLD, &all.comm);
  if (pthread_create(&all.thread, NULL, work, NULL)) stop(EXIT_TRAINING, "no thread to exchange");
  return (sn_processes){.ranks = ranks, .rank = rank, .start = start, .finish = finish};
}

void collectives_round(void) { all.rounding = true; }

group_times collectives_measured(void) {
  pthread_mutex_lock(&all.lock);
  const group_times times = all.times;
  pthread_mutex_unlock(&all.lock);
  return times;
}

void collectives_close(void) {
  pthread_mutex_lock(&all.lock);
  all.closing = true;
  pthread_cond_signal(&all.more);
  pthread_mutex_unlock(&all.lock);
  pthread_join(all.thread, NULL);
  for (int i = 0; i < 2; i++) {
    feedback_free(&all.courses[i].given);
    feedback_free(&all.courses[i].returned);
  }
  MPI_Comm_free(&all.comm);
}
