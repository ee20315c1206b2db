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
#define MOST_PAGES ((size_t)65535) /* so that the end of memory fits 32 bits, too */

/* Small blocks (programs, handles, numbers) may live long, and one between large blocks would split
 * the memory that these free. So small blocks are taken from below and large ones from above. A large
 * block is taken from the lowest part of memory only if there is no other. */
#define SMALL ((size_t)1 << 20)
#define LOW_PART ((size_t)64 << 20)

extern char __heap_base; /* the address behind all static data, set by the linker */

static sn_extent *free_blocks;
static bool begun;

static size_t up_to(size_t bytes, size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

static size_t end_of_memory(void) { return __builtin_wasm_memory_size(0) * PAGE; }

/* Makes the memory behind the static data free. */
static void begin(void) {
  const size_t from = up_to((size_t)(uintptr_t)&__heap_base, SN_EXTENT);
  begun = true;
  sn_extents_give(&free_blocks, (void *)from, end_of_memory() - from);
}

/* The address of the free block that reaches the end of memory; the end itself if there is none. */
static size_t last_run(void) {
  const sn_extent *last = free_blocks;
  while (last && last->right) last = last->right;
  const size_t end = end_of_memory(), from = (size_t)(uintptr_t)last;
  return last && from + last->bytes == end ? from : end;
}

/* Grows memory so that its last free block has `bytes` at floor or above. */
static bool grow(size_t bytes, size_t floor) {
  const size_t end = end_of_memory(), run = last_run(), from = run > floor ? run : floor;
  if (bytes > MOST_PAGES * PAGE || from > MOST_PAGES * PAGE - bytes) return false;
  const size_t pages = (up_to(from + bytes, PAGE) - end) / PAGE;
  const size_t grown = __builtin_wasm_memory_grow(0, pages);
  if (grown == SIZE_MAX) return false;
  sn_extents_give(&free_blocks, (void *)(grown * PAGE), pages * PAGE);
  return true;
}

static void *take_low(size_t bytes) {
  void *block = sn_extents_take_low(&free_blocks, bytes);
  if (block || !grow(bytes, 0)) return block;
  return sn_extents_take_low(&free_blocks, bytes);
}

static void *take_high(size_t bytes, size_t floor) {
  void *block = sn_extents_take_high(&free_blocks, bytes, (const void *)floor);
  if (block || !grow(bytes, floor)) return block;
  return sn_extents_take_high(&free_blocks, bytes, (const void *)floor);
}

void *sn_host_allocate(size_t bytes) {
  if (bytes > SIZE_MAX - PAGE) return NULL;
  const size_t whole = up_to(bytes, SN_EXTENT);
  if (!begun) begin();
  if (whole <= SMALL) return take_low(whole);
  void *block = take_high(whole, LOW_PART);
  if (block) return block;
  /* from above in the low part as well, whose bottom is for small blocks */
  return take_high(whole, 0);
}

void sn_host_release(void *block, size_t bytes) {
  sn_extents_give(&free_blocks, block, up_to(bytes, SN_EXTENT));
}
