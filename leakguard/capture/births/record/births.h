/* The sampled record of births: what its files share.

   Some allocations are recorded with their stack, phase and generation, and a free removes them
   (see ../__init__.py). The hooks run inside of malloc: they call nothing of CPython but for the
   reads of a thread's own state, keep no reference, and allocate nothing: all their memory is
   mapped once. What the files share by name and no other library shall see is hidden. */

#ifndef LEAKGUARD_BIRTHS_H
#define LEAKGUARD_BIRTHS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
/* The interpreter's frames are read in place. */
#define Py_BUILD_CORE 1
#define PY_SSIZE_T_CLEAN
/* Checksum (31 bits) of _births.pyi; see compiled_part.py. */
#define RECORD_INTERFACE 0x2478600b

#include <Python.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__linux__) || !defined(__GLIBC__)
#error "births are recorded on Linux with glibc only"
#endif
#if PY_VERSION_HEX < 0x030A0000 || PY_VERSION_HEX >= 0x030E0000 || defined(Py_GIL_DISABLED)
#error "births are recorded in CPython 3.10 to 3.13 with a global lock only"
#endif

/* A program with much code calls an allocator millions of times a second, and each line of the cache that a
   wrapper takes is read anew each time. So each of those begins a line, and what it needs is close together. */
#define HOT __attribute__((aligned(64)))

#pragma GCC visibility push(hidden)

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* 2^64 divided by the golden ratio, by which numbers are spread (Knuth, volume 3, section 6.4). */
#define GOLDEN 0x9E3779B97F4A7C15u

/* Who hands the memory out. Python's small blocks are OBJ and MEM, its larger ones RAW; DEVICE is the
   memory of GPUs. */
enum domain { OBJ, MEM, RAW, NATIVE, DEVICE, DOMAINS };
/* Whose blocks share a budget of samples: a loop that makes and drops large blocks uses up the samples of
   large blocks, and small ones that stay are still seen. */
enum family { PYTHON_SMALL, PYTHON_MEDIUM, PYTHON_LARGE, C_SMALL, C_MEDIUM, C_LARGE,
              DEVICE_SMALL, DEVICE_MEDIUM, DEVICE_LARGE, FAMILIES };
#define SIZES 3 /* families of each kind of memory */
/* Bytes of the largest block of pymalloc, and of the largest medium one. Chosen, the second: networks of
   64 units have tensors of up to that many, batches have larger ones. */
#define SMALL 512
#define MEDIUM 32768

/* Blocks of about one size, of one kind of memory, are a stratum, sampled at an interval of its own: what stays
   is seldom of the size of what comes and goes. Small blocks by 16 bytes, as in pymalloc, larger ones by
   powers of two, of which the last has all that are larger. */
#define SMALL_STRATA (SMALL / 16 + 1)
#define LARGER_STRATA 16
#define STRATA_OF_ONE (SMALL_STRATA + LARGER_STRATA)
#define KINDS 3
#define STRATA (KINDS * STRATA_OF_ONE)

/* Whose memory it is: 0 of Python, 1 of C, 2 of a device. */
static inline int
kind_of(enum domain domain)
{
    return (domain == NATIVE) + 2 * (domain == DEVICE);
}

static inline int
size_class(size_t size)
{
    if (LIKELY(size <= SMALL)) {
        return (int)((size + 15) >> 4);
    }
    int above = 63 - __builtin_clzll((size - 1) / SMALL);
    return SMALL_STRATA + (above < LARGER_STRATA ? above : LARGER_STRATA - 1);
}

static inline int
stratum_of(enum domain domain, size_t size)
{
    return kind_of(domain) * STRATA_OF_ONE + size_class(size);
}

static inline enum family
family_of_kind(int kind, size_t size)
{
    return (enum family)(kind * SIZES + (size > SMALL) + (size > MEDIUM));
}

/* ---- record.c: whether anything is recorded, where the program is, and the lock ------------- */

/* On a page that the kernel clears in every copy of the process: a child, and the copy that a look is
   taken in, never record, and never wait for a lock that another thread of the parent held. */
extern _Atomic int *recording;
extern _Atomic int native_is_recorded;
extern _Atomic int32_t current_generation;
extern _Atomic uint16_t current_phase;

/* Take the lock of all tables and return 1; 0 where nothing is recorded, or where this thread is in
   here already, as in a signal handler. */
int enter(void);
void leave(void);
void renew_lock(void);
/* Whether this thread works for the guard, whose own memory is not recorded. */
extern __thread int is_quiet __attribute__((tls_model("initial-exec")));

#define MOST_FRAMES 64

typedef struct {
    PyCodeObject *code;
    int offset; /* bytes into its instructions */
} RawFrame;

/* A block that `is_due` said so of, before it is recorded. */
typedef struct {
    size_t size;
    double weight;
    double share; /* of the candidates of its site that are recorded */
    enum domain domain;
    void *shadow; /* its place in the pools, see domains.c; NULL for none */
    int count;    /* of frames */
    RawFrame frames[MOST_FRAMES];
} Birth;

