/* Which allocations are recorded, and what each of them stands for.

   A Poisson process: the time to the next sample is drawn from the exponential distribution, anew after
   each sample, for each thread, and each block takes a part of it. All blocks of a stratum take the same
   part c, and so are recorded with the probability p = 1 - exp(-c), whatever came before them: a block of S
   bytes that was recorded stands for S / p, which has the true sum as its mean (Horvitz and Thompson,
   1952). Each sample keeps its own weight, so that c may change at any time. */

#include "births.h"

#include <math.h>
#include <time.h>

/* Samples of one family that any run may take, and so many more for each second of CPU time: of small,
   medium and large blocks. Chosen: small ones stay unseen longest, since few of their bytes are sampled.
   Of a GPU there is no block that is not of one tensor. */
static const struct {
    double any_run, a_second;
} budgets[FAMILIES] = {{15000, 1500}, {7500, 750}, {7500, 750}, {15000, 1500}, {7500, 750}, {7500, 750},
                       {5000, 500}, {5000, 500}, {5000, 500}};
/* Later than so many seconds the rate falls with the time that has passed, down to the least share: what leaks
   in a long run leaves as many samples by its end. Measured with a third from the start, on 80 programs of
   strangers of some 10 s each, played once: 65 of 70 leaks found, not 68, and 54 lines right, not 57, beside
   more other work. */
#define EARLY_SECONDS 20.0
#define LEAST_SHARE (1.0 / 20)
/* The strata of a family that are thought to be busy before their rates are known. Chosen. */
#define FIRST_BUSY 8
/* A stratum that takes less than this share of what it may is sampled more. Chosen: intervals are doubled
   and halved, so that half would go up and down. */
#define FEW (1.0 / 4)
/* CPU seconds of which a rate is told: fewer have too few samples. Once the samples of any run are taken, a
   stratum that was idle for a moment must not be thought to be rare: more. Chosen. */
#define LOOK_BACK 0.02
#define LOOK_BACK_LATER 0.1
/* Samples of a stratum between two looks at the clock, and how often at most its interval is doubled at one:
   blocks larger than the interval are all sampled, so that the rate does not fall at once. */
#define STEP 256
#define MOST_AT_ONCE 3
#define SMALLEST_INTERVAL 64.0
#define LARGEST_INTERVAL 1e12
/* Of the clock: the mean of the time that is drawn, and the most that one block may take of it. */
#define MEAN_TIME 0x1p24
#define MOST_TIME 0x1p30

__thread int64_t time_left __attribute__((tls_model("initial-exec")));
__thread int has_clock __attribute__((tls_model("initial-exec")));
static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));

_Atomic uint32_t costs[STRATA] HOT;
static Stratum strata[STRATA];
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

/* The bytes of the largest block of a stratum. */
static double
largest(int stratum)
{
    int class = stratum % STRATA_OF_ONE;
    if (class < SMALL_STRATA) {
        return class ? 16.0 * class : 16.0;
    }
    return ldexp(SMALL, class - SMALL_STRATA + 1);
}

static enum family
family_at(int stratum)
{
    size_t size = (size_t)largest(stratum % STRATA_OF_ONE);
    return family_of_kind(stratum / STRATA_OF_ONE, size);
}

static void
set_interval(int stratum, double interval)
{
    double cost = fmin(fmax(largest(stratum) / interval * MEAN_TIME, 1), MOST_TIME);
    strata[stratum].interval = interval;
    atomic_store_explicit(&costs[stratum], (uint32_t)cost, memory_order_relaxed);
}

double
probability(int stratum)
{
    uint32_t cost = atomic_load_explicit(&costs[stratum], memory_order_relaxed);
    return -expm1(-(double)cost / MEAN_TIME);
}

void
sample_less(int stratum)
{
    set_interval(stratum, strata[stratum].interval * 2);
}

static int64_t
draw(void)
{
    return (int64_t)(-log(uniform()) * MEAN_TIME);
}

double
next_time(enum domain domain, size_t size)
{
    time_left = draw();
    if (!has_clock) {
        has_clock = 1;
        if (!is_due(domain, size)) {
            return 0;
        }
        time_left = draw();
    }
    return (double)size / probability(stratum_of(domain, size));
}

/* Samples a second that a family may take now. */
static double
a_second(enum family family, double now)
{
    double share = EARLY_SECONDS / (now - started + 1e-9);
    return budgets[family].a_second * fmin(fmax(share, LEAST_SHARE), 1);
}

/* The same, over the time since the start, and what any run may take. */
static double
allowance(enum family family, double now)
{
    double passed = now - started, last = EARLY_SECONDS / LEAST_SHARE;
    double seconds = fmin(passed, EARLY_SECONDS);
    if (passed > EARLY_SECONDS) {
        seconds += EARLY_SECONDS * log(fmin(passed, last) / EARLY_SECONDS) + LEAST_SHARE * fmax(passed - last, 0);
    }
    return budgets[family].any_run + budgets[family].a_second * seconds;
}

