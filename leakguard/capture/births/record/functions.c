/* Functions: a plain copy of a code object's name and file, kept once.

   No reference is kept, so code is unloaded as it would be without the record. An entry is found by
   the address of the code, and checked by what the code points to: where other code lies now, it gets
   an entry of its own. */

#include "births.h"

#include <string.h>
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_code.h>
#endif

#define MOST_FUNCTIONS 32768u
#define SLOTS (2 * MOST_FUNCTIONS)
#define TEXT_BYTES (8u << 20)
#define LONGEST_NAME 256
#define LONGEST_FILE 1024

typedef struct {
    const void *code, *name, *file, *lines;
    int first;
    uint32_t name_at, file_at;
} Function;

static Function *functions; /* 1 .. used */
static uint32_t *slots, used, used_text;
static char *text;

size_t
functions_size(void)
{
    return (MOST_FUNCTIONS + 1) * sizeof(Function) + SLOTS * sizeof(uint32_t) + TEXT_BYTES;
}

void
functions_use(char *memory)
{
    functions = (Function *)memory;
    slots = (uint32_t *)(functions + MOST_FUNCTIONS + 1);
    text = (char *)(slots + SLOTS);
}

size_t
functions_bytes(void)
{
    return used * sizeof(Function) + used_text;
}

void
functions_clear(void)
{
    memset(slots, 0, SLOTS * sizeof(*slots));
    used = used_text = 0;
}

uint32_t
functions_count(void)
{
    return MOST_FUNCTIONS + 1;
}

const char *
function_name(uint32_t number)
{
    return text + functions[number].name_at;
}

const char *
function_file(uint32_t number)
{
    return text + functions[number].file_at;
}

/* ---- text, without a call of Python's ------------------------------------------------------------ */

static size_t
put_utf8(char *out, Py_UCS4 c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c >= 0xD800 && c < 0xE000) { /* a byte of a file name that was no UTF-8 */
        out[0] = '?';
        return 1;
    }
    size_t extra = c < 0x10000 ? 2 : 3;
    out[0] = (char)((extra == 2 ? 0xE0 : 0xF0) | c >> (6 * extra));
    for (size_t i = 1; i <= extra; i++) {
        out[i] = (char)(0x80 | (c >> (6 * (extra - i)) & 63));
    }
    return extra + 1;
}

/* Copy a text, cut to so many bytes. */
static uint32_t
put_text(PyObject *string, size_t most)
{
    uint32_t at = used_text;
    char *out = text + at;
    if (string != NULL && PyUnicode_Check(string)
#if PY_VERSION_HEX < 0x030C0000
        && PyUnicode_IS_READY(string)
#endif
    ) {
        const void *data = PyUnicode_DATA(string);
        int kind = PyUnicode_KIND(string);
        Py_ssize_t length = PyUnicode_GET_LENGTH(string);
        for (Py_ssize_t i = 0; i < length && out < text + at + most - 4; i++) {
            Py_UCS4 c = PyUnicode_READ(kind, data, i);
            out += put_utf8(out, c ? c : '?');
        }
    }
    *out++ = 0;
    used_text = (uint32_t)(out - text);
    return at;
}

/* ---- the table ----------------------------------------------------------------------------------- */

static int
is_of(const Function *function, const PyCodeObject *code)
{
    return function->code == code && function->name == code->co_name
           && function->file == code->co_filename && function->lines == code->co_linetable
           && function->first == code->co_firstlineno;
}

int
is_function_of(uint32_t number, const PyCodeObject *code)
{
    return is_of(&functions[number], code);
}

static uint32_t
first_slot(const void *code)
{
    uintptr_t key = (uintptr_t)code >> 4;
    return (uint32_t)(key ^ key >> 16) & (SLOTS - 1);
}

uint32_t
function_number(PyCodeObject *code)
{
    uint32_t at = first_slot(code);
    while (slots[at] && functions[slots[at]].code != code) {
        at = (at + 1) & (SLOTS - 1);
    }
    if (slots[at] && is_of(&functions[slots[at]], code)) {
        return slots[at];
    }
    if (used == MOST_FUNCTIONS || used_text + LONGEST_FILE + LONGEST_NAME > TEXT_BYTES) {
        return 0;
    }
    functions[++used] = (Function){code,
                                   code->co_name,
                                   code->co_filename,
                                   code->co_linetable,
                                   code->co_firstlineno,
                                   put_text(code->co_name, LONGEST_NAME),
                                   put_text(code->co_filename, LONGEST_FILE)};
    return slots[at] = used; /* the entry of code that lay here before is found by its number only */
}

static uint32_t
moved(uint32_t from, uint32_t *to)
{
    uint32_t at = *to, length = (uint32_t)strlen(text + from) + 1;
    memmove(text + at, text + from, length);
    *to += length;
    return at;
}

void
functions_keep(uint32_t *kept)
{
    uint32_t count = 0, end = 0;
    memset(slots, 0, SLOTS * sizeof(*slots));
    for (uint32_t number = 1; number <= used; number++) {
        if (!kept[number]) {
            continue;
        }
        Function function = functions[number];
        function.name_at = moved(function.name_at, &end);
        function.file_at = moved(function.file_at, &end);
        functions[++count] = function;
        kept[number] = count;
        uint32_t at = first_slot(function.code);
        while (slots[at] && functions[slots[at]].code != function.code) {
            at = (at + 1) & (SLOTS - 1);
        }
        slots[at] = count; /* of two at one address the later */
    }
    used = count;
    used_text = end;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

#if PY_VERSION_HEX >= 0x030B0000

static int
read_signed(const uint8_t *at, const uint8_t *end)
{
    unsigned value = 0, shift = 0;
    while (at < end && shift < 30) {
        value |= (unsigned)(*at & 63) << shift;
        shift += 6;
        if (!(*at++ & 64)) {
            break;
        }
    }
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* The format is that of Objects/locations.md of CPython. */
int
line_at(PyCodeObject *code, int offset)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    const uint8_t *end = at + Py_SIZE(code->co_linetable);
    int line = code->co_firstlineno, reached = 0;
    while (at < end) {
        int kind = *at >> 3 & 15;
        reached += ((*at & 7) + 1) * (int)sizeof(_Py_CODEUNIT);
        at++;
        if (kind == 13 || kind == 14) {
            line += read_signed(at, end);
        }
        else if (kind >= 10 && kind <= 12) {
            line += kind - 10;
        }
        if (offset < reached) {
            break;
        }
        while (at < end && !(*at & 128)) {
            at++;
        }
    }
    return line;
}

#else

/* The format is that of Objects/lnotab_notes.txt of CPython 3.10. */
int
line_at(PyCodeObject *code, int offset)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    const uint8_t *end = at + Py_SIZE(code->co_linetable);
    int line = code->co_firstlineno, reached = 0;
    for (; at + 1 < end; at += 2) {
        reached += at[0];
        if (at[1] != 128) {
            line += (int8_t)at[1];
        }
        if (offset < reached) {
            break;
        }
    }
    return line;
}

#endif
