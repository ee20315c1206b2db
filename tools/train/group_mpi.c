/* group_mpi.c - processes over MPI. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collectives_mpi.h"
#include "group.h"
#include "stop.h"

static struct {
  bool open;
  int ranks, rank;
  MPI_Comm talk; /* of this thread; exchanges have one of their own */
  sn_processes processes;
  MPI_Request asked; /* of group_largest */
  int given, largest;
  bool asking;
} all;

static void rest(int seconds) { nanosleep(&(struct timespec){.tv_sec = seconds}, NULL); }

/* Processes of this machine. */
static int neighbours(void) {
  MPI_Comm machine;
  int n;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &n);
  MPI_Comm_free(&machine);
  return n;
}

group group_open(int *argc, char ***argv) {
  int level;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
  all.open = true;
  MPI_Comm_size(MPI_COMM_WORLD, &all.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
  if (all.ranks == 1) return (group){.ranks = 1};
  if (level < MPI_THREAD_MULTIPLE)
    stop(EXIT_TRAINING, "this MPI does not let several threads talk (MPI_THREAD_MULTIPLE)");
  MPI_Comm_dup(MPI_COMM_WORLD, &all.talk);
  all.processes = collectives_open(all.ranks, all.rank);
  const int threads = (int)sysconf(_SC_NPROCESSORS_ONLN) / neighbours();
  return (group){all.ranks, all.rank, threads > 1 ? threads : 1};
}

const sn_processes *group_processes(bool split) {
  all.processes.split_state = split;
  return all.ranks > 1 ? &all.processes : NULL;
}

int group_differing(uint32_t number) {
  if (all.ranks == 1) return 0;
  int differing = 0;
  uint32_t *numbers = allocate((size_t)all.ranks, sizeof *numbers);
  MPI_Allgather(&number, 1, MPI_UINT32_T, numbers, 1, MPI_UINT32_T, all.talk);
  for (int i = all.ranks - 1; i > 0; i--)
    if (numbers[i] != numbers[0]) differing = i;
  free(numbers);
  if (differing && all.rank) rest(60); /* process 0 says so, and ends this one */
  return differing;
}

void group_round_sums(void) {
  if (all.ranks > 1) collectives_round();
}

void group_next_step(bool last) {
  if (all.ranks > 1) collectives_next_step(last);
}

void group_share(void *bytes, size_t size) {
  enum { MOST = 1 << 30 };
  for (size_t at = 0; all.ranks > 1 && at < size; at += MOST)
    MPI_Bcast((char *)bytes + at, (int)(size - at < MOST ? size - at : MOST), MPI_BYTE, 0,
              all.talk);
}

void group_collect(const void *part, size_t size, void *whole) {
  if (size > INT_MAX) stop(EXIT_TRAINING, "a tensor is too large to be collected");
  MPI_Gather(part, (int)size, MPI_BYTE, whole, (int)size, MPI_BYTE, 0, all.talk);
}

static void end_asking(void) {
  if (all.asking) collectives_wait(&all.asked);
  all.asking = false;
}

int group_largest(int mine) {
  if (all.ranks == 1) return mine;
  end_asking();
  const int before = all.largest;
  all.given = mine;
  MPI_Iallreduce(&all.given, &all.largest, 1, MPI_INT, MPI_MAX, all.talk, &all.asked);
  all.asking = true;
  return before;
}

group_times group_measured(void) { return collectives_measured(); }

void group_close(void) {
  if (all.ranks > 1) {
    end_asking();
    collectives_close();
    MPI_Comm_free(&all.talk);
  }
  MPI_Finalize();
  all.open = false;
}

/* What is wrong for all of them, process 0 says. */
void group_before_last_words(void) {
  if (all.open && all.rank) rest(2);
}

void group_end_all(int code) {
  if (!all.open) return;
  if (all.ranks > 1) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  all.open = false;
}
