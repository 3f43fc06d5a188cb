/* Whether anything is recorded, where the program is, and how one block is recorded. */

#include "births.h"

#include <errno.h>
#include <pthread.h>

static _Atomic int never;
_Atomic int *recording = &never;
_Atomic int native_is_recorded;
_Atomic int32_t current_generation = -1;
_Atomic uint16_t current_phase;
_Atomic uint8_t small_one_in = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside __attribute__((tls_model("initial-exec")));
__thread int is_quiet __attribute__((tls_model("initial-exec")));

int
enter(void)
{
    if (!*recording || inside) {
        return 0;
    }
    inside = 1;
    pthread_mutex_lock(&lock);
    return 1;
}

void
leave(void)
{
    pthread_mutex_unlock(&lock);
    inside = 0;
}

/* A child may have been forked while another thread held the lock. */
void
renew_lock(void)
{
    pthread_mutex_init(&lock, NULL);
    inside = 0;
}

int
begin_birth(enum domain domain, size_t size, Birth *birth)
{
    birth->weight = next_time(domain, size);
    birth->size = size;
    birth->domain = domain;
    birth->shadow = NULL;
    if (birth->weight == 0 || !*recording || inside || is_quiet || (domain == NATIVE && !native_is_recorded)) {
        return 0;
    }
    birth->share = share_of_site(domain, size);
    if (birth->share == 0) {
        return 0;
    }
    birth->weight /= birth->share;
    birth->count = read_frames(domain, birth->frames);
    return birth->count >= 0;
}

static void
record(const Birth *birth, void *block)
{
    uint8_t one_in = birth->domain == OBJ || birth->domain == MEM ? small_one_in : 1;
    Sample sample = {
        .block = (uintptr_t)block,
        .shadow = birth->shadow,
        .size = birth->size,
        .weight = birth->weight * one_in,
        .share = (float)birth->share,
        .stack = stack_number(birth->frames, birth->count),
        .generation = current_generation,
        .phase = current_phase,
        .domain = (uint8_t)birth->domain,
        .one_in = one_in,
    };
    samples_add(&sample);
    sampler_count(&sample);
}

int
end_birth(const Birth *birth, void *block)
{
    if (block == NULL || !enter()) {
        return 0;
    }
    record(birth, block);
    leave();
    return 1;
}

void
born(enum domain domain, void *block, size_t size)
{
    Birth birth;
    int error = errno;
    if (begin_birth(domain, size, &birth)) {
        end_birth(&birth, block);
    }
    errno = error;
}

int
forget(const void *block, Sample *held)
{
    int had = 0;
    if (block != NULL && enter()) {
        had = samples_remove(block, held);
        leave();
    }
    return had;
}

void
remember(const Sample *held)
{
    Sample again = *held;
    again.shadow = NULL; /* left when it was forgotten */
    if (enter()) {
        samples_add(&again);
        leave();
    }
}

void *
take_shadows(void)
{
    pthread_mutex_lock(&lock);
    void *first = samples_take_shadows();
    pthread_mutex_unlock(&lock);
    return first;
}

void
died(const void *block)
{
    Sample unused;
    int error = errno;
    forget(block, &unused);
    errno = error;
}
