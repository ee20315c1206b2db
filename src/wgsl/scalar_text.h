/* scalar_text.h - ops in WGSL. The rows of ops.def and the functions of math/expand_f32.inc are compiled here with words
 * that mean "add a line", so calling such a function writes its text. A row of one word is written inline; any other row
 * becomes a function of the shader, once. The only ops named here are those without an expression.
 *
 * Registers: float32 in f32, int32 in i32, bool in bool; 16-bit floats as bits in u32, int8 and uint8 in i32.
 *
 * WGSL leaves some results open that Sinter promises. These are written so that a compiler cannot fold them: NaN is found by
 * its bits, and infinities come from memory, since WGSL allows no infinite constant. */
#ifndef SN_WGSL_SCALAR_TEXT_H
#define SN_WGSL_SCALAR_TEXT_H

#include "base/text.h"
#include "graph/ops.h"

/* The functions and constants of a shader being written. */
typedef struct sn_scalar_text {
  sn_arena *arena;
  sn_text functions;
  uint32_t *constants; /* bits; the text names them c[i].x to c[i].w */
  size_t n_constants, cap_constants;
  uint32_t known[SN_OP_COUNT]; /* per op a bit for each dtype whose function has been written */
  bool knows_number_exp;
  sn_status status;
} sn_scalar_text;

/* Adds a u32 expression that reads these 32 bits from the constants, so that the text does not contain them. */
void sn_scalar_text_add_constant(sn_scalar_text *s, sn_text *out, uint32_t bits);

/* The type that values of a dtype have in registers. */
const char *sn_scalar_text_type(sn_dtype dtype);

/* Adds op(args...) as an expression. dtype: of the result; in_dtype: of the last argument. */
sn_status sn_scalar_text_add_op(sn_scalar_text *s, sn_text *out, sn_op op, sn_dtype dtype,
                                sn_dtype in_dtype, const char *const *args, uint32_t n_args);

/* Adds e^x of float32, cheaper than the op: if x is NaN, the result may be any number. */
sn_status sn_scalar_text_add_number_exp(sn_scalar_text *s, sn_text *out, const char *x);

/* Adds a op b, one step of a reduction. */
sn_status sn_scalar_text_add_step(sn_scalar_text *s, sn_text *out, sn_op reduction, sn_dtype dtype,
                                  const char *a, const char *b);

/* Adds the identity of a reduction. */
void sn_scalar_text_add_identity(sn_scalar_text *s, sn_text *out, sn_op reduction, sn_dtype dtype);

/* Adds a value of a dtype as an expression. */
void sn_scalar_text_add_value(sn_scalar_text *s, sn_text *out, sn_dtype dtype, double value);

#endif
