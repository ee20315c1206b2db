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
