/* Which allocations are recorded, and what each of them stands for.

   A Poisson process: the time to the next sample is drawn from the exponential distribution, anew after
   each sample, for each thread, and each block takes a part of it. All blocks of a stratum take the same
   part c, and so are recorded with the probability p = 1 - exp(-c), whatever came before them: a block of S
   bytes that was recorded stands for S / p, which has the true sum as its mean (Horvitz and Thompson,
   1952). Each sample keeps its own weight, so that c may change at any time.

   A block that is due by this is a candidate. A line that a loop runs a million times has nearly all of them,
   and what leaks is seldom made there. So candidates are taken by their site, the innermost frames: the more of
   the latest candidates one has, the smaller the share of them that is recorded, and all sites come to about
   as many samples. To look at a site costs a tenth of a sample. */

#include "births.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Samples of one family that each doubling of the CPU time may take, and so many more for each second of
   it: of small, medium and large blocks. Chosen: small ones stay unseen longest, since few of their bytes are
   sampled. Of a GPU there is no block that is not of one tensor. Large blocks of C are tensors and arrays, of
   which a few leak among the thousands of a training step. Measured on one such program, with three leaks: with
   {750, 500} each had half as many samples, and five of nine were told in three plays; with {1500, 1500} all of
   six in two. A loop of such blocks takes at most 1 % more (1.049 and 1.059 of its time, each +- 0.008). */
static const struct {
    double a_doubling, a_second;
} budgets[FAMILIES] = {{1500, 1000}, {750, 500}, {750, 500}, {1500, 1000}, {750, 500}, {1500, 1500},
                       {1500, 500}, {1500, 500}, {1500, 500}};
/* The CPU seconds of which the first doubling is. Chosen. A run that may take all of its first samples at once has
   none left for its second generation: of eight leaks of 0.4 MB a generation, its last had 4 samples of 2,700. */
#define FIRST_SECONDS 0.02
/* Candidates for each sample. Measured: a candidate costs 0.1 to 0.3 us, a sample 2 to 4. Seven programs of
   strangers with 21 leaks, most of them late and small, played three times: 17, 17 and 17 lines right; without
   sites, twice with 15,000 samples and 1,500 a second, and twice with double that: 16 and 16, 17 and 16. */
#define CANDIDATES 8
/* The places of the table of sites, and how many candidates of a family halve the count of each. Chosen. */
#define SITES 16384u
#define WINDOW 512u
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
/* CPU seconds of which a rate is told: fewer have too few samples. Where a family has had too many, a stratum that
   was idle for a moment must not be thought to be rare: more. Chosen. */
#define LOOK_BACK 0.02
#define LOOK_BACK_OF_TOO_MANY 0.1
/* Candidates of a stratum between two looks at the clock, and how often at most its interval is doubled at one:
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
static _Atomic uint32_t candidates[STRATA];
Family families[FAMILIES];
/* A site has the upper bits of its hash, the window in which it was last counted, and the candidates of then. */
#define COUNT_BITS 24
#define WINDOW_BITS 16
static _Atomic uint64_t sites[SITES];
/* Of a family: its candidates, the samples of this window, and how many of one site are all taken. */
static struct {
    _Atomic uint64_t candidates;
    _Atomic uint32_t recorded;
    _Atomic float whole;
} windows[FAMILIES] HOT;
double small_blocks;
static uint64_t seeds = 1;
static int is_adaptive;
/* Since when the samples are counted that a family may take, and what it had had by then. */
static double began;
static struct {
    uint64_t candidates, taken;
} had[FAMILIES];

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
        random_state = mixed(__atomic_fetch_add(&seeds, GOLDEN, __ATOMIC_RELAXED)) | 1;
    }
    random_state += GOLDEN;
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

/* Count a candidate of a site; return how many it has had lately. Threads may lose some of each other's. */
static uint32_t
counted(enum family family, uint64_t site, uint32_t window)
{
    uint64_t key = mixed(site + family), known;
    _Atomic uint64_t *slot = &sites[key % SITES];
    uint64_t tag = key >> (COUNT_BITS + WINDOW_BITS);
    uint32_t count = 0, passed;
    known = atomic_load_explicit(slot, memory_order_relaxed);
    if (known >> (COUNT_BITS + WINDOW_BITS) == tag) {
        passed = (window - (uint32_t)(known >> COUNT_BITS)) & ((1u << WINDOW_BITS) - 1);
        count = passed < COUNT_BITS ? (uint32_t)(known & ((1u << COUNT_BITS) - 1)) >> passed : 0;
    }
    count++;
    known = tag << (COUNT_BITS + WINDOW_BITS) | (uint64_t)(window & ((1u << WINDOW_BITS) - 1)) << COUNT_BITS | count;
    atomic_store_explicit(slot, known, memory_order_relaxed);
    return count;
}

