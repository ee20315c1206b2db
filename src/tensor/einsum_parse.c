/* einsum_parse.c - "ij,jk->ik" against the shapes of the operands. Blanks mean nothing. A term is
 * read without its operand first: letters, and where an ellipsis stands among them; then the rank
 * says how many dimensions the ellipsis has. */
#include <ctype.h>
#include <stdio.h>

#include "tensor/einsum.h"

typedef struct parser {
  sn_env *env;
  const char *text, *at;
  sn_tensor *const *operands;
  size_t n;
  sn_einsum_spec *spec;
} parser;

/* ---- errors ---------------------------------------------------------------------------------- */

enum { MAX_QUOTED = 100, MAX_DETAIL = 120, MAX_NAME = 40 };

static const char *operand_name(size_t index, char buffer[MAX_NAME]) {
  if (index < 26)
    snprintf(buffer, MAX_NAME, "%c", (char)('a' + index));
  else
    snprintf(buffer, MAX_NAME, "operand %zu", index);
  return buffer;
}

/* einsum: <detail> in "<spec>": a (2, 3), b (4, 5). Shapes are those of the operands first, and so
 * many after it as there is room for; only: of operands first and last alone. */
static sn_status refuse_shapes(const parser *p, const char *detail, size_t first, size_t last,
                               bool only) {
  char shapes[sizeof p->env->error.message], shape[SN_SHAPE_TEXT], name[MAX_NAME];
  size_t used = 0;
  shapes[0] = '\0';
  for (size_t i = first; i <= last && used < sizeof shapes; i += only ? last - first : 1) {
    used += (size_t)snprintf(shapes + used, sizeof shapes - used, "%s%s %s", used ? ", " : "",
                             operand_name(i, name), sn_shape_text(&p->operands[i]->type, shape));
    if (first == last) break;
  }
  const int quoted = (int)strnlen(p->text, MAX_QUOTED);
  return sn_fail(p->env, SN_ERR_SHAPE, "einsum: %s in \"%.*s%s\": %s", detail, quoted, p->text,
                 p->text[quoted] ? "..." : "", shapes);
}

static sn_status refuse(const parser *p, const char *detail) {
  return refuse_shapes(p, detail, 0, p->n - 1, false);
}

#define REFUSE_IF(p, condition, ...)             \
  do {                                           \
    if (condition) {                             \
      char detail[MAX_DETAIL];                   \
      snprintf(detail, MAX_DETAIL, __VA_ARGS__); \
      return refuse((p), detail);                \
    }                                            \
  } while (0)

