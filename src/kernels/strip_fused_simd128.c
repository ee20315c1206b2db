/* strip_fused_simd128.c - the float32 rows once more, with the bits of fused multiply-adds: for
 * programs whose emitted code fuses and where some kernel is left to the VM. */
#define SN_SIMD_BYTES 16
#define SN_VECTORS_FUSED
#include "kernels/strip_loops.h"

#define SN_WORDS_VF32
#include "math/words.h"
#define EW_F(id, n, f, c, lo, hi, u, d, xf, ...) MAP_F32(id, xf)
#define EW_FI(id, n, f, c, lo, hi, u, d, xf, xi, ...) MAP_F32(id, xf)
#define EW_FIB(id, n, f, c, lo, hi, u, d, xf, xi, xb, ...) MAP_F32(id, xf)
#define CMP_F(id, n, f, c, d, xf, ...) MASK_F32(id, xf)
#define CMP_FIB(id, n, f, c, d, xf, xi, xb, ...) MASK_F32(id, xf)
#include "graph/ops.def"
#include "math/words.h"

#define ROW(id, ...) [SN_OP_##id] = strip_##id##_f32,
extern sn_strip_fn *const sn_strips_fused_simd128[SN_OP_COUNT];
sn_strip_fn *const sn_strips_fused_simd128[SN_OP_COUNT] = {
#define EW_F ROW
#define EW_FI ROW
#define EW_FIB ROW
#define CMP_F ROW
#define CMP_FIB ROW
#include "graph/ops.def"
};
