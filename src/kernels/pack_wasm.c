/* The widths of float32's kernels, 4 x 8 and 6 x 8. A page downloads this code, so all widths share
 * one, and float64 is gathered, which takes a small part of the time of its products. */
#define SN_PACK_WIDTHS_f32(WIDTH, WIDTHS) WIDTHS(4, 8)
#define SN_PACK_WIDTHS_f64(WIDTH, WIDTHS)

/* Floats of 16 bits become values while they are packed, by expand_small.inc. Engines materialise a constant wherever it
 * stands in the code, inside a loop each time; compilers and wasm-opt move constants there unless they cannot know their
 * values, which sn_pack_zero prevents. */
#include "kernels/pack.h"
#include "kernels/simd.h"

extern uint32_t sn_pack_zero;
uint32_t sn_pack_zero = 0;

#define SN_WORDS_VF32
#include "math/words.h"
#undef X_FN
#undef X_C
#undef X_IC
#define X_FN(name) pack_##name
#define X_C(c) X_FLOAT(X_IC(sn_f32_to_bits((float)(c))))
#define X_IC(c) ((c) != 0 ? sn_vu32_splat((uint32_t)(c) ^ sn_pack_zero) : (vu32){0})
#include "math/expand_small.inc"

const bool sn_pack_widens = true;
#define SN_PACK_HALF(s) pack_widen_##s
#include "kernels/pack.inc"
