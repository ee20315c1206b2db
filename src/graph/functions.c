/* functions.c - reads the data of scripts/gen-functions.mjs. A function, or a row's expression, is
 *
 *   its length in two bytes, number of parameters, then instructions; its values are numbered in
 *   order, parameters first:
 *     RETURN      args                  as many as the caller takes
 *     CALL        function, args        its results become values
 *     CALL_FUSED  function where X_FUSED, function where not, args
 *     POLYNOMIAL  p, x, n, n constants  X_HORNER(p, x, c) for each c, p the one before
 *     others      args                  a word of words.def
 *
 * An argument below FIRST_CONSTANT says how many values ago it was made, others number a constant;
 * the count of a shift stands for itself. Calls nest as deep as the text has them; a callee has a
 * lower number. */
#include "graph/functions.h"

#include <string.h>

#include "functions.inc"

typedef struct reader {
  const sn_word_user *user;
  const uint8_t *at;
  bool wide; /* float64 */
  int n_values;
  uint64_t values[SN_FUNCTION_VALUES];
} reader;

/* Per word: how many arguments it has, and whether the last is a number in the text. */
static const struct {
  uint8_t arity;
  bool number;
} words[] = {
#define IS_NUMBER_F false
#define IS_NUMBER_I false
#define IS_NUMBER_M false
#define IS_NUMBER_N true
#define WORD1(name, result, a) {1, IS_NUMBER_##a},
#define WORD2(name, result, a, b) {2, IS_NUMBER_##b},
#define WORD3(name, result, a, b, c) {3, IS_NUMBER_##c},
#include "graph/words.def"
};

static uint64_t use(const reader *r, sn_word word, uint64_t a, uint64_t b, uint64_t c) {
  return r->user->word(r->user->self, word, (const uint64_t[]){a, b, c});
}

static uint64_t argument(reader *r) {
  int at = *r->at++;
  if (at < FIRST_CONSTANT) return r->values[r->n_values - at];
  if (at == FAR_CONSTANT) at += *r->at++;
  at -= FIRST_CONSTANT;
  return use(r, SN_WORD_CONSTANT, r->wide ? constants_64[at] : constants_32[at], 0, 0);
}

static uint64_t polynomial(reader *r) {
  uint64_t p = argument(r);
  const uint64_t x = argument(r);
  const size_t bytes = r->wide ? 8 : 4;
  for (int n = *r->at++; n > 0; n--, r->at += bytes) {
    uint64_t bits = 0;
    memcpy(&bits, r->at, bytes);
    const uint64_t c = use(r, SN_WORD_CONSTANT, bits, 0, 0);
    p = r->wide ? use(r, SN_WORD_ADD, use(r, SN_WORD_MUL, p, x, 0), c, 0)
                : use(r, SN_WORD_FMA, p, x, c);
  }
  return p;
}

static uint64_t word(reader *r, sn_word word) {
  uint64_t args[3] = {0};
  const int n = words[word].arity - words[word].number;
  for (int i = 0; i < n; i++) args[i] = argument(r);
  if (words[word].number) args[n] = *r->at++;
  return r->user->word(r->user->self, word, args);
}

static const uint8_t *function(bool wide, int number) {
  const uint8_t *at = wide ? code_64 : code_32;
  while (number-- > 0) at += 2 + at[0] + 256 * at[1];
  return at + 2;
}

/* The arguments of function `number` from the caller's text; its results become values there. */
static void call(reader *caller, int number) {
  reader r = {.user = caller->user, .wide = caller->wide};
  r.at = function(r.wide, number);
  const int n_params = *r.at++;
  while (r.n_values < n_params) {
    const uint64_t value = argument(caller); /* which counts the caller's values */
    r.values[r.n_values++] = value;
  }
  for (;;) {
    const int code = *r.at++;
    if (code == RETURN) break;
    if (code == CALL || code == CALL_FUSED) {
      const int chosen = r.at[code == CALL_FUSED && !r.user->fused];
      r.at += code == CALL_FUSED ? 2 : 1;
      call(&r, chosen);
    } else {
      r.values[r.n_values] =
          code == POLYNOMIAL ? polynomial(&r) : word(&r, (sn_word)(code - FIRST_WORD));
      r.n_values++;
    }
  }
  for (int n = *r.at++; n > 0; n--) caller->values[caller->n_values++] = argument(&r);
}

static uint64_t run(const sn_word_user *user, bool wide, int number, uint64_t a, uint64_t b) {
  static const uint8_t first_and_second[] = {2, 1}; /* how long ago they were values */
  reader r = {.user = user, .wide = wide, .at = first_and_second};
  r.values[r.n_values++] = a;
  r.values[r.n_values++] = b;
  call(&r, number);
  return r.values[r.n_values - 1];
}

uint64_t sn_function_apply(const sn_word_user *user, sn_op op, sn_dtype dtype, uint64_t a,
                           uint64_t b) {
  return run(user, dtype == SN_F64, numbers[dtype][op], a, b);
}

uint64_t sn_function_cast(const sn_word_user *user, sn_dtype small, bool narrow, uint64_t a) {
  const int number = casts[small][narrow];
  return number ? run(user, false, number, a, a) : a;
}
