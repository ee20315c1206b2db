/* einsum_parse.c - parses "ij,jk->ik" and checks it against the shapes of the operands. Blanks are
 * ignored. A term is first read without its operand: its letters, and the position of an ellipsis among them;
 * then the operand's rank says how many dimensions the ellipsis has. */
#include <stdarg.h>

#include "base/format.h"
#include "base/text.h"
#include "tensor/einsum_parse.h"

typedef struct parser {
  sn_env *env;
  const char *text, *at;
  sn_tensor *const *operands;
  size_t n;
  sn_einsum_spec *spec;
} parser;

/* Fails with: einsum: <what> in "<spec>": a (2, 3), b (4, 5) ... with as many shapes as there is room for. */
__attribute__((format(printf, 2, 3))) static sn_status refuse(const parser *p, const char *what,
                                                              ...) {
  char detail[80], shapes[sizeof p->env->error.message] = "";
  va_list args;
  va_start(args, what);
  sn_format_list(detail, sizeof detail, NULL, what, args);
  va_end(args);
  size_t used = 0;
  for (size_t i = 0; i < p->n && i < 26 && used < sizeof shapes; i++)
    used += sn_format(shapes + used, sizeof shapes - used, "%s%c %*p", i ? ", " : "",
                      (int)('a' + i), p->operands[i]->type.rank, p->operands[i]->type.dims);
  const sn_status status =
      SN_FAIL(p->env, SN_ERR_SHAPE, "einsum", "%s in \"%.120s\": %s", detail, p->text, shapes);
  for (size_t i = 0; i < p->n; i++)
    sn_note_shape(&p->env->error, p->operands[i]->type.rank, p->operands[i]->type.dims);
  return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct written { /* a term as it is written */
  int count;             /* letters in the text; at most SN_MAX_RANK are kept */
  int ellipsis;          /* number of letters before the ellipsis; -1: there is none */
  uint8_t letter[SN_MAX_RANK];
} written;

static void add_letter(written *w, int letter) {
  if (w->count < SN_MAX_RANK) w->letter[w->count] = (uint8_t)letter;
  w->count++;
}

static bool accept(parser *p, const char *token) {
  while (*p->at == ' ') p->at++;
  const char *behind = sn_text_after(p->at, token);
  if (behind) p->at = behind;
  return behind;
}

static int letter_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char name_of(int letter) {
  if (letter >= SN_NAMED_LETTERS) return '.';
  return (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26);
}

/* Reads letters and an ellipsis, up to anything else. */
static void read_term(parser *p, written *out) {
  *out = (written){.ellipsis = -1};
  for (;;) {
    if (out->ellipsis < 0 && accept(p, "...")) out->ellipsis = out->count;
    accept(p, "");
    const int letter = letter_of(*p->at);
    if (letter < 0) return;
    add_letter(out, letter);
    p->at++;
  }
}

static sn_status unexpected(const parser *p) {
  return refuse(p, "unexpected character %d", (int)(p->at - p->text) + 1);
}

/* The term with `dims` dimensions in the place of the ellipsis. The caller has checked the rank. */
static sn_term spread(const written *w, int dims) {
  sn_term term = {0};
  for (int i = 0; i <= w->count; i++) {
    for (int d = i == w->ellipsis ? dims : 0; d > 0; d--)
      term.letter[term.rank++] = (uint8_t)(SN_LETTERS - d);
    if (i < w->count) term.letter[term.rank++] = w->letter[i];
  }
  return term;
}

/* ---- operands and output --------------------------------------------------------------------- */

/* Takes the sizes of operand k's letters and checks that they agree. Size 1 broadcasts, except within a diagonal. */
static sn_status meet_sizes(const parser *p, size_t k) {
  const sn_term *term = &p->spec->terms[k];
  const int64_t *dims = p->operands[k]->type.dims;
  for (int i = 0; i < term->rank; i++) {
    const int letter = term->letter[i];
    int64_t *size = &p->spec->size[letter];
    if (*size < 0 || *size == 1) *size = dims[i];
    int64_t other = dims[i] == 1 ? 1 : *size;
    for (int j = 0; j < i; j++)
      if (term->letter[j] == letter) other = dims[j];
    if (dims[i] != 1) p->spec->sets[k] |= sn_letter_bit(letter);
    if (other != dims[i])
      return refuse(p, "sizes %lld and %lld of '%c' differ", (long long)other, (long long)dims[i],
                    name_of(letter));
  }
  return SN_OK;
}

/* Reads all operands. *dims is the number of dimensions of the largest ellipsis. */
static sn_status read_operands(parser *p, int *dims) {
  size_t terms = 1;
  for (const char *c = p->text; *c && *c != '-'; c++) terms += *c == ',';
  if (terms != p->n) return refuse(p, "terms: %zu, operands: %zu", terms, p->n);
  for (size_t k = 0; k < p->n; k++) {
    written w;
    if (k && !accept(p, ",")) return unexpected(p);
    read_term(p, &w);
    const sn_type *type = &p->operands[k]->type;
    const int left = type->rank - w.count;
    if (left < 0 || (left > 0 && w.ellipsis < 0))
      return refuse(p, "term %zu does not fit rank %d", k + 1, (int)type->rank);
    p->spec->terms[k] = spread(&w, left);
    if (left > *dims) *dims = left;
    SN_TRY(meet_sizes(p, k));
  }
  return SN_OK;
}

/* The output if there is no "->": the ellipsis, then the letters that occur once. */
static written implicit_output(const parser *p) {
  int uses[SN_LETTERS] = {0};
  written w = {.ellipsis = 0};
  for (size_t k = 0; k < p->n; k++)
    for (int i = 0; i < p->spec->terms[k].rank; i++) uses[p->spec->terms[k].letter[i]]++;
  for (int letter = 0; letter < SN_NAMED_LETTERS; letter++)
    if (uses[letter] == 1) add_letter(&w, letter);
  return w;
}

static sn_status read_output(parser *p, int dims) {
  written w;
  if (accept(p, "->"))
    read_term(p, &w);
  else
    w = implicit_output(p);
  accept(p, "");
  if (*p->at) return unexpected(p);
  const int rank = w.count + (w.ellipsis < 0 ? 0 : dims);
  if (dims && w.ellipsis < 0) return refuse(p, "the output lacks '...'");
  if (rank > SN_MAX_RANK)
    return refuse(p, "rank %d of the output is not in 0..%d", rank, SN_MAX_RANK);
  sn_letters seen = 0;
  for (int i = 0; i < w.count; i++) {
    const int letter = w.letter[i];
    const bool again = seen & sn_letter_bit(letter);
    if (again || p->spec->size[letter] < 0)
      return refuse(p, "output '%c' is %s", name_of(letter), again ? "repeated" : "in no operand");
    seen |= sn_letter_bit(letter);
  }
  p->spec->output = spread(&w, dims);
  return SN_OK;
}

sn_status sn_einsum_parse(sn_arena *arena, const char *text, sn_tensor *const *operands, size_t n,
                          sn_einsum_spec *out) {
  int dims = 0;
  parser p = {arena->env, text, text, operands, n, out};
  memset(out->size, -1, sizeof out->size);
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->terms, (void **)&out->terms));
  SN_TRY(sn_arena_alloc(arena, n, sizeof *out->sets, (void **)&out->sets));
  SN_TRY(read_operands(&p, &dims));
  return read_output(&p, dims);
}