static const char *letter_name(int letter, char buffer[MAX_NAME]) {
  if (letter >= SN_NAMED_LETTERS) return "a dimension of '...'";
  snprintf(buffer, MAX_NAME, "letter '%c'", letter < 26 ? 'A' + letter : 'a' + letter - 26);
  return buffer;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct written { /* a term as it stands there */
  int count;             /* of letters; no more than SN_MAX_RANK are kept */
  int ellipsis;          /* how many letters stand before it; -1: none */
  uint8_t letter[SN_MAX_RANK];
} written;

static char peek(parser *p) {
  while (*p->at == ' ') p->at++;
  return *p->at;
}

static bool accept(parser *p, const char *token) {
  peek(p);
  const size_t length = strlen(token);
  if (strncmp(p->at, token, length) != 0) return false;
  p->at += length;
  return true;
}

static int letter_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static sn_status refuse_character(const parser *p, char c) {
  REFUSE_IF(p, c == '.', "a '.' that is not part of '...'");
  REFUSE_IF(p, c == '-' || c == '>', "a '%c' that is not part of '->'", c);
  REFUSE_IF(p, isprint((unsigned char)c), "'%c' is not a letter", c);
  REFUSE_IF(p, true, "byte 0x%02x is not a letter", (unsigned)(unsigned char)c);
  return SN_OK;
}

/* Up to ',' or '->' or the end. */
static sn_status read_term(parser *p, written *out) {
  *out = (written){.ellipsis = -1};
  for (;;) {
    const char c = peek(p);
    if (!c || c == ',' || (c == '-' && p->at[1] == '>')) return SN_OK;
    if (accept(p, "...")) {
      REFUSE_IF(p, out->ellipsis >= 0, "more than one '...' in a term");
      out->ellipsis = out->count;
      continue;
    }
    const int letter = letter_of(c);
    if (letter < 0) return refuse_character(p, c);
    if (out->count < SN_MAX_RANK) out->letter[out->count] = (uint8_t)letter;
    out->count++;
    p->at++;
  }
}

/* The letters with `dims` dimensions in the place of the ellipsis; they fit. */
static sn_term spread(const written *w, int dims) {
  sn_term term = {0};
  const int before = w->ellipsis < 0 ? w->count : w->ellipsis;
  for (int i = 0; i < before; i++) term.letter[term.rank++] = w->letter[i];
  for (int i = dims; i > 0; i--) term.letter[term.rank++] = (uint8_t)(SN_LETTERS - i);
  for (int i = before; i < w->count; i++) term.letter[term.rank++] = w->letter[i];
  return term;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Operand k has size `dim` along letter; first[] is the operand that gave the letter its size. */
static sn_status meet_size(const parser *p, size_t k, int letter, int64_t dim, size_t *first) {
  int64_t *size = &p->spec->size[letter];
  if (*size < 0 || (*size == 1 && dim != 1)) {
    *size = dim;
    first[letter] = k;
  }
  if (dim == 1 || dim == *size) return SN_OK;
  char name[MAX_NAME], detail[MAX_DETAIL];
  snprintf(detail, sizeof detail, "%s is both %lld and %lld", letter_name(letter, name),
           (long long)*size, (long long)dim);
  return refuse_shapes(p, detail, first[letter], k, true);
}

static sn_status meet_sizes(const parser *p) {
  size_t first[SN_LETTERS] = {0};
  for (int i = 0; i < SN_LETTERS; i++) p->spec->size[i] = -1;
  for (size_t k = 0; k < p->n; k++)
    for (int i = 0; i < p->spec->terms[k].rank; i++)
      SN_TRY(meet_size(p, k, p->spec->terms[k].letter[i], p->operands[k]->type.dims[i], first));
  return SN_OK;
}

/* ---- operands and output --------------------------------------------------------------------- */

/* *dims: of the largest ellipsis. */
static sn_status read_operands(parser *p, int *dims) {
  size_t terms = 1;
  for (const char *c = p->text; *c && *c != '-' && *c != '>'; c++) terms += *c == ',';
  REFUSE_IF(p, terms != p->n, "%zu term%s for %zu operand%s", terms, terms == 1 ? "" : "s", p->n,
            p->n == 1 ? "" : "s");
  for (size_t k = 0; k < p->n; k++) {
    if (k) accept(p, ",");
    written w;
    char name[MAX_NAME];
    SN_TRY(read_term(p, &w));
    const int left = p->operands[k]->type.rank - w.count;
    REFUSE_IF(p, left < 0 || (left > 0 && w.ellipsis < 0), "%d letter%s for rank %d of %s", w.count,
              w.count == 1 ? "" : "s", (int)p->operands[k]->type.rank, operand_name(k, name));
    p->spec->terms[k] = spread(&w, left);
    if (left > *dims) *dims = left;
  }
  return SN_OK;
}

/* The dimensions of the ellipsis, then what occurs once. */
static sn_status implicit_output(const parser *p, int dims) {
  sn_letters once = 0, twice = 0;
  for (size_t k = 0; k < p->n; k++)
    for (int i = 0; i < p->spec->terms[k].rank; i++) {
      const sn_letters bit = sn_letter_bit(p->spec->terms[k].letter[i]);
      twice |= once & bit;
      once |= bit;
    }
  once &= ~twice & (sn_letter_bit(SN_NAMED_LETTERS) - 1);
  const int rank = dims + __builtin_popcountll(once);
  REFUSE_IF(p, rank > SN_MAX_RANK, "rank %d of the output is not in 0..%d", rank, SN_MAX_RANK);
  p->spec->output = spread(&(written){.ellipsis = 0}, dims);
  for (int letter = 0; letter < SN_NAMED_LETTERS; letter++)
    if (once & sn_letter_bit(letter))
      p->spec->output.letter[p->spec->output.rank++] = (uint8_t)letter;
  return SN_OK;
}

static sn_status explicit_output(parser *p, int dims) {
  written w;
  char name[MAX_NAME];
  SN_TRY(read_term(p, &w));
  const char c = peek(p);
  REFUSE_IF(p, c == ',', "more than one output");
  REFUSE_IF(p, c, "more than one '->'");
  REFUSE_IF(p, dims && w.ellipsis < 0, "no '...' in the output for that of the operands");
  const int rank = w.count + (w.ellipsis < 0 ? 0 : dims);
  REFUSE_IF(p, rank > SN_MAX_RANK, "rank %d of the output is not in 0..%d", rank, SN_MAX_RANK);
  sn_letters seen = 0;
  for (int i = 0; i < w.count; i++) {
    const int letter = w.letter[i];
    REFUSE_IF(p, seen & sn_letter_bit(letter), "%s occurs twice in the output",
              letter_name(letter, name));
    REFUSE_IF(p, p->spec->size[letter] < 0, "output %s occurs in no operand",
              letter_name(letter, name));
    seen |= sn_letter_bit(letter);
  }
  p->spec->output = spread(&w, w.ellipsis < 0 ? 0 : dims);
  return SN_OK;
}

sn_status sn_einsum_parse(sn_arena *arena, const char *text, sn_tensor *const *operands, size_t n,
                          sn_einsum_spec *out) {
  *out = (sn_einsum_spec){.text = text};
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->terms, (void **)&out->terms));
  parser p = {.env = arena->env, .text = text, .at = text, .operands = operands, .n = n};
  p.spec = out;
  int dims = 0;
  SN_TRY(read_operands(&p, &dims));
  SN_TRY(meet_sizes(&p));
  return accept(&p, "->") ? explicit_output(&p, dims) : implicit_output(&p, dims);
}
