#include "base/extents.h"
#include "base/host.h"

#include <stdbool.h>
#include <stdint.h>

/* Imports of both wasm modules; the JS loader supplies them as module "host". */
__attribute__((import_module("host"), import_name("now"))) double sn_js_now(void);
__attribute__((import_module("host"), import_name("log"))) void sn_js_log(const char *text);

double sn_host_now_ms(void) { return sn_js_now(); }

void sn_host_log(const char *text) { sn_js_log(text); }

/* ---- memory ---------------------------------------------------------------------------------- */

#define PAGE ((size_t)65536)
#define MOST_PAGES ((size_t)65535) /* so that the end of memory is an address too */

extern char __heap_base; /* set by the linker: behind the data */

static sn_extent *free_blocks;
static bool begun;

static size_t up_to(size_t bytes, size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

/* At first what memory there is; then the pages that are missing behind the last free block. */
static bool grow(size_t bytes) {
  const size_t end = __builtin_wasm_memory_size(0);
  if (!begun) {
    const size_t from = up_to((size_t)(uintptr_t)&__heap_base, SN_EXTENT);
    begun = true;
    sn_extents_give(&free_blocks, (void *)from, end * PAGE - from);
    return true;
  }
  sn_extent *last = free_blocks;
  while (last && last->right) last = last->right;
  if (last && (uintptr_t)last + last->bytes == end * PAGE) bytes -= last->bytes;
  const size_t pages = up_to(bytes, PAGE) / PAGE;
  if (pages > MOST_PAGES - end) return false;
  const size_t grown = __builtin_wasm_memory_grow(0, pages);
  if (grown == SIZE_MAX) return false;
  sn_extents_give(&free_blocks, (void *)(grown * PAGE), pages * PAGE);
  return true;
}

void *sn_host_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - PAGE) return NULL;
  const size_t whole = up_to(bytes, SN_EXTENT);
  void *block;
  do block = sn_extents_take(&free_blocks, whole);
  while (!block && grow(whole));
  return block;
}

void sn_host_release(void *block, size_t bytes) {
  sn_extents_give(&free_blocks, block, up_to(bytes, SN_EXTENT));
}
