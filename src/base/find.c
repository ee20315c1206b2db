#include "base/find.h"

const char *sn_text_after(const char *text, const char *part) {
  while (*part && *text == *part) text++, part++;
  return *part ? NULL : text;
}

const char *sn_text_find(const char *text, const char *part) {
  while (*text && !sn_text_after(text, part)) text++;
  return *text ? text : NULL;
}
