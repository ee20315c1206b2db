/* made_strips_posix.c - natively all strips are compiled. */
#include "kernels/made_strips.h"

sn_status sn_made_strip_prepare(sn_env *env, sn_op op, sn_dtype dtype, bool fused) {
  (void)env;
  (void)op;
  (void)dtype;
  (void)fused;
  return SN_OK;
}
