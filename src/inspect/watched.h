/* watched.h - what a watch has found (run/watch.h), as JSON. js/src/numerics.ts has the format as types. */
#ifndef SN_INSPECT_WATCHED_H
#define SN_INSPECT_WATCHED_H

#include "base/text.h"
#include "run/watch.h"

void sn_watched_json(sn_text *text, const sn_watch *watch);

#endif
