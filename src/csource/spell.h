/* spell.h - ops as C expressions. The text of an op comes from its row of ops.def: the row's
 * expression, with the X_ vocabulary meaning readable C, so there is no second list of ops. For what C
 * and its library lack there are helper functions, which are printed if they are used. */
#ifndef SN_CSOURCE_SPELL_H
#define SN_CSOURCE_SPELL_H

#include "base/text.h"
#include "graph/shape.h"

/* The expression of an elementwise op or a reduction's step on inputs of a dtype, in terms of a, b and
 * c; NULL if there is none. */
const char *sn_c_expression(sn_op op, sn_dtype dtype);

/* The text of a reduction's identity. */
const char *sn_c_identity(sn_op op, sn_dtype dtype);

/* Adds the expression with a, b and c replaced by the arguments, without parentheses around it. For
 * float32 it calls the functions whose names end in f. */
void sn_c_add_expression(sn_text *text, sn_op op, sn_dtype dtype, const char *const *arguments);

/* Adds a value as a literal of the dtype. */
void sn_c_add_literal(sn_text *text, double value, sn_dtype dtype);

const char *sn_c_type(sn_dtype dtype);

/* SN_ERR_UNSUPPORTED for a dtype that C lacks. */
sn_status sn_c_check_dtype(sn_env *env, sn_dtype dtype);

/* Adds the helper functions that the code calls. */
void sn_c_add_helpers(sn_text *text, const char *code);

#endif
