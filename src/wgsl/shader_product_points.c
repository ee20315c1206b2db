/* shader_product_points.c - a product whose threads work alone: a thread computes a few rows and columns of the result, and
 * loads what it needs of both factors itself, an element or four at a time. It is for narrow matrices, and for devices whose
 * threads share no memory; caches take the place of workgroup memory. */
#include "base/format.h"
#include "wgsl/shader.h"

enum { UNROLLED = 4 };

typedef struct lone {
  int micro; /* rows, and columns, of a thread */
  sn_shader_reading readings[2];
} lone;

static bool reads_fours(const lone *t) { return t->readings[0] || t->readings[1]; }

/* Adds a b for one k to the totals with this name. */
static void multiply(sn_shader *s, int micro, const char *name) {
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) {
      char total[SN_SHADER_NAME], a[SN_SHADER_NAME], b[SN_SHADER_NAME];
      sn_format(total, sizeof total, "%s%d%d", name, r, c);
      sn_format(a, sizeof a, "a%d", r);
      sn_format(b, sizeof b, "b%d", c);
      sn_shader_multiply_add(s, total, a, b);
    }
}

/* Passes a thread's totals to finish(); its rows are `apart` from each other, and so are its columns. */
static void finish(sn_shader *s, int micro, const char *total, int apart, int64_t m, int64_t n) {
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) {
      sn_shader_line(s, "if (first_a + %d < %lld && first_b + %d < %lld) {", r * apart,
                     (long long)m, c * apart, (long long)n);
      sn_shader_line(s, "finish(z, first_a + %d, first_b + %d, %s%d%d);", r * apart, c * apart,
                     total, r, c);
      sn_shader_line(s, "}");
    }
}

static void declare_totals(sn_shader *s, int micro, const char *name) {
  const char *type = sn_scalar_text_type(s->group->contraction.total_dtype);
  for (int r = 0; r < micro; r++)
    for (int c = 0; c < micro; c++) sn_shader_line(s, "var %s%d%d = %s(0);", name, r, c, type);
}

/* Adds the term of k + more. */
static void add_term(sn_shader *s, int micro, const char *name, int more) {
  sn_shader_line(s, "{");
  sn_shader_line(s, "let qa = step_a(k + %d); let qb = step_b(k + %d);", more, more);
  for (int i = 0; i < micro; i++)
    sn_shader_line(s, "let a%d = at_a(pa%d + qa); let b%d = at_b(pb%d + qb);", i, i, i, i);
  multiply(s, micro, name);
  sn_shader_line(s, "}");
}

/* Loads the elements of a factor for terms k .. k + 3. */
static void bring_four(sn_shader *s, sn_shader_reading how, char x) {
  if (how == SN_READS_FOURS_ALONG) sn_shader_line(s, "let q%c = step_%c(k);", x, x);
  for (int i = 0; i < 4; i++) {
    if (how == SN_READS_FOURS_ALONG)
      sn_shader_line(s, "let %c%d = four_%c(p%c%d + q%c);", x, i, x, x, i, x);
    else if (how == SN_READS_FOURS_ACROSS)
      sn_shader_line(s, "let %c%d = four_%c(p%c0 + step_%c(k + %d));", x, i, x, x, x, i);
    else
      sn_shader_line(s, "let q%c%d = step_%c(k + %d);", x, i, x, i);
  }
  for (int u = 0; how == SN_READS_ELEMENTS && u < 4; u++)
    for (int i = 0; i < 4; i++)
      sn_shader_line(s, "let %c%d%d = at_%c(p%c%d + q%c%d);", x, i, u, x, x, i, x, u);
}

/* The name of the element of term k + u in row or column i. */
static void name_of_four(char *out, sn_shader_reading how, char x, int i, int u) {
  if (how == SN_READS_FOURS_ALONG)
    sn_format(out, SN_SHADER_NAME, "%c%d.%c", x, i, "xyzw"[u]);
  else if (how == SN_READS_FOURS_ACROSS)
    sn_format(out, SN_SHADER_NAME, "%c%d.%c", x, u, "xyzw"[i]);
  else
    sn_format(out, SN_SHADER_NAME, "%c%d%d", x, i, u);
}

