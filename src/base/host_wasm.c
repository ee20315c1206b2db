#include "base/host.h"

/* Imports of both wasm modules; the JS loader supplies them as module "host". */
__attribute__((import_module("host"), import_name("now"))) double sn_js_now(void);
__attribute__((import_module("host"), import_name("log"))) void sn_js_log(const char *text);

double sn_host_now_ms(void) { return sn_js_now(); }

void sn_host_log(const char *text) { sn_js_log(text); }
