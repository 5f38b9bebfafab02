/* Preloaded into a peer: counts its calls of fsync and fdatasync in the file named by QUORATE_SYNC_COUNT (8 bytes, the machine's byte order). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t *counter;
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);

__attribute__((constructor)) static void begin(void) {
    real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    const char *path = getenv("QUORATE_SYNC_COUNT");
    int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (file < 0) return;
    if (ftruncate(file, sizeof *counter) == 0) {
        void *shared = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (shared != MAP_FAILED) counter = shared;
    }
    close(file);
}

int fsync(int file) {
    if (counter) __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
    return real_fsync(file);
}

int fdatasync(int file) {
    if (counter) __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
    return real_fdatasync(file);
}