/* Samples a second that a family may take now. */
static double
a_second(enum family family, double now)
{
    double passed = now - began, share = EARLY_SECONDS / (passed + 1e-9);
    double of_doubling = budgets[family].a_doubling * M_LOG2E / (passed + FIRST_SECONDS);
    return budgets[family].a_second * fmin(fmax(share, LEAST_SHARE), 1) + of_doubling;
}

/* The same, over the time since they are counted. */
static double
allowance(enum family family, double now)
{
    double passed = now - began, last = EARLY_SECONDS / LEAST_SHARE;
    double seconds = fmin(passed, EARLY_SECONDS);
    if (passed > EARLY_SECONDS) {
        seconds += EARLY_SECONDS * log(fmin(passed, last) / EARLY_SECONDS) + LEAST_SHARE * fmax(passed - last, 0);
    }
    /* As many as one doubling has may come at once: a burst of a millisecond is no rate to hold back. */
    return budgets[family].a_second * seconds + budgets[family].a_doubling * (1 + log2(1 + passed / FIRST_SECONDS));
}

void
sampler_begin(void)
{
    began = cpu_seconds();
    for (int family = 0; family < FAMILIES; family++) {
        families[family].seconds = began;
        families[family].share = 1.0 / FIRST_BUSY;
        windows[family].whole = (float)WINDOW / CANDIDATES;
        had[family].candidates = atomic_load_explicit(&windows[family].candidates, memory_order_relaxed);
        had[family].taken = families[family].taken;
    }
    for (int stratum = 0; stratum < STRATA; stratum++) {
        strata[stratum].checked = began;
        strata[stratum].before = atomic_load_explicit(&candidates[stratum], memory_order_relaxed);
    }
}

void
sampler_start(double python_interval, double c_interval, uint64_t seed, int adapts)
{
    memset(sites, 0, sizeof(sites));
    for (int family = 0; family < FAMILIES; family++) {
        families[family] = (Family){0};
        windows[family].candidates = windows[family].recorded = 0;
    }
    for (int stratum = 0; stratum < STRATA; stratum++) {
        strata[stratum] = (Stratum){0};
        candidates[stratum] = 0;
        set_interval(stratum, stratum < STRATA_OF_ONE ? python_interval : c_interval);
    }
    sampler_begin();
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
    uint64_t all = atomic_load_explicit(&windows[family].candidates, memory_order_relaxed);
    return (double)(all - had[family].candidates) > CANDIDATES * allowance(family, now);
}

/* Return the candidates since the rates were last looked at. */
static double
lately(int number)
{
    return (double)(atomic_load_explicit(&candidates[number], memory_order_relaxed) - strata[number].before);
}

/* Candidates a second that a family may have now. */
static double
candidates_a_second(enum family family, double now)
{
    return CANDIDATES * a_second(family, now);
}

/* Return the candidates a second that each stratum of a family may have of so many: those with fewer are left
   alone, and the others share the rest evenly (max-min fairness; Bertsekas and Gallager 1992, section 6.5.2). */
static double
level_of(enum family family, double passed, double whole)
{
    double level = 0, rest;
    int busy = STRATA, others;
    do {
        others = busy;
        busy = 0;
        rest = whole;
        for (int number = 0; number < STRATA; number++) {
            double rate = lately(number) / passed;
            int is_of_it = family_at(number) == family;
            busy += is_of_it && rate > level;
            rest -= is_of_it && rate <= level ? rate : 0;
        }
        level = busy ? rest / busy : whole;
    } while (busy && busy != others);
    return level;
}

/* Halve the interval of a stratum that has few candidates: after a burst, as of imports, at once. Where a
   family has had too many, a stratum without any is halved once: its next burst may be large. */
static void
catch_up(int number, double passed, double level, int has_too_many)
{
    Stratum *stratum = &strata[number];
    double rate = lately(number) / passed;
    int is_careful = has_too_many && rate == 0;
    while (rate < level * FEW && stratum->interval >= 2 * SMALLEST_INTERVAL) {
        set_interval(number, stratum->interval / 2);
        rate *= 2;
        if (is_careful) {
            break;
        }
    }
}