void
sampler_start(double python_interval, double c_interval, uint64_t seed, int adapts)
{
    started = cpu_seconds();
    for (int family = 0; family < FAMILIES; family++) {
        double level = a_second((enum family)family, started) / FIRST_BUSY;
        families[family] = (Family){.seconds = started, .level = level};
    }
    for (int stratum = 0; stratum < STRATA; stratum++) {
        strata[stratum] = (Stratum){.next_check = STEP, .checked = started};
        set_interval(stratum, stratum < STRATA_OF_ONE ? python_interval : c_interval);
    }
    small_blocks = 0;
    is_adaptive = adapts;
    seeds = mixed(seed) | 1;
    random_state = 0;
    has_clock = 0; /* those of other threads go on */
    time_left = 0;
}

static int
is_overdrawn(enum family family, double now)
{
    return (double)families[family].taken > allowance(family, now);
}

/* Double the interval until the stratum takes no more a second than its family leaves to each. */
static void
hold_back(int number, enum family family, double now)
{
    Stratum *stratum = &strata[number];
    double own = STEP / (now - stratum->checked + 1e-9);
    stratum->checked = now;
    if (is_overdrawn(family, now)) {
        int doublings = 0;
        double level = families[family].level;
        for (; own > level && doublings < MOST_AT_ONCE && stratum->interval < LARGEST_INTERVAL; doublings++) {
            sample_less(number);
            own /= 2;
        }
    }
}

double
mean_interval(enum family smallest)
{
    int first = smallest / SIZES * STRATA_OF_ONE;
    double bytes = 0, expected = 0; /* samples, at the present intervals */
    for (int number = first; number < first + SMALL_STRATA; number++) {
        bytes += strata[number].bytes;
        expected += strata[number].bytes / strata[number].interval;
    }
    return expected > 0 ? bytes / expected : strata[first].interval;
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
    int number = stratum_of(sample->domain, sample->size);
    enum family of = family_of_kind(kind_of(sample->domain), sample->size);
    Stratum *stratum = &strata[number];
    Family *family = &families[of];
    double blocks = sample->weight / (double)sample->size;
    stratum->bytes += sample->weight;
    stratum->taken++;
    family->taken++;
    family->bytes += sample->weight;
    family->blocks += blocks;
    if (sample->domain == OBJ || sample->domain == MEM) {
        small_blocks += blocks / sample->one_in;
    }
    if (stratum->taken >= stratum->next_check) {
        stratum->next_check = stratum->taken + STEP;
        if (is_adaptive) {
            hold_back(number, of, cpu_seconds());
        }
    }
}

/* Return the samples a second that each stratum of a family may take: those that take less are left alone,
   and the others share the rest evenly (max-min fairness; Bertsekas and Gallager 1992, section 6.5.2). */
static double
level_of(enum family family, double passed, double now)
{
    double level = 0, rest, whole = a_second(family, now);
    int busy = STRATA, others;
    do {
        others = busy;
        busy = 0;
        rest = whole;
        for (int number = 0; number < STRATA; number++) {
            double rate = (double)(strata[number].taken - strata[number].before) / passed;
            int is_of_it = family_at(number) == family;
            busy += is_of_it && rate > level;
            rest -= is_of_it && rate <= level ? rate : 0;
        }
        level = busy ? rest / busy : whole;
    } while (busy && busy != others);
    return level;
}

/* Halve the interval of a stratum that takes few samples: after a burst, as of imports, at once. Where a
   family has taken too many, a stratum without any is halved once: its next burst may be large. */
static void
catch_up(int number, double passed, double level, int has_too_many)
{
    Stratum *stratum = &strata[number];
    double rate = (double)(stratum->taken - stratum->before) / passed;
    int is_careful = has_too_many && rate == 0;
    while (rate < level * FEW && stratum->interval >= 2 * SMALLEST_INTERVAL) {
        set_interval(number, stratum->interval / 2);
        rate *= 2;
        if (is_careful) {
            break;
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
        int is_later = (double)family->taken > budgets[which].any_run;
        if (!is_adaptive || passed < (is_later ? LOOK_BACK_LATER : LOOK_BACK)) {
            continue;
        }
        int is_whole = which != PYTHON_SMALL || small_is_recorded;
        int has_too_many = is_overdrawn((enum family)which, now);
        family->level = level_of((enum family)which, passed, now);
        for (int number = 0; number < STRATA; number++) {
            if ((int)family_at(number) != which) {
                continue;
            }
            if (is_whole) {
                catch_up(number, passed, family->level, has_too_many);
            }
            strata[number].before = strata[number].taken;
        }
        family->seconds = now;
    }
}
