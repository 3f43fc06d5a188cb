/* The table of live samples: chained buckets, with a bit for each that is not empty.

   A free looks at the bit alone. When the table is full, intervals are doubled and the samples
   thinned to what larger intervals would have kept; their weights grow, and all sums stay unbiased. */

#include "births.h"

#include <string.h>

uint32_t filter[BUCKETS / 32];
Sample *samples;
static uint32_t *heads;
size_t doubled_bytes;
static void *shadows; /* that no sample has any more */
static uint32_t free_list, unused, live[DOMAINS], of_stratum[STRATA];

size_t
samples_size(void)
{
    return (MOST_SAMPLES + 1) * sizeof(Sample) + BUCKETS * sizeof(uint32_t);
}

void
samples_use(char *memory)
{
    samples = (Sample *)memory;
    heads = (uint32_t *)(memory + (MOST_SAMPLES + 1) * sizeof(Sample));
    /* Some samples take all of its pages: they come now, and are no growth of a loop. */
    memset(heads, 0, BUCKETS * sizeof(uint32_t));
}

/* What malloc takes for a block that has its place in a pool, too. */
static size_t
bytes_doubled(const Sample *sample)
{
    return sample->shadow == NULL ? 0 : chunk_of(sample->size);
}

/* Whoever is here may lack the interpreter's lock, which freeing takes. */
static void
leave_shadow(Sample *sample)
{
    if (sample->shadow != NULL) {
        doubled_bytes -= bytes_doubled(sample);
        *(void **)sample->shadow = shadows;
        shadows = sample->shadow;
        sample->shadow = NULL;
    }
}

void
samples_leave_shadows(void)
{
    for (uint32_t number = 1; number < unused; number++) {
        leave_shadow(&samples[number]);
    }
}

void *
samples_take_shadows(void)
{
    void *first = shadows;
    shadows = NULL;
    return first;
}

void
samples_clear(void)
{
    samples_leave_shadows();
    for (uint32_t number = 1; number < unused; number++) {
        samples[number].domain = DOMAINS;
    }
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket += 32) {
        if (filter[bucket >> 5]) {
            memset(heads + bucket, 0, 32 * sizeof(*heads));
            __atomic_store_n(&filter[bucket >> 5], 0, __ATOMIC_RELAXED);
        }
    }
    free_list = 0;
    unused = 1;
    memset(live, 0, sizeof(live));
    memset(of_stratum, 0, sizeof(of_stratum));
}

size_t
samples_bytes(void)
{
    return unused * sizeof(Sample);
}

uint32_t
samples_live(void)
{
    return live[OBJ] + live[MEM] + live[RAW] + live[NATIVE] + live[DEVICE];
}

/* Take a sample out of its chain, whose link to it is given. */
static void
unlink_sample(uint32_t bucket, uint32_t *link)
{
    Sample *sample = &samples[*link];
    uint32_t number = *link;
    *link = sample->next;
    leave_shadow(sample);
    if (heads[bucket] == 0) {
        __atomic_fetch_and(&filter[bucket >> 5], ~(1u << (bucket & 31)), __ATOMIC_RELAXED);
    }
    live[sample->domain]--;
    of_stratum[stratum_of(sample->domain, sample->size)]--;
    sample->domain = DOMAINS;
    sample->next = free_list;
    free_list = number;
}

int
samples_remove(const void *block, Sample *removed)
{
    uint32_t bucket = bucket_of(block);
    for (uint32_t *link = &heads[bucket]; *link; link = &samples[*link].next) {
        if (samples[*link].block == (uintptr_t)block) {
            *removed = samples[*link];
            unlink_sample(bucket, link);
            return 1;
        }
    }
    return 0;
}

/* Keep of each sample of these strata as much as its interval would have; `drop` are domains to empty. */
static void
sift(const char *thinned, unsigned drop)
{
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint32_t *link = &heads[bucket];
        while (*link) {
            Sample *sample = &samples[*link];
            int stratum = stratum_of(sample->domain, sample->size);
            double before = (double)sample->size / sample->weight, after = before;
            if (thinned[stratum]) {
                after = probability(stratum) * sample->share / sample->one_in;
            }
            if (drop >> sample->domain & 1 || (after < before && uniform() * before > after)) {
                unlink_sample(bucket, link);
                continue;
            }
            if (after < before) {
                sample->weight = (double)sample->size / after;
            }
            link = &sample->next;
        }
    }
}

static uint32_t
most_of_one(void)
{
    uint32_t most = 0;
    for (int stratum = 0; stratum < STRATA; stratum++) {
        most = of_stratum[stratum] > most ? of_stratum[stratum] : most;
    }
    return most;
}

/* Make room for a quarter of all samples, at the cost of those strata that have most. */
static void
thin(void)
{
    for (int round = 0; round < 64 && samples_live() > MOST_SAMPLES / 4 * 3; round++) {
        char thinned[STRATA] = {0};
        uint32_t many = most_of_one() / 2;
        for (int stratum = 0; stratum < STRATA; stratum++) {
            if (of_stratum[stratum] > many) {
                thinned[stratum] = 1;
                sample_less(stratum);
            }
        }
        sift(thinned, 0);
    }
}

void
samples_drop(unsigned domains)
{
    uint32_t count = 0;
    for (int domain = 0; domain < DOMAINS; domain++) {
        count += domains >> domain & 1 ? live[domain] : 0;
    }
    if (count) {
        static const char none[STRATA];
        sift(none, domains);
    }
}

void
samples_add(const Sample *sample)
{
    Sample replaced, dropped = *sample;
    doubled_bytes += bytes_doubled(sample);
    uint32_t bucket = bucket_of((void *)sample->block);
    samples_remove((void *)sample->block, &replaced);
    if (free_list == 0 && unused > MOST_SAMPLES) {
        thin();
    }
    uint32_t number = free_list;
    if (number) {
        free_list = samples[number].next;
    }
    else if (unused <= MOST_SAMPLES) {
        number = unused++;
    }
    else {
        leave_shadow(&dropped);
        return; /* thinned to nothing: only with blocks larger than any interval */
    }
    samples[number] = *sample;
    samples[number].next = heads[bucket];
    heads[bucket] = number;
    live[sample->domain]++;
    of_stratum[stratum_of(sample->domain, sample->size)]++;
    __atomic_fetch_or(&filter[bucket >> 5], 1u << (bucket & 31), __ATOMIC_RELAXED);
}
