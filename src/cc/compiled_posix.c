#define _GNU_SOURCE 1

#include "cc/compiled.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format.h"
#include "cc/cache_tidy.h"
#include "cc/kernel_text.h"
#include "cc/loop_text.h"
#include "cc/object_cache.h"

extern const char sn_cc_kernel_prelude[], sn_cc_loop_prelude[];

/* After MOST_FAILURES failures the compiler is not called again. A module is wanted after HOT_CALLS calls per part. */
enum { MOST_FAILURES = 3, HOT_CALLS = 4, CACHE_MB = 256 };

typedef enum module_state { COLD, WANTED, READY, FAILED } module_state;

typedef struct module {
  struct module *next;
  sn_cc *cc;
  uint32_t refs;
  const char *prelude; /* text before `text`; which one it is tells kernels from loops */
  char *text;
  size_t size;
  uint32_t hot; /* number of calls that makes it WANTED */
  bool busy;    /* the background thread is working on it */
  void *handle;
  sn_cc_program *programs;
  _Atomic uint32_t state, calls;
} module;

/* A user of a module: a program's kernels, with the published functions in `made`, one entry per part of a kernel; or a
 * loop with its one function. */
struct sn_cc_program {
  sn_cc_program *next;
  module *module;
  const sn_kernel *kernels;
  size_t n;
  const sn_cc_functions *functions;
  sn_code *made;
  sn_serial_code *loop;
};

/* The lock protects the members behind it. The background thread takes a WANTED module, works on it without the lock, and
 * publishes it under the lock. A module that is released meanwhile is freed by a later sweep. */
struct sn_cc {
  sn_env *env;
  sn_cc_compiler compiler;
  char name[SN_CC_PATH]; /* of the compiler: a path, or a name in PATH */
  char cache_name[SN_CC_PATH];
  sn_cc_cache cache;
  uint64_t cache_bytes; /* limit of the cache's size */
  bool fused;
  bool waits; /* making a program waits for its code, which tests need */
  bool found; /* the compiler has been looked for */
  bool works;
  bool started;
  pthread_t thread;
  char state[2 * SN_CC_REASON];
  atomic_bool stop;
  pthread_mutex_t lock;
  pthread_cond_t wanted, settled;
  module *modules;
  uint32_t n_compiled, n_cached, n_failed;
  char reason[SN_CC_REASON]; /* of the last failure */
};

/* ---- on the thread: text to functions -------------------------------------------------------- */

/* Kernels use the machine's widest vectors. Loops compute one element at a time, in the vectors of WebAssembly. */
static int vector_bytes(const sn_cc *cc, const module *m) {
  return m->prelude == sn_cc_loop_prelude ? 16 : sn_cc_vector_bytes(cc->compiler.isa);
}

static size_t join_flags(const sn_cc *cc, const module *m, char *out, size_t room) {
  const sn_isa_id isa = cc->compiler.isa;
  size_t n = sn_format(out, room, "vectors of %d bytes%s", vector_bytes(cc, m),
                       cc->fused ? ", fused" : "");
  for (const char *const *flag = sn_cc_flags(isa); *flag; flag++)
    n += sn_format(out + n, room - n, " %s", *flag);
  return n;
}

static bool load(module *m, const char *path, char *reason) {
  m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!m->handle) {
    const char *why = dlerror();
    sn_format(reason, SN_CC_REASON, "what the compiler made cannot be loaded: %.300s",
              why ? why : "");
  }
  return m->handle != NULL;
}

static bool build(const sn_cc *cc, module *m, const char *dir, const sn_cc_key *key,
                  const char *kept, char *reason) {
  char source[SN_CC_PATH + 16], object[SN_CC_PATH + 16], log[SN_CC_PATH + 16], size[64];
  sn_format(source, sizeof source, "%s/kernels.c", dir);
  sn_format(object, sizeof object, "%s/kernels.so", dir);
  sn_format(log, sizeof log, "%s/log", dir);
  const size_t n = sn_format(size, sizeof size, "#define SN_SIMD_BYTES %d\n#define SN_FUSED %d\n",
                             vector_bytes(cc, m), cc->fused);
  const char *parts[] = {size, m->prelude, m->text};
  const size_t sizes[] = {n, strlen(m->prelude), m->size};
  if (!sn_cc_write(source, parts, sizes, 3, reason)) return false;
  if (!sn_cc_compile(&cc->compiler, source, object, log, reason)) return false;
  const bool keeps = sn_cc_cache_keep(object, kept, key);
  const bool loaded = load(m, keeps ? kept : object, reason);
  if (keeps) sn_cc_cache_shrink(&cc->cache, cc->cache_bytes);
  return loaded;
}

