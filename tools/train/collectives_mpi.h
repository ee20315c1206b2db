/* collectives_mpi.h - the exchanges of steps over MPI, while the steps go on. */
#ifndef TRAIN_COLLECTIVES_MPI_H
#define TRAIN_COLLECTIVES_MPI_H

#include <mpi.h>

#include "group.h"

sn_processes collectives_open(int ranks, int rank);
void collectives_close(void);

/* From now on sums of floats travel as bfloat16. */
void collectives_round(void);

/* The next exchange is the first one of a step, of the program of a smaller batch or of the other one. */
void collectives_next_step(bool last);

group_times collectives_measured(void);

/* Until a request is over, giving the core to who has work. */
void collectives_wait(MPI_Request *request);

#endif
