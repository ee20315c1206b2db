#include "base/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct sink {
  char *out;
  size_t room, used;
  sn_error *error; /* or NULL */
} sink;

static void put(sink *s, char c) {
  if (s->used < s->room) s->out[s->used] = c;
  s->used++;
}

static void put_times(sink *s, char c, int times) {
  for (int i = 0; i < times; i++) put(s, c);
}

typedef struct field {
  bool left, zeros;
  int width, precision; /* precision < 0: none is given */
} field;

static void put_field(sink *s, const field *f, const char *text, size_t n) {
  const int fill = f->width - (int)n;
  if (!f->left) put_times(s, f->zeros ? '0' : ' ', fill);
  for (size_t i = 0; i < n; i++) put(s, text[i]);
  if (f->left) put_times(s, ' ', fill);
}

static void put_integer(sink *s, const field *f, bool negative, uint64_t value, unsigned base) {
  char digits[24];
  size_t at = sizeof digits;
  const uint64_t magnitude = negative ? -value : value;
  for (uint64_t rest = magnitude; rest || at == sizeof digits; rest /= base)
    digits[--at] = "0123456789abcdef"[rest % base];
  if (negative) digits[--at] = '-';
  put_field(s, f, digits + at, sizeof digits - at);
}

void sn_note_shape(sn_error *error, int rank, const int64_t *dims) {
  if (error->n_shapes == SN_ERROR_SHAPES) return;
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0) return;
  sn_error_shape *shape = &error->shapes[error->n_shapes++];
  shape->rank = rank;
  for (int i = 0; i < rank; i++) shape->dims[i] = dims[i];
}

static void put_shape(sink *s, int rank, const int64_t *dims) {
  const field plain = {.width = 0};
  put(s, '(');
  for (int i = 0; i < rank; i++) {
    for (const char *at = i ? ", " : ""; *at; at++) put(s, *at);
    put_integer(s, &plain, dims[i] < 0, (uint64_t)dims[i], 10);
  }
  if (rank == 1) put(s, ',');
  put(s, ')');
  if (s->error) sn_note_shape(s->error, rank, dims);
}

/* ---- floating point -------------------------------------------------------------------------- */

enum {
  POINT = 1 + 310, /* room before the decimal point: 2^1024 has 309 digits; and for carries */
  DIGITS = POINT + 1074 + 28, /* one per bit of the fraction, 28 for the last step */
  STEP = 28                   /* powers of two per step: 10 * 2^28 still fits 32 bits */
};

/* The number 0.d1 d2 d3 ... * 10^point; `first` points at the digits, as numbers 0 .. 9. */
typedef struct decimal {
  uint8_t *first;
  int n, point;
  uint8_t room[DIGITS];
} decimal;

/* Expands value, which is finite and not negative, to all its digits: takes those of the mantissa as
 * an integer, then multiplies or divides them by powers of two. */
static void expand(decimal *d, double value) {
  int first = POINT, end = POINT;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int biased = (int)(bits >> 52 & 0x7ff);
  *d = (decimal){0};
  for (uint64_t whole = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(biased > 0) << 52; whole;
       whole /= 10)
    d->room[--first] = (uint8_t)(whole % 10);
  int exponent = (biased ? biased : 1) - 1075;
  while (exponent) {
    const int distance = exponent < 0 ? -exponent : exponent,
              step = distance < STEP ? distance : STEP;
    uint32_t rest = 0;
    if (exponent > 0) {
      int at = POINT;
      while (at > first || rest) {
        rest += (uint32_t)d->room[--at] << step;
        d->room[at] = (uint8_t)(rest % 10);
        rest /= 10;
      }
      first = at;
      exponent -= step;
    } else {
      int at = first;
      for (; at < end || rest; at++) {
        rest = rest * 10 + d->room[at];
        d->room[at] = (uint8_t)(rest >> step);
        rest &= (1u << step) - 1;
      }
      end = at;
      exponent += step;
    }
  }
  while (first < end && !d->room[first]) first++;
  d->first = d->room + first;
  d->n = end - first;
  d->point = d->n ? POINT - first : 1;
}

/* Rounds half to even to `keep` digits. */
static void round_digits(decimal *d, int keep) {
  if (keep >= d->n) return;
  const uint8_t *rest = d->first + keep;
  bool up = keep >= 0 && *rest >= 5;
  if (up && *rest == 5 && (keep == 0 || !(rest[-1] & 1))) {
    int more = 1;
    while (keep + more < d->n && !rest[more]) more++;
    up = keep + more < d->n;
  }
  d->n = keep < 0 ? 0 : keep;
  if (!up) return;
  int at = keep - 1;
  d->first[-1] = 0;
  while (d->first[at] == 9) d->first[at--] = 0;
  d->first[at]++;
  if (at >= 0) return;
  d->first--;
  d->n++;
  d->point++;
}

