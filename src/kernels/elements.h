/* elements.h - addresses of elements whose size is known only at run time. */
#ifndef SN_KERNELS_ELEMENTS_H
#define SN_KERNELS_ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

static inline const void *sn_element(const void *base, int64_t number, size_t bytes) {
  return (const char *)base + (ptrdiff_t)number * (ptrdiff_t)bytes;
}

static inline void *sn_element_mutable(void *base, int64_t number, size_t bytes) {
  return (char *)base + (ptrdiff_t)number * (ptrdiff_t)bytes;
}

#endif
