#define _GNU_SOURCE 1

#include "cc/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/format.h"
#include "base/host.h"

extern char **environ;

/* The flags that matter for the bits of results are those with which CMakeLists.txt compiles the library. */
#define COMMON                                                                               \
  "-std=gnu11", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing", "-w", \
      "-Wno-psabi", "-fvisibility=hidden", "-fPIC", "-shared"

const char *const *sn_cc_flags(sn_isa_id isa) {
  static const char *const plain[] = {COMMON, NULL},
                           *const avx2[] = {COMMON, SN_CC_FLAGS_AVX2, NULL},
                           *const avx512[] = {COMMON, SN_CC_FLAGS_AVX512, NULL};
  return isa == SN_ISA_AVX512 ? avx512 : isa == SN_ISA_AVX2 ? avx2 : plain;
}

int sn_cc_vector_bytes(sn_isa_id isa) {
  return isa == SN_ISA_AVX512 ? 64 : isa == SN_ISA_AVX2 ? 32 : 16;
}

/* ---- a child process ------------------------------------------------------------------------- */

static void pause_ms(long ms) {
  const struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, NULL);
}

/* Waits for the child; returns whether it ended with status 0 in time. If a wait elsewhere in the process has taken its
 * status, returns true: the caller then fails at using its output, if there is none. */
static bool end_of(const sn_cc_compiler *c, pid_t child, char *reason) {
  const double until = sn_host_now_ms() + 1e3 * c->seconds;
  for (long ms = 1;; ms = ms < 8 ? ms + 1 : ms) {
    int status;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended < 0 && errno != EINTR) return true;
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
      sn_format(reason, SN_CC_REASON, "%s failed", c->path);
      return false;
    }
    const bool late = sn_host_now_ms() > until;
    if (late || *c->stop) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      sn_format(reason, SN_CC_REASON, late ? "%s took more than %d s" : "stopped", c->path,
                c->seconds);
      return false;
    }
    pause_ms(ms);
  }
}

/* Runs the compiler in a process group of its own, with only the files opened here and no signal blocked, and waits for it. */
static bool spawn(const sn_cc_compiler *c, const char *const *args, const char *log, char *reason) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t child;
  sigemptyset(&none);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
  posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  const int error =
      posix_spawn(&child, c->path, &files, &attributes, (char *const *)(uintptr_t)args, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error) {
    sn_format(reason, SN_CC_REASON, "%s cannot be run: %s", c->path, strerror(error));
    return false;
  }
  return end_of(c, child, reason);
}

/* The first line of a file, at most room - 1 bytes of it. */
static void first_line(const char *path, char *out, size_t room) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const ssize_t n = file < 0 ? 0 : read(file, out, room - 1);
  if (file >= 0) close(file);
  out[n > 0 ? n : 0] = '\0';
  out[strcspn(out, "\r\n")] = '\0';
}

bool sn_cc_compile(const sn_cc_compiler *c, const char *source, const char *object, const char *log,
                   char *reason) {
  const char *args[40] = {c->path};
  size_t n = 1;
  for (const char *const *flag = sn_cc_flags(c->isa); *flag; flag++) args[n++] = *flag;
  args[n++] = "-o";
  args[n++] = object;
  args[n++] = source;
  if (spawn(c, args, log, reason)) return true;
  char line[200];
  first_line(log, line, sizeof line);
  const size_t used = strlen(reason);
  if (*line) sn_format(reason + used, SN_CC_REASON - used, ": %s", line);
  return false;
}

/* ---- finding it ------------------------------------------------------------------------------ */

static bool is_program(const char *path, struct stat *about) {
  return !stat(path, about) && S_ISREG(about->st_mode) && !access(path, X_OK);
}

static bool find_in_path(const char *name, char *out, struct stat *about) {
  const char *at = secure_getenv("PATH");
  for (; at && *at; at += *at == ':') {
    const size_t n = strcspn(at, ":");
    if (n && *at == '/' && sn_format(out, SN_CC_PATH, "%.*s/%s", (int)n, at, name) < SN_CC_PATH &&
        is_program(out, about))
      return true;
    at += n;
  }
  return false;
}

static bool ask_version(const sn_cc_compiler *c, char *out, size_t room, char *reason) {
  char log[] = "/tmp/sinter-cc-XXXXXX";
  const int file = mkostemp(log, O_CLOEXEC);
  if (file < 0) {
    sn_format(reason, SN_CC_REASON, "/tmp: %s", strerror(errno));
    return false;
  }
  close(file);
  const bool runs = spawn(c, (const char *const[]){c->path, "--version", NULL}, log, reason);
  if (runs) first_line(log, out, room);
  unlink(log);
  return runs;
}

bool sn_cc_find_compiler(sn_cc_compiler *c, const char *name, char *reason) {
  struct stat about;
  bool found = false;
  if (!strchr(name, '/'))
    found = find_in_path(name, c->path, &about);
  else if (sn_format(c->path, sizeof c->path, "%s", name) < sizeof c->path)
    found = is_program(c->path, &about);
  if (!found) {
    sn_format(reason, SN_CC_REASON, "there is no compiler %.200s", name);
    return false;
  }
  char version[256] = "";
  if (!ask_version(c, version, sizeof version, reason)) return false;
  sn_format(c->identity, sizeof c->identity, "%s %lld %lld %s", c->path, (long long)about.st_size,
            (long long)about.st_mtime, version);
  return true;
}