static void put_digits(sink *s, const decimal *d, int from, int to) {
  for (int i = from; i < to; i++) put(s, (char)('0' + (i < 0 || i >= d->n ? 0 : d->first[i])));
}

/* %g: no trailing zeros; with an exponent if that is below -4 or not below the precision. */
static void put_shortest(sink *s, decimal *d, int precision) {
  round_digits(d, precision);
  while (d->n && !d->first[d->n - 1]) d->n--;
  const int exponent = d->point - 1;
  const bool scientific = exponent < -4 || exponent >= precision;
  const int whole = scientific ? 1 : d->point;
  put_digits(s, d, whole < 1 ? whole - 1 : 0, whole);
  if (d->n > whole) put(s, '.');
  put_digits(s, d, whole, d->n);
  if (!scientific) return;
  put(s, 'e');
  put(s, exponent < 0 ? '-' : '+');
  const field two = {.zeros = true, .width = 2};
  put_integer(s, &two, false, (uint64_t)(exponent < 0 ? -exponent : exponent), 10);
}

static void put_fixed(sink *s, decimal *d, int precision) {
  round_digits(d, d->point + precision);
  put_digits(s, d, d->point < 1 ? d->point - 1 : 0, d->point);
  if (precision) put(s, '.');
  put_digits(s, d, d->point, d->point + precision);
}

static void put_number(sink *s, const field *f, double value, char conversion) {
  char text[400]; /* 309 digits, a sign, a point and a precision of 40 fit */
  sink number = {.out = text, .room = sizeof text};
  if (__builtin_signbit(value)) put(&number, '-');
  const double magnitude = __builtin_fabs(value);
  if (magnitude - magnitude == 0) {
    decimal d;
    expand(&d, magnitude);
    const int precision = f->precision < 0 ? 6 : f->precision;
    if (conversion == 'f')
      put_fixed(&number, &d, precision);
    else
      put_shortest(&number, &d, precision ? precision : 1);
  } else {
    for (const char *at = value != value ? "nan" : "inf"; *at; at++) put(&number, *at);
  }
  put_field(s, f, text, number.used);
}

/* ---- the format ------------------------------------------------------------------------------ */

static int next_size(const char **format, va_list *args) {
  int size = 0;
  if (**format == '*') {
    ++*format;
    return va_arg(*args, int);
  }
  while (**format >= '0' && **format <= '9') size = size * 10 + *(*format)++ - '0';
  return size;
}

static void put_converted(sink *s, const field *f, char conversion, bool is_long, va_list *args) {
  if (conversion == 'f' || conversion == 'g') {
    put_number(s, f, va_arg(*args, double), conversion);
  } else if (conversion == 's') {
    const char *text = va_arg(*args, const char *);
    size_t n = 0;
    while ((f->precision < 0 || n < (size_t)f->precision) && text[n]) n++;
    put_field(s, f, text, n);
  } else if (conversion == 'p') {
    put_shape(s, f->width, va_arg(*args, const int64_t *));
  } else if (conversion == 'd' || conversion == 'i') {
    const int64_t value = is_long ? va_arg(*args, int64_t) : va_arg(*args, int);
    put_integer(s, f, value < 0, (uint64_t)value, 10);
  } else if (conversion == 'u' || conversion == 'x') {
    const uint64_t value = is_long ? va_arg(*args, uint64_t) : va_arg(*args, unsigned);
    put_integer(s, f, false, value, conversion == 'x' ? 16 : 10);
  } else {
    put(s, conversion == 'c' ? (char)va_arg(*args, int) : conversion);
  }
}

static void put_all(sink *s, const char *format, va_list *args) {
  for (; *format; format++) {
    if (*format != '%') {
      put(s, *format);
      continue;
    }
    field f = {.precision = -1};
    for (format++; *format == '-' || *format == '0'; format++)
      *(*format == '-' ? &f.left : &f.zeros) = true;
    f.width = next_size(&format, args);
    if (*format == '.') {
      format++;
      f.precision = next_size(&format, args);
    }
    bool is_long = *format == 'z' && sizeof(size_t) == sizeof(int64_t);
    if (*format == 'z') format++;
    for (; *format == 'l'; format++) is_long = true;
    put_converted(s, &f, *format, is_long, args);
  }
}

size_t sn_format_list(char *out, size_t room, sn_error *error, const char *format, va_list args) {
  sink s = {.out = out, .room = room, .error = error};
  va_list mine; /* a copy, as the address of a va_list parameter cannot be passed on portably */
  va_copy(mine, args);
  put_all(&s, format, &mine);
  va_end(mine);
  if (room) out[s.used < room ? s.used : room - 1] = '\0';
  return s.used;
}

size_t sn_format(char *out, size_t room, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const size_t used = sn_format_list(out, room, NULL, format, args);
  va_end(args);
  return used;
}