/* Look at the rates of a family, unless it was done a moment ago. */
static void
adapt(enum family which, double now)
{
    Family *family = &families[which];
    double passed = now - family->seconds;
    int has_too_many = is_overdrawn(which, now), is_whole = which != PYTHON_SMALL || small_is_recorded;
    if (!is_adaptive || passed < (has_too_many ? LOOK_BACK_OF_TOO_MANY : LOOK_BACK)) {
        return;
    }
    double whole = candidates_a_second(which, now), level = level_of(which, passed, whole);
    family->share = level / whole;
    for (int number = 0; number < STRATA; number++) {
        if (family_at(number) != which) {
            continue;
        }
        if (is_whole) {
            catch_up(number, passed, level, has_too_many);
        }
        strata[number].before = atomic_load_explicit(&candidates[number], memory_order_relaxed);
    }
    family->seconds = now;
}

/* Double the interval until the stratum has no more candidates a second than its family leaves to each. */
static void
hold_back(int number, enum family family, double now)
{
    Stratum *stratum = &strata[number];
    double own = STEP / (now - stratum->checked + 1e-9);
    stratum->checked = now;
    adapt(family, now); /* a generation may be long, and its beginning is not as its end */
    if (is_overdrawn(family, now)) {
        int doublings = 0;
        double level = families[family].share * candidates_a_second(family, now);
        for (; own > level && doublings < MOST_AT_ONCE && stratum->interval < LARGEST_INTERVAL; doublings++) {
            sample_less(number);
            own /= 2;
        }
    }
}

/* A window is over: if the family has had too many samples, take as many in the next one as one of CANDIDATES, by
   taking more or less of each site; else take more. */
static void
end_window(enum family family)
{
    uint32_t recorded = atomic_exchange_explicit(&windows[family].recorded, 0, memory_order_relaxed);
    float whole = atomic_load_explicit(&windows[family].whole, memory_order_relaxed);
    double factor = 2;
    if ((double)(families[family].taken - had[family].taken) > allowance(family, cpu_seconds())) {
        factor = fmin(fmax((double)WINDOW / CANDIDATES / (recorded + 1.0), 1.0 / 16), 2);
    }
    whole = (float)fmin(fmax(whole * factor, 1.0 / WINDOW), WINDOW);
    atomic_store_explicit(&windows[family].whole, whole, memory_order_relaxed);
}

double
share_of_site(enum domain domain, size_t size)
{
    if (!is_adaptive) {
        return 1;
    }
    enum family family = family_of_kind(kind_of(domain), size);
    int stratum = stratum_of(domain, size);
    uint64_t nth = atomic_fetch_add_explicit(&windows[family].candidates, 1, memory_order_relaxed);
    uint32_t of_stratum = atomic_fetch_add_explicit(&candidates[stratum], 1, memory_order_relaxed);
    if ((of_stratum + 1) % STEP == 0 && enter()) {
        hold_back(stratum, family, cpu_seconds());
        leave();
    }
    if ((nth + 1) % WINDOW == 0 && enter()) {
        end_window(family);
        leave();
    }
    float whole = atomic_load_explicit(&windows[family].whole, memory_order_relaxed);
    uint32_t count = counted(family, site_of(domain), (uint32_t)(nth / WINDOW));
    double share = (float)count > whole ? whole / (float)count : 1;
    if (share < 1 && uniform() > share) {
        return 0;
    }
    atomic_fetch_add_explicit(&windows[family].recorded, 1, memory_order_relaxed);
    return share;
}

double
mean_interval(enum family smallest)
{
    int first = smallest / SIZES * STRATA_OF_ONE;
    double bytes = 0, expected = 0; /* candidates, at the present intervals */
    for (int number = first; number < first + SMALL_STRATA; number++) {
        bytes += strata[number].bytes;
        expected += strata[number].bytes / strata[number].interval;
    }
    double all = (double)windows[smallest].candidates, taken = (double)families[smallest].taken;
    double each = all > taken && taken > 0 ? all / taken : 1;
    return each * (expected > 0 ? bytes / expected : strata[first].interval);
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
    Family *family = &families[family_of_kind(kind_of(sample->domain), sample->size)];
    double blocks = sample->weight / (double)sample->size;
    strata[number].bytes += sample->weight;
    family->taken++;
    family->bytes += sample->weight;
    family->blocks += blocks;
    if (sample->domain == OBJ || sample->domain == MEM) {
        small_blocks += blocks / sample->one_in;
    }
}

void
sampler_adapt(void)
{
    double now = cpu_seconds();
    for (int family = 0; family < FAMILIES; family++) {
        adapt((enum family)family, now);
    }
}
