/* group.h - the processes that train together: under mpirun where this program was built with MPI (group_mpi.c), else one
 * (group_single.c). All of them do the same steps on the same files; process 0 alone writes and speaks. */
#ifndef TRAIN_GROUP_H
#define TRAIN_GROUP_H

#include <sinter.h>

typedef struct group {
  int ranks, rank;
  int threads; /* of each, so that those of one machine have its cores together; 0: as the library chooses */
} group;

/* Comes first; argc and argv as main has them. */
group group_open(int *argc, char ***argv);

/* Those that a context is created with, or NULL: this one is alone. split: each has its part of what the update alone reads. */
const sn_processes *group_processes(bool split);

/* The first process that gives another number than process 0, or 0. All of them learn it: process 0 has to end them. */
int group_differing(uint32_t number);

/* Sums of floats between processes are rounded to bfloat16 from now on, what that takes from them is added in the next
 * step: half as many bytes, but the bits depend on the number of processes. */
void group_round_sums(void);

/* Comes before each step. last: it is the program of the smaller batch, whose exchanges are not those of the other one. */
void group_next_step(bool last);

/* Gives all processes what process 0 has there. */
void group_share(void *bytes, size_t size);

/* Gives process 0 the parts of all, in the order of their ranks: size bytes each. whole: of process 0. */
void group_collect(const void *part, size_t size, void *whole);

/* The largest number that a process has given in the step before; of one process, that which it gives. All take part in
 * every step, and nobody waits for one that is a step behind. */
int group_largest(int mine);

typedef struct group_times {
  double under_way,
      waited;   /* seconds: in which something was exchanged, and of these without work meanwhile */
  double bytes; /* that this process has sent */
} group_times;

group_times group_measured(void);

/* Comes last, when all goes well. */
void group_close(void);

/* Before this process says why it ends: the others are given time to say the same. */
void group_before_last_words(void);

/* Ends the other processes; this one goes on, to its end. */
void group_end_all(int code);

#endif