/* Return whether it is recorded, and fill it. */
int begin_birth(enum domain domain, size_t size, Birth *birth);
/* Return whether the block is recorded now. */
int end_birth(const Birth *birth, void *block);
/* Both, where the block has been handed out as it would have been without the record. */
void born(enum domain domain, void *block, size_t size);

typedef struct Sample Sample;

/* Remove a block that is about to be freed or resized; return whether it was a sample, which is copied. */
int forget(const void *block, Sample *held);
/* The block could not be resized, and is what it was. */
void remember(const Sample *held);
void died(const void *block);
/* As `samples_take_shadows`, under the lock. */
void *take_shadows(void);

/* Small blocks are recorded in one of so many rounds, chosen at random: what is recorded in it stands for
   the others, too. */
extern _Atomic uint8_t small_one_in;

/* ---- sampler.c: which allocations are recorded, and what each stands for --------------------- */

/* The time to the next sample: each block takes as much of it as its stratum has for one (`costs`). So one
   clock a thread does for strata of all intervals; where one is changed, the clock goes on. */
extern __thread int64_t time_left __attribute__((tls_model("initial-exec")));
extern __thread int has_clock __attribute__((tls_model("initial-exec")));
extern _Atomic uint32_t costs[STRATA];

static inline int
is_due(enum domain domain, size_t size)
{
    uint32_t cost = atomic_load_explicit(&costs[stratum_of(domain, size)], memory_order_relaxed);
    return UNLIKELY((time_left -= cost) < 0);
}

typedef struct {
    double interval;     /* the mean distance of two samples, in bytes */
    double bytes;        /* allocated since the start, estimated */
    double checked;      /* CPU time of the process at the check before */
    uint32_t before;     /* candidates that it had had when the rates were last looked at */
} Stratum;

typedef struct {
    uint64_t taken; /* samples since the start */
    double bytes;   /* allocated since the start, estimated */
    double blocks;
    double seconds; /* CPU time of the process when the rates were last looked at */
    double share;   /* of its candidates, that each of its strata may have */
} Family;

extern Family families[FAMILIES];
/* Small blocks that were handed out through the wrappers, estimated: what they cost is known by it. */
extern double small_blocks;
/* The mean distance of two samples of small blocks, in bytes, at the present intervals; `smallest` is the
   family of these blocks. */
double mean_interval(enum family smallest);
/* Samples of all families since the start. */
uint64_t samples_taken(void);
void sampler_start(double python_interval, double c_interval, uint64_t seed, int adapts);
/* Begin to count the samples of each family anew: a first generation that imports and sets up may have taken
   those of many others. */
void sampler_begin(void);
/* Start the clock anew; return the weight of a block of this size that was sampled, in bytes, or 0 where
   it was not: the first of a thread, whose clock had not been started yet. */
double next_time(enum domain domain, size_t size);
/* Return the share of the candidates of this thread's site, the innermost frames, that is recorded now; 0 where
   this one is not. */
double share_of_site(enum domain domain, size_t size);
/* Return a number in (0, 1]. */
double uniform(void);
/* Return the share of a stratum's blocks that is sampled. */
double probability(int stratum);
/* Double the interval of a stratum. */
void sample_less(int stratum);
/* Count a sample. */
void sampler_count(const Sample *sample);
/* Take smaller intervals where there are few candidates; called at the end of a generation. */
void sampler_adapt(void);
double cpu_seconds(void);

/* ---- samples.c: the table of live samples, which is its own filter --------------------------- */

#define BUCKET_BITS 18
#define BUCKETS (1u << BUCKET_BITS)
#define MOST_SAMPLES 65536u

struct Sample {
    uintptr_t block;
    void *shadow;
    uint64_t size;
    double weight; /* bytes that it stands for: its size divided by its probability, times one_in */
    float share;   /* of the candidates of its site that were recorded */
    uint32_t stack;
    int32_t generation;
    uint32_t next; /* in its bucket, or in the list of free ones; 0 ends both */
    uint16_t phase;
    uint8_t domain; /* DOMAINS: a free one */
    uint8_t one_in; /* rounds of which its own was the one that is recorded */
};

/* A bit for each bucket that is not empty. It is read without the lock: whoever frees a block got its
   address after it was recorded. */
extern uint32_t filter[BUCKETS / 32];
extern Sample *samples; /* 1 .. MOST_SAMPLES */

static inline uint32_t
bucket_of(const void *block)
{
    uintptr_t key = (uintptr_t)block >> 4;
    return (uint32_t)(key ^ key >> BUCKET_BITS) & (BUCKETS - 1);
}

static inline int
may_be_sampled(const void *block)
{
    uint32_t bucket = bucket_of(block);
    return UNLIKELY(__atomic_load_n(&filter[bucket >> 5], __ATOMIC_RELAXED) >> (bucket & 31) & 1);
}

