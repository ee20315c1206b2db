#include "feedback_mpi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"

static float wide(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float y;
  memcpy(&y, &bits, sizeof y);
  return y;
}

static uint16_t rounded(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float *values_at(feedback *f, size_t place, size_t count) {
  if (place >= f->n_places) {
    struct left *places = realloc(f->places, (place + 1) * sizeof *places);
    if (!places) stop(EXIT_TRAINING, "out of memory");
    memset(places + f->n_places, 0, (place + 1 - f->n_places) * sizeof *places);
    f->places = places;
    f->n_places = place + 1;
  }
  struct left *left = &f->places[place];
  if (left->count != count) {
    free(left->values);
    *left = (struct left){allocate(count, sizeof *left->values), count};
  }
  return left->values;
}

void feedback_round(feedback *f, size_t place, const float *x, size_t count, uint16_t *out) {
  float *left = values_at(f, place, count);
  for (size_t i = 0; i < count; i++) {
    const float wanted = x[i] + left[i];
    out[i] = rounded(wanted);
    const float rest = wanted - wide(out[i]);
    left[i] = isfinite(rest) ? rest : 0;
  }
}

void feedback_widen(const uint16_t *x, size_t count, float *out) {
  for (size_t i = 0; i < count; i++) out[i] = wide(x[i]);
}

void feedback_free(feedback *f) {
  for (size_t i = 0; i < f->n_places; i++) free(f->places[i].values);
  free(f->places);
  *f = (feedback){0};
}
