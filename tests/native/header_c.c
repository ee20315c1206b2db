/* The public header compiles alone as C11. */
#include "sinter.h"

int main(void) { return SN_OK; }
