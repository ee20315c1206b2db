// The public header compiles alone as C++, and links.
#include "sinter.h"

int main() {
  sn_context *ctx = nullptr;
  if (sn_context_create(nullptr, &ctx) != SN_OK) return 1;
  sn_context_destroy(ctx);
  return 0;
}
