/* Whether anything is recorded, where the program is, and how one block is recorded. */

#include "births.h"

#include <errno.h>
#include <pthread.h>

static int never;
volatile int *recording = &never;
volatile int native_is_recorded;
volatile int32_t current_generation = -1;
volatile uint16_t current_phase;

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

static void
record(enum domain domain, void *block, size_t size, double weight, const RawFrame *frames, int count)
{
    Sample sample = {
        .block = (uintptr_t)block,
        .size = size,
        .weight = weight,
        .stack = stack_number(frames, count),
        .generation = current_generation,
        .phase = current_phase,
        .domain = (uint8_t)domain,
    };
    samples_add(&sample);
    sampler_count(family_of(domain), size, weight);
}

void
born(enum domain domain, void *block, size_t size)
{
    double weight = next_distance(family_of(domain), size);
    if (weight == 0 || block == NULL || !*recording || (domain == NATIVE && !native_is_recorded)) {
        return;
    }
    int error = errno;
    RawFrame frames[MOST_FRAMES];
    int count = inside || is_quiet ? -1 : read_frames(domain, frames);
    if (count >= 0 && enter()) {
        record(domain, block, size, weight, frames, count);
        leave();
    }
    errno = error;
}

void
died(const void *block)
{
    int error = errno;
    if (enter()) {
        Sample unused;
        samples_remove(block, &unused);
        leave();
    }
    errno = error;
}
