/* Stacks: read from the interpreter's frames in place, each kept once.

   A thread reads its own frames only, which cannot move meanwhile. A stack is a row of places, innermost
   first; a place is a function and an offset into its instructions, with its line, which is worked out
   when the stack is seen for the first time. */

#include "births.h"

#include <string.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#else
#include <frameobject.h>
#endif

#define MOST_STACKS 65536u
#define MOST_PLACES (1u << 20)
#define SLOTS (2 * MOST_STACKS)

static PyInterpreterState *main_interpreter;
static Stack *stacks; /* 1 .. used_stacks */
static Place *places;
static uint32_t *slots, *renumbered, *kept_functions;
static uint32_t used_stacks, used_places, serials;
static uint64_t swept_at;
static _Atomic int is_pinned;

/* ---- frames ------------------------------------------------------------------------------------ */

void
frames_start(void)
{
    main_interpreter = PyInterpreterState_Main();
}

/* Return this thread's state. Until 3.11 the current one is whoever has the lock, so it is asked where
   the caller must have the lock: OBJ and MEM. */
static PyThreadState *
own_state(enum domain domain)
{
    if (!Py_IsInitialized()) { /* on the way out thread states go, whatever their threads do */
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030D0000
    PyThreadState *state = PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
    PyThreadState *state = _PyThreadState_UncheckedGet();
#else
    PyThreadState *state = domain == OBJ || domain == MEM ? _PyThreadState_UncheckedGet() : NULL;
#endif
    (void)domain;
    if (state == NULL) {
        state = PyGILState_GetThisThreadState();
    }
    return state != NULL && state->thread_id == PyThread_get_thread_ident() ? state : NULL;
}

#if PY_VERSION_HEX >= 0x030B0000
typedef _PyInterpreterFrame RunningFrame;
#else
typedef PyFrameObject RunningFrame;
#endif

static RunningFrame *
innermost_frame(PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030D0000
    return state->current_frame;
#elif PY_VERSION_HEX >= 0x030B0000
    return state->cframe == NULL ? NULL : state->cframe->current_frame;
#else
    return state->frame;
#endif
}

static RunningFrame *
caller_of(RunningFrame *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return frame->previous;
#else
    return frame->f_back;
#endif
}

/* A number for what a frame is running: the address of its instruction, or one that is as good. */
static uintptr_t
instruction_of(RunningFrame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (uintptr_t)frame->instr_ptr;
#elif PY_VERSION_HEX >= 0x030B0000
    return (uintptr_t)frame->prev_instr;
#else
    return (uintptr_t)frame->f_code + (uintptr_t)frame->f_lasti;
#endif
}

static int
add_frame(RawFrame *frame, PyCodeObject *code, int units)
{
    if (code == NULL || !PyCode_Check(code) || Py_REFCNT(code) <= 0) {
        return 0; /* none, or one that is just being freed */
    }
    *frame = (RawFrame){code, units < 0 ? 0 : units * (int)sizeof(_Py_CODEUNIT)};
    return 1;
}

int
read_frames(enum domain domain, RawFrame *frames)
{
    int count = 0;
    PyThreadState *state = own_state(domain);
    if (state == NULL) {
        return 0;
    }
    if (state->interp != main_interpreter) {
        return -1;
    }
    RunningFrame *frame = innermost_frame(state);
    for (; frame != NULL && count < MOST_FRAMES; frame = caller_of(frame)) {
#if PY_VERSION_HEX >= 0x030C0000
        if (frame->owner == FRAME_OWNED_BY_CSTACK) {
            continue;
        }
#endif
#if PY_VERSION_HEX >= 0x030D0000
        PyCodeObject *code = (PyCodeObject *)frame->f_executable;
        int units = code != NULL && PyCode_Check(code) ? _PyInterpreterFrame_LASTI(frame) : 0;
#elif PY_VERSION_HEX >= 0x030B0000
        PyCodeObject *code = frame->f_code;
        int units = code != NULL ? _PyInterpreterFrame_LASTI(frame) : 0;
#else
        PyCodeObject *code = frame->f_code;
        int units = frame->f_lasti;
#endif
        count += add_frame(&frames[count], code, units);
    }
    return count;
}

/* Of as many frames as tell a line of a library by who calls it. Chosen. */
#define SITE_FRAMES 3

uint64_t
site_of(enum domain domain)
{
    uint64_t site = 0;
    PyThreadState *state = own_state(domain);
    RunningFrame *frame = state == NULL ? NULL : innermost_frame(state);
    for (int i = 0; frame != NULL && i < SITE_FRAMES; i++, frame = caller_of(frame)) {
        site = (site ^ instruction_of(frame)) * GOLDEN;
    }
    return site;
}

/* ---- the table --------------------------------------------------------------------------------- */

size_t
stacks_size(void)
{
    return (MOST_STACKS + 1) * (sizeof(Stack) + sizeof(uint32_t)) + MOST_PLACES * sizeof(Place)
           + SLOTS * sizeof(uint32_t) + functions_count() * sizeof(uint32_t);
}

void
stacks_use(char *memory)
{
    stacks = (Stack *)memory;
    places = (Place *)(stacks + MOST_STACKS + 1);
    slots = (uint32_t *)(places + MOST_PLACES);
    renumbered = slots + SLOTS;
    kept_functions = renumbered + MOST_STACKS + 1;
}

size_t
stacks_bytes(void)
{
    return used_stacks * sizeof(Stack) + used_places * sizeof(Place);
}

void
stacks_clear(void)
{
    memset(slots, 0, SLOTS * sizeof(*slots));
    used_stacks = used_places = 0;
    swept_at = 0;
}

static uint32_t *
slot_for(uint32_t hash, const Place *row, int length)
{
    uint32_t at = hash & (SLOTS - 1);
    for (; slots[at]; at = (at + 1) & (SLOTS - 1)) {
        Stack *stack = &stacks[slots[at]];
        if (stack->hash == hash && stack->length == length) {
            const Place *known = places + stack->start;
            int same = 0;
            while (same < length && known[same].function == row[same].function
                   && known[same].offset == row[same].offset) {
                same++;
            }
            if (same == length) {
                break;
            }
        }
    }
    return &slots[at];
}

static void
insert_all(void)
{
    memset(slots, 0, SLOTS * sizeof(*slots));
    for (uint32_t number = 1; number <= used_stacks; number++) {
        uint32_t at = stacks[number].hash & (SLOTS - 1);
        while (slots[at]) {
            at = (at + 1) & (SLOTS - 1);
        }
        slots[at] = number;
    }
}

static uint32_t
hash_of(const Place *row, int length)
{
    uint32_t hash = 2166136261u; /* FNV-1a, by words */
    for (int i = 0; i < length; i++) {
        hash = (hash ^ row[i].function) * 16777619u;
        hash = (hash ^ (uint32_t)row[i].offset) * 16777619u;
    }
    return hash ^ hash >> 15;
}

/* Close the gaps: keep the stacks that live samples name, and give each its new number. */
static void
keep_named(void)
{
    uint32_t kept = 0, kept_places = 0;
    for (uint32_t number = 1; number <= used_stacks; number++) {
        if (!renumbered[number]) {
            continue;
        }
        Stack stack = stacks[number];
        memmove(places + kept_places, places + stack.start, stack.length * sizeof(Place));
        stack.start = kept_places;
        kept_places += stack.length;
        stacks[++kept] = stack;
        renumbered[number] = kept;
    }
    used_stacks = kept;
    used_places = kept_places;
}

static void
sweep(void)
{
    memset(renumbered, 0, (used_stacks + 1) * sizeof(*renumbered));
    for (uint32_t number = 1; number <= MOST_SAMPLES; number++) {
        if (samples[number].weight > 0 && samples[number].domain < DOMAINS) {
            renumbered[samples[number].stack] = 1;
        }
    }
    keep_named();
    for (uint32_t number = 1; number <= MOST_SAMPLES; number++) {
        uint32_t stack = samples[number].stack;
        samples[number].stack = stack ? renumbered[stack] : 0;
    }
    memset(kept_functions, 0, functions_count() * sizeof(*kept_functions));
    for (uint32_t at = 0; at < used_places; at++) {
        kept_functions[places[at].function] = 1;
    }
    functions_keep(kept_functions);
    for (uint32_t at = 0; at < used_places; at++) {
        places[at].function = kept_functions[places[at].function];
    }
    for (uint32_t number = 1; number <= used_stacks; number++) {
        stacks[number].hash = hash_of(places + stacks[number].start, stacks[number].length);
    }
    insert_all();
}

static int
fill(Place *row, const RawFrame *frames, int count)
{
    for (int i = 0; i < count; i++) {
        row[i] = (Place){function_number(frames[i].code), frames[i].offset, 0};
        if (row[i].function == 0) {
            return 0;
        }
    }
    return 1;
}

static uint32_t
find_or_add(const RawFrame *frames, int count)
{
    Place row[MOST_FRAMES];
    if (!fill(row, frames, count)) {
        return 0;
    }
    uint32_t hash = hash_of(row, count), *slot = slot_for(hash, row, count);
    if (*slot) {
        return *slot;
    }
    if (used_stacks == MOST_STACKS || used_places + (uint32_t)count > MOST_PLACES) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        row[i].line = line_at(frames[i].code, row[i].offset);
    }
    memcpy(places + used_places, row, (size_t)count * sizeof(Place));
    stacks[++used_stacks] = (Stack){used_places, hash, ++serials, (uint16_t)count};
    used_places += (uint32_t)count;
    return *slot = used_stacks;
}

uint32_t
stack_number(const RawFrame *frames, int count)
{
    uint32_t number = count ? find_or_add(frames, count) : 0;
    uint64_t taken = samples_taken();
    if (number || !count || is_pinned || (swept_at && taken < swept_at + MOST_SAMPLES / 4)) {
        return number;
    }
    swept_at = taken + 1;
    sweep();
    return find_or_add(frames, count);
}

const Stack *
stack_at(uint32_t number)
{
    return &stacks[number];
}

const Place *
places_of(const Stack *stack)
{
    return places + stack->start;
}

void
stacks_pin(int pinned)
{
    is_pinned = pinned;
}

uint32_t
stacks_count(void)
{
    return used_stacks;
}