/* Loads the module's object, from the cache or from the compiler. */
static bool obtain(sn_cc *cc, module *m, bool *cached, char *reason) {
  char flags[400], kept[SN_CC_PATH], dir[SN_CC_PATH];
  const sn_cc_compiler *c = &cc->compiler;
  const sn_cc_key key = {.part = {c->identity, flags, m->prelude, m->text},
                         .size = {strlen(c->identity), join_flags(cc, m, flags, sizeof flags),
                                  strlen(m->prelude), m->size}};
  sn_cc_cache_path(&cc->cache, &key, kept);
  *cached = sn_cc_cache_holds(kept, &key) && load(m, kept, reason);
  if (*cached) return true;
  if (!sn_cc_work_begin(&cc->cache, dir, reason)) return false;
  const bool built = build(cc, m, dir, &key, kept, reason);
  sn_cc_work_end(dir);
  return built;
}

/* Finds the functions of all parts of a program. Returns false if the object lacks one. */
static bool find_functions(const module *m, sn_cc_program *p) {
  size_t at = 0;
  if (m->prelude == sn_cc_loop_prelude) {
    p->loop = (sn_serial_code *)dlsym(m->handle, SN_CC_LOOP);
    return p->loop != NULL;
  }
  for (size_t i = 0; i < p->n; i++) {
    for (uint32_t part = 0; sn_kernel_part(&p->kernels[i], part); part++, at++) {
      void *found[SN_CC_ROLES] = {NULL};
      for (int role = 0; role < SN_CC_ROLES; role++) {
        char name[48];
        if (!p->functions[at].has[role]) continue;
        sn_cc_function_name(name, sizeof name, i, part, (sn_cc_role)role);
        found[role] = dlsym(m->handle, name);
        if (!found[role]) return false;
      }
      sn_code *code = &p->made[at];
      code->strip = (sn_strip_code *)found[SN_CC_ROLE_STRIP];
      code->fold = (sn_fold_code *)found[SN_CC_ROLE_FOLD];
      code->columns = (sn_columns_code *)found[SN_CC_ROLE_COLUMNS];
      code->rows = (sn_rows_code *)found[SN_CC_ROLE_ROWS];
    }
  }
  return true;
}

/* Ends the work on a module. The caller holds the lock. */
static void publish(sn_cc *cc, module *m, bool made, bool cached, const char *reason) {
  for (sn_cc_program *p = m->programs; made && p; p = p->next)
    if (!find_functions(m, p)) {
      made = false;
      reason = "what the compiler made lacks a function";
    }
  m->busy = false;
  if (made) {
    cc->n_cached += cached;
    cc->n_compiled += !cached;
  } else {
    cc->n_failed++;
    sn_format(cc->reason, sizeof cc->reason, "%s", reason);
  }
  atomic_store_explicit(&m->state, made ? READY : FAILED, memory_order_release);
}

/* When something is wanted for the first time: finds the compiler and opens the cache. */
static bool prepare(sn_cc *cc, char *reason) {
  if (!cc->found) {
    cc->works = sn_cc_find_compiler(&cc->compiler, cc->name, reason);
    if (cc->works) sn_cc_cache_open(&cc->cache, *cc->cache_name ? cc->cache_name : NULL);
    if (cc->works) sn_cc_cache_sweep(&cc->cache, cc->compiler.seconds);
    cc->found = true;
  }
  return cc->works;
}

static module *find_wanted(const sn_cc *cc) {
  for (module *m = cc->modules; m; m = m->next)
    if (m->refs && atomic_load(&m->state) == WANTED) return m;
  return NULL;
}