/* Adds the terms k .. k + 3. */
static void add_four_terms(sn_shader *s, const lone *t, const char *name) {
  bring_four(s, t->readings[0], 'a');
  bring_four(s, t->readings[1], 'b');
  for (int u = 0; u < 4; u++)
    for (int r = 0; r < t->micro; r++)
      for (int c = 0; c < t->micro; c++) {
        char total[SN_SHADER_NAME], a[SN_SHADER_NAME], b[SN_SHADER_NAME];
        sn_format(total, sizeof total, "%s%d%d", name, r, c);
        name_of_four(a, t->readings[0], 'a', r, u);
        name_of_four(b, t->readings[1], 'b', c, u);
        sn_shader_multiply_add(s, total, a, b);
      }
}

/* How many terms a round of the loop takes. If positions are costly to compute, a driver in software is slower with several. */
static int unrolled(const sn_group *g, const lone *t) {
  if (reads_fours(t)) return 4;
  const sn_operand *f = g->contraction.factors;
  for (int i = 0; i < 2; i++)
    if (f[i].nests->bounds.guards || f[i].nests->of[SN_AXIS_ALONG].rank > 1) return 1;
  return UNROLLED;
}

/* Adds terms [from, end), both expressions, a few at a time. */
static void add_range(sn_shader *s, const lone *t, const char *name, const char *from,
                      const char *end) {
  const int step = unrolled(s->group, t);
  sn_shader_line(s, "var k = %s;", from);
  sn_shader_line(s, "for (; k <= %s - %d; k += %d) {", end, step, step);
  if (reads_fours(t)) add_four_terms(s, t, name);
  for (int u = 0; !reads_fours(t) && u < step; u++) add_term(s, t->micro, name, u);
  sn_shader_line(s, "}");
  if (s->group->contraction.k % step == 0) return;
  sn_shader_line(s, "for (; k < %s; k++) {", end);
  add_term(s, t->micro, name, 0);
  sn_shader_line(s, "}");
}

sn_status sn_shader_product_points(sn_shader *s, const sn_shader_sizes *z, int micro,
                                   const sn_shader_reading readings[2]) {
  const lone t = {.micro = micro, .readings = {readings[0], readings[1]}};
  const long long rows = (z->m + micro - 1) / micro, columns = (z->n + micro - 1) / micro;
  char end[SN_SHADER_NAME] = "end";
  sn_shader_thread_per_point(s, z->batches * z->parts * rows * columns, 1);
  sn_shader_line(s, "let first_a = p / %lld %% %lld * %d; let first_b = p %% %lld * %d;", columns,
                 rows, micro, columns, micro);
  sn_shader_line(s, "let z = p / %lld;", rows * columns);
  sn_shader_line(s, "let batch = z %% %lld;", (long long)z->batches);
  declare_totals(s, micro, "sum");
  for (int i = 0; i < micro;
       i++) { /* rows and columns behind the last are computed as the last, and dropped by finish */
    sn_shader_line(s, "let pa%d = place_a(batch, min(first_a + %d, %lld));", i, i,
                   (long long)z->m - 1);
    sn_shader_line(s, "let pb%d = place_b(batch, min(first_b + %d, %lld));", i, i,
                   (long long)z->n - 1);
  }
  if (z->parts == 1) {
    sn_format(end, sizeof end, "%lld", (long long)z->k);
    add_range(s, &t, "sum", "0", end);
  } else {
    sn_shader_line(s, "let begin = z / %lld * %lld;", (long long)z->batches, (long long)z->terms);
    sn_shader_line(s, "let end = min(begin + %lld, %lld);", (long long)z->terms, (long long)z->k);
    add_range(s, &t, "sum", "begin", end);
  }
  finish(s, micro, "sum", 1, z->m, z->n);
  return s->status;
}
