/* cmocka.h - the part of cmocka that tests/native/{twin,op_cases,recipes}.c use, for the wasm
 * module: a failed check tells the host and traps. */
#ifndef DIFFERENTIAL_CMOCKA_H
#define DIFFERENTIAL_CMOCKA_H

void differential_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#define fail_msg(...) differential_fail(__VA_ARGS__)
#define assert_true(x) \
  do {                 \
    if (!(x)) differential_fail("%s:%d: %s", __FILE__, __LINE__, #x); \
  } while (0)
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_non_null(x) assert_true((x) != NULL)
#define print_message(...) ((void)0)

#endif
