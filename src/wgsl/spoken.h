/* spoken.h - ops in WGSL. The rows of ops.def and the functions of math/expand_f32.inc are compiled here with words
 * that mean "add a line": what calls of them leave behind is the function's text. A row of one word is written where it
 * is used, any other becomes a function of the shader, once. So no op is named here but those without an expression.
 *
 * Registers: float32 f32, int32 i32, bool bool; a float of 16 bits its bits in a u32, int8 and uint8 an i32.
 *
 * What WGSL leaves open and Sinter promises is asked for in words it cannot fold: NaN is found by its bits, infinities
 * come from memory, as no constant may be one. */
#ifndef SN_WGSL_SPOKEN_H
#define SN_WGSL_SPOKEN_H

#include "base/text.h"
#include "graph/ops.h"

/* The functions and constants of a shader under way. */
typedef struct sn_spoken {
  sn_arena *arena;
  sn_text functions;
  uint32_t *constants; /* bits, behind the name c */
  size_t n_constants, cap_constants;
  uint32_t known[SN_OP_COUNT]; /* per op: a bit for each dtype that it has a function for */
  bool knows_number_exp;
  sn_status status;
} sn_spoken;

/* Adds an expression, a u32, for 32 bits that no text may have in it. */
void sn_spoken_add_constant(sn_spoken *s, sn_text *out, uint32_t bits);

/* The type that values of a dtype have in registers. */
const char *sn_spoken_type(sn_dtype dtype);

/* Adds op(args...) as an expression; dtypes of the result and of the last argument. */
sn_status sn_spoken_add_op(sn_spoken *s, sn_text *out, sn_op op, sn_dtype dtype, sn_dtype in_dtype,
                           const char *const *args, uint32_t n_args);

/* Adds e^x of float32, which is any number where x is NaN: it takes less. */
sn_status sn_spoken_add_number_exp(sn_spoken *s, sn_text *out, const char *x);

/* Adds a op b, one step of a reduction. */
sn_status sn_spoken_add_step(sn_spoken *s, sn_text *out, sn_op reduction, sn_dtype dtype,
                             const char *a, const char *b);

/* Adds the value at a reduction's start. */
void sn_spoken_add_identity(sn_spoken *s, sn_text *out, sn_op reduction, sn_dtype dtype);

/* Adds a value of a dtype as an expression. */
void sn_spoken_add_value(sn_spoken *s, sn_text *out, sn_dtype dtype, double value);

#endif
