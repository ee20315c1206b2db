/* spell.h - how ops are written in C. The spelling of an op is its row of ops.def: the row's
 * expression, with the X_ vocabulary meaning readable C, so there is no second list of ops. What C
 * and its library lack is a helper function, which is written out where it is used. */
#ifndef SN_CSOURCE_SPELL_H
#define SN_CSOURCE_SPELL_H

#include "base/text.h"
#include "graph/shape.h"

/* The expression of an elementwise op or a reduction on inputs of a dtype, in terms of a, b and c;
 * NULL for ops and dtypes without one. */
const char *sn_c_expression(sn_op op, sn_dtype dtype);

/* What a reduction starts with. */
const char *sn_c_identity(sn_op op, sn_dtype dtype);

/* Adds the expression with a, b and c replaced, without parentheses around it. float32 calls the
 * functions that end in f. */
void sn_c_add_expression(sn_text *text, sn_op op, sn_dtype dtype, const char *const *arguments);

/* Adds a value as a literal of the dtype. */
void sn_c_add_literal(sn_text *text, double value, sn_dtype dtype);

const char *sn_c_type(sn_dtype dtype);

/* SN_ERR_UNSUPPORTED for a dtype that C lacks. */
sn_status sn_c_check_dtype(sn_env *env, sn_dtype dtype);

/* Adds the helper functions that code calls. */
void sn_c_add_helpers(sn_text *text, const char *code);

#endif
