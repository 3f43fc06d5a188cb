/* Stacks: read from the interpreter's frames in place, each kept once.

   A thread reads its own frames only, which cannot move meanwhile. A place is a function and an offset into its
   instructions, with its line, which is worked out when the place is seen for the first time, and with the place
   that called it (a calling context tree; Ammons and others, 1997). So a stack is the number of its innermost
   place, and stacks have their outer frames in common: those of an import in a loop are thousands of some sixty
   frames, which filled a table of a million places when each had its own. */

#include "births.h"

#include <string.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#else
#include <frameobject.h>
#endif

#define MOST_PLACES (1u << 19)
#define SLOTS (2 * MOST_PLACES)

static PyInterpreterState *main_interpreter;
static Place *places; /* 1 .. used, each after its caller; 0 called the outermost ones */
static uint32_t *slots, *renumbered, *kept_functions;
static uint32_t used, serials;
static uint64_t swept_at;
static _Atomic int is_pinned;
/* The stack that was asked for last, outermost place first: most of the next one is the same. */
static uint32_t latest[MOST_FRAMES];
static int latest_count;

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
    return (MOST_PLACES + 1) * (sizeof(Place) + sizeof(uint32_t)) + SLOTS * sizeof(uint32_t)
           + functions_count() * sizeof(uint32_t);
}

void
stacks_use(char *memory)
{
    places = (Place *)memory;
    slots = (uint32_t *)(places + MOST_PLACES + 1);
    renumbered = slots + SLOTS;
    kept_functions = renumbered + MOST_PLACES + 1;
}

size_t
stacks_bytes(void)
{
    return used * sizeof(Place);
}

void
stacks_clear(void)
{
    memset(slots, 0, SLOTS * sizeof(*slots));
    used = 0;
    latest_count = 0;
    swept_at = 0;
}

static uint32_t *
slot_for(uint32_t caller, uint32_t function, int offset)
{
    uint64_t hash = ((uint64_t)caller << 32 | function) * GOLDEN + (uint32_t)offset;
    hash *= GOLDEN;
    uint32_t at = (uint32_t)(hash >> 32) & (SLOTS - 1);
    for (; slots[at]; at = (at + 1) & (SLOTS - 1)) {
        const Place *place = &places[slots[at]];
        if (place->caller == caller && place->function == function && place->offset == offset) {
            break;
        }
    }
    return &slots[at];
}

/* Close the gaps: keep the places that are marked, and give each its new number. */
static void
keep_marked(void)
{
    uint32_t kept = 0;
    memset(slots, 0, SLOTS * sizeof(*slots));
    for (uint32_t number = 1; number <= used; number++) {
        if (!renumbered[number]) {
            continue;
        }
        Place place = places[number];
        place.caller = renumbered[place.caller];
        place.function = kept_functions[place.function];
        places[++kept] = place;
        *slot_for(place.caller, place.function, place.offset) = kept;
        renumbered[number] = kept;
    }
    used = kept;
}

/* Forget all places that no live sample has in its stack. */
static void
sweep(void)
{
    memset(renumbered, 0, (used + 1) * sizeof(*renumbered));
    memset(kept_functions, 0, functions_count() * sizeof(*kept_functions));
    for (uint32_t number = 1; number <= MOST_SAMPLES; number++) {
        if (samples[number].weight > 0 && samples[number].domain < DOMAINS) {
            renumbered[samples[number].stack] = 1;
        }
    }
    for (uint32_t number = used; number > 0; number--) {
        if (renumbered[number]) {
            renumbered[places[number].caller] = 1;
            kept_functions[places[number].function] = 1;
        }
    }
    renumbered[0] = 0;
    functions_keep(kept_functions);
    keep_marked();
    for (uint32_t number = 1; number <= MOST_SAMPLES; number++) {
        samples[number].stack = renumbered[samples[number].stack];
    }
    latest_count = 0;
}

/* Return the place of a frame, which `caller` called; 0 where there is no room. */
static uint32_t
place_of(uint32_t caller, RawFrame frame)
{
    uint32_t function = function_number(frame.code), *slot;
    if (function == 0) {
        return 0;
    }
    slot = slot_for(caller, function, frame.offset);
    if (*slot == 0 && used < MOST_PLACES) {
        places[++used] = (Place){caller, function, ++serials, frame.offset, line_at(frame.code, frame.offset)};
        *slot = used;
    }
    return *slot;
}

static int
is_place_of(uint32_t number, RawFrame frame)
{
    const Place *place = &places[number];
    return place->offset == frame.offset && is_function_of(place->function, frame.code);
}

static uint32_t
find_or_add(const RawFrame *frames, int count)
{
    uint32_t number = 0;
    int same = 0;
    for (; same < count && same < latest_count && is_place_of(latest[same], frames[count - 1 - same]); same++) {
        number = latest[same];
    }
    for (latest_count = same; latest_count < count; latest_count++) {
        number = place_of(number, frames[count - 1 - latest_count]);
        if (number == 0) {
            return 0;
        }
        latest[latest_count] = number;
    }
    return number;
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

const Place *
place_at(uint32_t number)
{
    return &places[number];
}

void
stacks_pin(int pinned)
{
    is_pinned = pinned;
}

uint32_t
places_count(void)
{
    return used;
}