static void *work(void *arg) {
  sn_cc *cc = arg;
  pthread_mutex_lock(&cc->lock);
  while (!cc->stop) {
    module *m = find_wanted(cc);
    if (!m) {
      pthread_cond_broadcast(&cc->settled);
      pthread_cond_wait(&cc->wanted, &cc->lock);
      continue;
    }
    char reason[SN_CC_REASON];
    bool cached = false;
    const bool tries = cc->n_failed < MOST_FAILURES;
    sn_format(reason, sizeof reason, "%s", cc->reason);
    m->busy = true;
    pthread_mutex_unlock(&cc->lock);
    const bool made = tries && prepare(cc, reason) && obtain(cc, m, &cached, reason);
    pthread_mutex_lock(&cc->lock);
    publish(cc, m, made, cached, reason);
  }
  pthread_mutex_unlock(&cc->lock);
  return NULL;
}

/* ---- what workers ask ------------------------------------------------------------------------ */

bool sn_cc_is_ready(const void *arg) {
  module *m = (module *)(uintptr_t)arg;
  const uint32_t state = atomic_load_explicit(&m->state, memory_order_acquire);
  if (state != COLD) return state == READY;
  if (atomic_fetch_add(&m->calls, 1) + 1 != m->hot) return false;
  uint32_t cold = COLD;
  sn_cc *cc = m->cc;
  if (atomic_compare_exchange_strong(&m->state, &cold, WANTED)) {
    pthread_mutex_lock(&cc->lock);
    pthread_cond_signal(&cc->wanted);
    pthread_mutex_unlock(&cc->lock);
  }
  return false;
}

/* ---- on the thread of the API ---------------------------------------------------------------- */

/* Frees the modules that nobody refers to and that are not being worked on. The caller holds the lock. */
static void sweep(sn_cc *cc) {
  for (module **at = &cc->modules, *m; (m = *at);) {
    if (m->refs || m->busy) {
      at = &m->next;
      continue;
    }
    *at = m->next;
    if (m->handle) dlclose(m->handle);
    sn_free(cc->env, m->text, m->size);
    sn_free(cc->env, m, sizeof *m);
  }
}

/* Starts the background thread, with all signals blocked: they are for the threads of the application. */
static bool start(sn_cc *cc) {
  sigset_t all, before;
  if (cc->started) return true;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  cc->started = !pthread_create(&cc->thread, NULL, work, cc);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return cc->started;
}

/* *out is the module of a text: a live one, or a new one with a copy of the text, which join adds to the list. */
static sn_status register_text(sn_cc *cc, const char *prelude, const char *text, size_t size,
                               uint32_t hot, module **out) {
  for (module *m = cc->modules; m; m = m->next)
    if (m->refs && m->prelude == prelude && m->size == size && !memcmp(m->text, text, size)) {
      *out = m;
      return SN_OK;
    }
  char *copy;
  module *m;
  SN_TRY(sn_alloc(cc->env, size, (void **)&copy));
  const sn_status status = sn_alloc_zeroed(cc->env, 1, sizeof *m, (void **)&m);
  if (status) {
    sn_free(cc->env, copy, size);
    return status;
  }
  memcpy(copy, text, size);
  m->cc = cc;
  m->prelude = prelude;
  m->text = copy;
  m->size = size;
  m->hot = hot;
  *out = m;
  return SN_OK;
}

/* Stands in sn_code for a function that is still to be made, since kernels ask which functions are not NULL. It is never
 * called. */
static void not_yet(void) {}

static void hang_in(const sn_cc_program *p) {
  size_t at = 0;
  for (size_t i = 0; i < p->n; i++) {
    sn_kernel *part;
    for (uint32_t k = 0; (part = sn_kernel_part(&p->kernels[i], k)); k++, at++) {
      const bool *has = p->functions[at].has;
      part->code = (sn_code){.module = p->module,
                             .ready = sn_cc_is_ready,
                             .engine = "cc",
                             .made = &p->made[at],
                             .strip = has[SN_CC_ROLE_STRIP] ? (sn_strip_code *)not_yet : NULL,
                             .fold = has[SN_CC_ROLE_FOLD] ? (sn_fold_code *)not_yet : NULL,
                             .columns = has[SN_CC_ROLE_COLUMNS] ? (sn_columns_code *)not_yet : NULL,
                             .rows = has[SN_CC_ROLE_ROWS] ? (sn_rows_code *)not_yet : NULL};
    }
  }
}

