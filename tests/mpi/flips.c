/* flips.c - loaded before MPI into one process: in what MPI_Iallgather brings it, one bit is another one, from the tenth time
 * on. A fault of a network or of memory, to see whether it is noticed. */
#include <mpi.h>
#include <stddef.h>

static char *brought;
static int times;

int MPI_Iallgather(const void *from, int n_from, MPI_Datatype of_from, void *to, int n_to,
                   MPI_Datatype of_to, MPI_Comm comm, MPI_Request *request) {
  if (++times >= 10) brought = to;
  return PMPI_Iallgather(from, n_from, of_from, to, n_to, of_to, comm, request);
}

int MPI_Test(MPI_Request *request, int *over, MPI_Status *status) {
  const int made = PMPI_Test(request, over, status);
  if (*over && brought) *brought ^= 1;
  if (*over) brought = NULL;
  return made;
}
