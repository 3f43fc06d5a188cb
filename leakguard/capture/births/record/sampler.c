/* Which allocations are recorded, and what each of them stands for.

   A Poisson process in bytes: the distance to the next sample is drawn from the exponential
   distribution, anew after each sample, for each thread. A block of S bytes is recorded with the
   probability p = 1 - exp(-S / interval) whatever came before it, so that S / p, summed over what was
   recorded, has the true sum as its mean (Horvitz and Thompson, 1952). Each sample keeps its own
   weight, so that intervals may change at any time. */

#include "births.h"

#include <math.h>
#include <time.h>

/* Samples of one family that any run may take, and so many more for each second of CPU time: of small,
   medium and large blocks. Chosen: small ones stay unseen longest, since few of their bytes are sampled. */
static const struct {
    double any_run, a_second;
} budgets[] = {{15000, 1500}, {2500, 250}, {2500, 250}};
/* CPU seconds of which a rate is told: fewer have too few samples. */
#define SHORTEST_LOOK_BACK 0.02
/* Samples between two looks at the clock, and how often at most the interval is doubled at one: blocks
   larger than the interval are all sampled, so that the rate does not fall at once. */
#define STEP 1024
#define MOST_DOUBLINGS 3
#define SMALLEST_INTERVAL 64.0
#define LARGEST_INTERVAL 1e12

__thread Distance distances[FAMILIES] __attribute__((tls_model("initial-exec")));
static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));

Family families[FAMILIES];
double small_blocks;
static uint64_t seeds = 1;
static int is_adaptive;
static double started;

double
cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* splitmix64 (Steele and others, 2014) */
static uint64_t
mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

double
uniform(void)
{
    if (random_state == 0) {
        random_state = mixed(__atomic_fetch_add(&seeds, 0x9E3779B97F4A7C15u, __ATOMIC_RELAXED)) | 1;
    }
    random_state += 0x9E3779B97F4A7C15u;
    return (double)((mixed(random_state) >> 11) + 1) * 0x1p-53;
}

double
probability(size_t size, double interval)
{
    return -expm1(-(double)size / interval);
}

static int64_t
draw(double interval)
{
    double distance = -log(uniform()) * interval;
    return distance < 1e18 ? (int64_t)distance : (int64_t)1e18;
}

double
next_distance(enum family family, size_t size)
{
    Distance *own = &distances[family];
    double drawn = own->interval, interval = families[family].interval;
    own->interval = interval;
    own->left = draw(interval);
    if (drawn > 0) {
        return (double)size / probability(size, drawn);
    }
    if (!is_due(family, size)) {
        return 0;
    }
    own->left = draw(interval);
    return (double)size / probability(size, interval);
}

void
sampler_start(double python_interval, double c_interval, uint64_t seed, int adapts)
{
    started = cpu_seconds();
    for (int family = 0; family < FAMILIES; family++) {
        double interval = family < C_SMALL ? python_interval : c_interval;
        families[family] = (Family){.interval = interval, .next_check = STEP, .checked = started, .seconds = started};
    }
    small_blocks = 0;
    is_adaptive = adapts;
    seeds = mixed(seed) | 1;
    random_state = 0;
    for (int family = 0; family < FAMILIES; family++) { /* those of other threads go on as drawn */
        distances[family] = (Distance){0, 0};
    }
}

static int
size_class(const Family *family)
{
    return (int)(family - families) % C_SMALL;
}

static int
is_overdrawn(const Family *family, double now)
{
    int size = size_class(family);
    return (double)family->taken > budgets[size].any_run + budgets[size].a_second * (now - started);
}

/* Double the interval until the rate of the last samples is what a second may have. */
static void
hold_back(Family *family, double now)
{
    double rate = STEP / (now - family->checked + 1e-9), allowed = budgets[size_class(family)].a_second;
    family->checked = now;
    if (is_overdrawn(family, now)) {
        for (int i = 0; i < MOST_DOUBLINGS && rate > allowed && family->interval < LARGEST_INTERVAL; i++) {
            family->interval = family->interval * 2;
            rate /= 2;
        }
    }
}

uint64_t
samples_taken(void)
{
    uint64_t taken = 0;
    for (int family = 0; family < FAMILIES; family++) {
        taken += families[family].taken;
    }
    return taken;
}

void
sampler_count(const Sample *sample)
{
    Family *family = &families[family_of(sample->domain, sample->size)];
    double blocks = sample->weight / (double)sample->size;
    family->taken++;
    family->bytes += sample->weight;
    family->blocks += blocks;
    if (sample->domain == OBJ || sample->domain == MEM) {
        small_blocks += blocks / sample->one_in;
    }
    if (family->taken >= family->next_check) {
        family->next_check = family->taken + STEP;
        if (is_adaptive) {
            hold_back(family, cpu_seconds());
        }
    }
}

void
sampler_adapt(void)
{
    double now = cpu_seconds();
    for (int which = 0; which < FAMILIES; which++) {
        Family *family = &families[which];
        double passed = now - family->seconds;
        if (!is_adaptive || passed < SHORTEST_LOOK_BACK) {
            continue;
        }
        double rate = (double)(family->taken - family->before) / passed;
        double few = budgets[size_class(family)].a_second / 4;
        int is_whole = which != PYTHON_SMALL || small_is_recorded;
        for (; is_whole && rate < few && family->interval >= 2 * SMALLEST_INTERVAL; rate *= 2) {
            family->interval = family->interval / 2; /* after a burst, as of imports, at once */
        }
        family->seconds = now;
        family->before = family->taken;
    }
}