static sn_status write_all(sn_arena *scratch, sn_cc_program *p, sn_cc_functions *functions,
                           sn_text *text) {
  uint8_t *blocks;
  SN_TRY(sn_arena_alloc(scratch, SN_CC_BLOCKS, 1, (void **)&blocks));
  *text = sn_text_in(scratch);
  for (size_t i = 0, at = 0; i < p->n; i++) {
    SN_TRY(sn_cc_add_kernel(text, i, &p->kernels[i], blocks, &functions[at]));
    at += sn_cc_count_parts(&p->kernels[i]);
  }
  return text->status;
}

/* Makes the program a user of the module, which may be ready already. */
static void join(sn_cc *cc, module *m, sn_cc_program *p) {
  pthread_mutex_lock(&cc->lock);
  if (!m->refs++) {
    m->next = cc->modules;
    cc->modules = m;
  }
  p->module = m;
  p->next = m->programs;
  m->programs = p;
  if (atomic_load(&m->state) == READY) find_functions(m, p);
  pthread_mutex_unlock(&cc->lock);
}

static sn_status make_program(sn_cc *cc, sn_arena *arena, sn_arena *scratch, sn_kernel *kernels,
                              size_t n, sn_cc_program **out) {
  sn_cc_program *p;
  sn_cc_functions *functions;
  size_t n_parts = 0;
  bool any = false;
  for (size_t i = 0; i < n; i++) n_parts += sn_cc_count_parts(&kernels[i]);
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *p, (void **)&p));
  SN_TRY(sn_arena_alloc(arena, n_parts, sizeof *functions, (void **)&functions));
  SN_TRY(sn_arena_alloc(arena, n_parts, sizeof *p->made, (void **)&p->made));
  p->kernels = kernels;
  p->n = n;
  p->functions = functions;
  sn_text text;
  module *m;
  SN_TRY(write_all(scratch, p, functions, &text));
  for (size_t i = 0; i < n_parts; i++)
    for (int role = 0; role < SN_CC_ROLES; role++) any = any || functions[i].has[role];
  if (!any || !start(cc)) return SN_OK;
  SN_TRY(register_text(cc, sn_cc_kernel_prelude, text.data, text.used,
                       HOT_CALLS * (uint32_t)n_parts, &m));
  join(cc, m, p);
  hang_in(p);
  *out = p;
  return SN_OK;
}

sn_status sn_cc_attach(sn_cc *cc, sn_arena *arena, sn_kernel *kernels, size_t n,
                       sn_cc_program **out) {
  *out = NULL;
  if (!cc) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = make_program(cc, arena, &scratch, kernels, n, out);
  sn_arena_free(&scratch);
  if (cc->waits) sn_cc_wait(cc);
  return status;
}

static sn_status make_loop(sn_cc *cc, sn_arena *arena, sn_arena *scratch,
                           const sn_serial_control *loop, sn_cc_program **out) {
  sn_cc_program *p;
  sn_text text = sn_text_in(scratch);
  module *m;
  bool able;
  SN_TRY(sn_cc_add_loop(&text, cc->fused, loop, &able));
  if (!able || !start(cc)) return SN_OK;
  SN_TRY(sn_arena_alloc(arena, 1, sizeof *p, (void **)&p));
  SN_TRY(register_text(cc, sn_cc_loop_prelude, text.data, text.used, HOT_CALLS, &m));
  join(cc, m, p);
  *out = p;
  return SN_OK;
}

sn_status sn_cc_make_loop(sn_cc *cc, sn_arena *arena, const sn_serial_control *loop,
                          sn_cc_program **out) {
  *out = NULL;
  if (!cc) return SN_OK;
  sn_arena scratch;
  sn_arena_init(&scratch, arena->env);
  const sn_status status = make_loop(cc, arena, &scratch, loop, out);
  sn_arena_free(&scratch);
  if (cc->waits) sn_cc_wait(cc);
  return status;
}

sn_serial_code *const *sn_cc_loop_of(const sn_cc_program *p) { return &p->loop; }

const void *sn_cc_module_of(const sn_cc_program *p) { return p->module; }

