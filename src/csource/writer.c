#include "csource/writer.h"

void sn_c_begin_line(sn_c_writer *w) { sn_text_add(w->t, "%*s", 2 * (w->depth + 1), ""); }

void sn_c_open_loops(sn_c_writer *w, char name, const int64_t *dims, int rank) {
  for (int i = 0; i < rank; i++) {
    sn_c_begin_line(w);
    sn_text_add(w->t, "for (long %c%d = 0; %c%d < %lld; %c%d++) {\n", name, i, name, i,
                (long long)dims[i], name, i);
    w->depth++;
  }
}

void sn_c_close_loops(sn_c_writer *w, int rank) {
  for (int i = 0; i < rank; i++) {
    w->depth--;
    sn_c_begin_line(w);
    sn_text_add(w->t, "}\n");
  }
}

/* One term of an index: stride * variable. */
void sn_c_add_term(sn_text *t, bool *any, int64_t stride, const char *variable) {
  if (!stride) return;
  if (*any)
    sn_text_add(t, stride < 0 ? " - " : " + ");
  else if (stride < 0)
    sn_text_add(t, "-");
  const long long size = stride < 0 ? -stride : stride;
  if (size != 1 || !*variable) sn_text_add(t, "%lld", size);
  if (*variable) sn_text_add(t, size == 1 ? "%s" : " * %s", variable);
  *any = true;
}
