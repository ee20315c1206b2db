#include "csource/csource.h"

#include "base/text.h"

sn_status sn_c_source(const sn_groups *groups, const sn_plan *plan, const char *name,
                      sn_arena *arena, const char **out) {
  sn_text t = sn_text_in(arena);
  sn_text_add(&t, "/* %s */", name);
  (void)groups;
  (void)plan;
  *out = t.data;
  return t.status;
}