void sn_cc_release(sn_cc_program *p) {
  if (!p) return;
  sn_cc *cc = p->module->cc;
  pthread_mutex_lock(&cc->lock);
  sn_cc_program **at = &p->module->programs;
  while (*at != p) at = &(*at)->next;
  *at = p->next;
  p->module->refs--;
  sweep(cc);
  pthread_mutex_unlock(&cc->lock);
}

/* Asks for all modules. The caller holds the lock. */
static void want_all(sn_cc *cc) {
  for (module *m = cc->modules; m; m = m->next) {
    uint32_t cold = COLD;
    atomic_compare_exchange_strong(&m->state, &cold, WANTED);
  }
  pthread_cond_signal(&cc->wanted);
}

void sn_cc_wait(sn_cc *cc) {
  if (!cc || !cc->started) return;
  pthread_mutex_lock(&cc->lock);
  want_all(cc);
  while (find_wanted(cc)) pthread_cond_wait(&cc->settled, &cc->lock);
  pthread_mutex_unlock(&cc->lock);
}

bool sn_cc_is_compiling(sn_cc *cc) {
  if (!cc || !cc->started) return false;
  pthread_mutex_lock(&cc->lock);
  want_all(cc);
  const bool coming = find_wanted(cc) != NULL;
  pthread_mutex_unlock(&cc->lock);
  return coming;
}

const char *sn_cc_state(sn_cc *cc) {
  if (!cc) return "off";
  uint32_t n = 0;
  pthread_mutex_lock(&cc->lock);
  for (const module *m = cc->modules; m; m = m->next)
    n += atomic_load(&m->state) < READY && m->refs;
  /* The thread opens the cache without the lock, before it ends its first module. */
  const bool tried = cc->n_compiled || cc->n_cached || cc->n_failed;
  sn_format(cc->state, sizeof cc->state,
            "%u compiled, %u from the cache, %u failed, %u to come%s%s%s%s", cc->n_compiled,
            cc->n_cached, cc->n_failed, n, *cc->reason ? "; " : "", cc->reason,
            tried && *cc->cache.reason ? "; " : "", tried ? cc->cache.reason : "");
  pthread_mutex_unlock(&cc->lock);
  return cc->state;
}

sn_status sn_cc_open(sn_env *env, sn_isa_id isa, bool fused, sn_cc **out) {
  const char *name = secure_getenv("SINTER_CC"), *cache = secure_getenv("SINTER_CC_CACHE");
  const char *seconds = secure_getenv("SINTER_CC_SECONDS"), *mb = secure_getenv("SINTER_CC_CACHE_MB");
  *out = NULL;
  if (name && (!*name || !strcmp(name, "off"))) return SN_OK;
  sn_cc *cc;
  SN_TRY(sn_alloc_zeroed(env, 1, sizeof *cc, (void **)&cc));
  cc->env = env;
  cc->compiler.isa = isa;
  cc->fused = fused;
  cc->compiler.seconds = seconds && atoi(seconds) > 0 ? atoi(seconds) : 60;
  cc->compiler.stop = &cc->stop;
  cc->cache_bytes = (uint64_t)(mb && atoi(mb) > 0 ? atoi(mb) : CACHE_MB) << 20;
  cc->waits = secure_getenv("SINTER_CC_WAIT") != NULL;
  sn_format(cc->name, sizeof cc->name, "%s", name ? name : "cc");
  sn_format(cc->cache_name, sizeof cc->cache_name, "%s", cache ? cache : "");
  pthread_mutex_init(&cc->lock, NULL);
  pthread_cond_init(&cc->wanted, NULL);
  pthread_cond_init(&cc->settled, NULL);
  *out = cc;
  return SN_OK;
}

void sn_cc_close(sn_cc *cc) {
  if (!cc) return;
  pthread_mutex_lock(&cc->lock);
  cc->stop = true;
  pthread_cond_signal(&cc->wanted);
  pthread_mutex_unlock(&cc->lock);
  if (cc->started) pthread_join(cc->thread, NULL);
  sweep(cc);
  pthread_cond_destroy(&cc->settled);
  pthread_cond_destroy(&cc->wanted);
  pthread_mutex_destroy(&cc->lock);
  sn_free(cc->env, cc, sizeof *cc);
}