size_t samples_size(void);
/* What is used of it. */
size_t samples_bytes(void);
void samples_use(char *memory);
void samples_clear(void);
/* Add a sample whose block, size, weight, stack, generation, phase and domain are filled. */
void samples_add(const Sample *sample);
/* Remove the sample of a block, if there is one, and return whether; it is copied to `removed`. */
int samples_remove(const void *block, Sample *removed);
/* Remove all samples of these domains (bits). */
void samples_drop(unsigned domains);
uint32_t samples_live(void);
/* Let go of the shadows of all samples, which stay. */
void samples_leave_shadows(void);
/* Return the shadows that no sample has any more, each with the address of the next in its first bytes. */
void *samples_take_shadows(void);
/* Bytes of C memory that sampled objects take beside their shadows. */
extern size_t doubled_bytes;

/* ---- stacks.c, functions.c: where the program was, as plain copies ---------------------------- */

typedef struct {
    uint32_t caller; /* the number of another place, 0 of an outermost one */
    uint32_t function, serial;
    int32_t offset, line;
} Place;

/* Read the frames of this thread, innermost first. Returns their number, 0 where it has none, and -1
   where it runs another interpreter than the main one. */
int read_frames(enum domain domain, RawFrame *frames);
/* Return a number for where this thread is, the same each time it comes to the same instructions; 0 where it
   has no frames. Cheaper than its frames. */
uint64_t site_of(enum domain domain);
void frames_start(void);

size_t stacks_size(void);
size_t stacks_bytes(void);
void stacks_use(char *memory);
void stacks_clear(void);
/* Return the number of a stack, that of its innermost place; 0 for none and where there is no room. */
uint32_t stack_number(const RawFrame *frames, int count);
const Place *place_at(uint32_t number);
/* While the stacks are read without the lock nothing is swept. */
void stacks_pin(int pinned);
uint32_t places_count(void);

size_t functions_size(void);
size_t functions_bytes(void);
void functions_use(char *memory);
void functions_clear(void);
/* Return the number of a function, 0 where there is no room. */
uint32_t function_number(PyCodeObject *code);
int is_function_of(uint32_t number, const PyCodeObject *code);
int line_at(PyCodeObject *code, int offset);
const char *function_name(uint32_t number);
const char *function_file(uint32_t number);
/* Keep the functions whose entry of `kept` is set; each is given its new number there. */
void functions_keep(uint32_t *kept);
uint32_t functions_count(void);

/* ---- domains.c: Python's three domains; native.c: the C library's functions -------------------- */

/* Put the wrappers in the place of Python's allocators, once a process. Returns why not, or NULL. */
const char *wrap_domains(void);
/* Return whether RAW still passes through here: where it does not, deaths are not seen. */
int deaths_are_seen(void);
/* Record small blocks, or do not, until the next call. */
void wrap_small(int wanted);
extern int small_is_recorded;
/* Return whether an allocation of OBJ and one of MEM pass through here now. */
int small_passes(void);
/* Return whether it depends on these calls alone: nobody else stands in the allocators of small blocks. */
/* Step aside from OBJ for as long as the statistics of pymalloc are read, and back. */
void show_pools(int shown);
int small_is_ours(void);
/* Bytes of the chunk that malloc takes for a block. */
size_t chunk_of(size_t size);
/* Free the shadows that no sample has any more. The caller has the interpreter's lock. */
void free_shadows(void);

/* Patch what was loaded since the last time; returns why C memory is not recorded, or NULL. */
const char *patch_libraries(void);

/* ---- device.c: torch's allocator of GPU memory -------------------------------------------------- */

/* Record what it hands out, once it is loaded. */
void watch_devices(void);

/* ---- libraries.c: the loaded objects of this process ---------------------------------------------- */

typedef struct {
    uintptr_t base, low, high, relro, relro_end;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * tables[2];
    size_t counts[2];
    int left_out; /* the flag of what is not for it */
    int only;     /* the flag that it is for alone */
} Library;

void read_library(Library *library, const struct dl_phdr_info *info);
int library_holds(const Library *library, const void *address);
/* How many were loaded since the program began, those that are gone included. */
unsigned long long libraries_loaded(void);
/* Change a word of its data, which may be closed for writing. */
void change_entry(const Library *library, uintptr_t *entry, uintptr_t value);

/* ---- cohorts.c: what is alive, by stack, phase and generation -------------------------------- */

/* Places that Python knows, {serial: (frame, serial of the caller)}, and the frames that they have in common. */
typedef struct {
    PyObject *places, *frames;
} Known;

PyObject *read_cohorts(Known known);

#define NO_SERIAL UINT32_MAX

/* Put the places of a stack into `known` that are not there; return the serial of the innermost, 0 for none, and
   NO_SERIAL with an error. */
uint32_t serial_of(uint32_t number, Known known);

/* ---- survivors.c: the live samples one by one ------------------------------------------------- */

PyObject *read_survivors(int first, int last, Known known);

#pragma GCC visibility pop

#endif
