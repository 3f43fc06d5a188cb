/* C memory: the entries of malloc and its kin in the global offset tables of all loaded objects.

   An entry is changed only where it leads to the C library's own function, or has not been resolved
   yet: where another tool (memray) has put its own, it stays, and this one stands aside until that
   has gone. Entries of Python's binary are left alone but for free: its larger blocks are seen in the
   RAW domain, and its arenas would count twice. So are this library's, the dynamic linker's and those
   of an allocator that somebody has put in the place of the C library's. Nothing is ever unloaded. */

#include "births.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT R_X86_64_GLOB_DAT
#define ABSOLUTE R_X86_64_64
#endif

#ifdef JUMP_SLOT

/* ---- the hooks ----------------------------------------------------------------------------------- */

/* Called by pointers beside each other, not through the linkage table, see HOT. They are set before the first
   hook is put in. */
static struct {
    void *(*malloc)(size_t);
    void (*free)(void *);
} often HOT;

static __attribute__((noinline)) void *
recorded(void *block, size_t size)
{
    born(NATIVE, block, size);
    return block;
}

static __attribute__((noinline)) void *
malloc_sample(size_t size)
{
    return recorded(often.malloc(size), size);
}

static HOT void *
hooked_malloc(size_t size)
{
    if (is_due(NATIVE, size)) {
        return malloc_sample(size);
    }
    return often.malloc(size);
}

static void *
hooked_calloc(size_t count, size_t item)
{
    size_t size = item && count > SIZE_MAX / item ? 0 : count * item;
    if (is_due(NATIVE, size)) {
        return recorded(calloc(count, item), size);
    }
    return calloc(count, item);
}

/* What was there dies before it is given back, see domains.c. */
static __attribute__((noinline)) void *
resized(void *block, size_t size, int due)
{
    Sample held;
    int had = forget(block, &held);
    void *moved = realloc(block, size);
    if (moved == NULL && size && had) { /* of no bytes, it was a free */
        remember(&held);
    }
    return due ? recorded(moved, size) : moved;
}

static void *
hooked_realloc(void *block, size_t size)
{
    int due = is_due(NATIVE, size);
    if (UNLIKELY(due || may_be_sampled(block))) {
        return resized(block, size, due);
    }
    return realloc(block, size);
}

static void *
hooked_reallocarray(void *block, size_t count, size_t item)
{
    if (item && count > SIZE_MAX / item) {
        errno = ENOMEM;
        return NULL;
    }
    return hooked_realloc(block, count * item);
}

static __attribute__((noinline)) void
free_sample(void *block)
{
    died(block);
    often.free(block);
}

static HOT void
hooked_free(void *block)
{
    if (may_be_sampled(block)) {
        free_sample(block);
        return;
    }
    often.free(block);
}

static int
hooked_posix_memalign(void **block, size_t alignment, size_t size)
{
    if (LIKELY(!is_due(NATIVE, size))) {
        return posix_memalign(block, alignment, size);
    }
    int failed = posix_memalign(block, alignment, size);
    born(NATIVE, failed ? NULL : *block, size);
    return failed;
}

static void *
hooked_aligned_alloc(size_t alignment, size_t size)
{
    if (LIKELY(!is_due(NATIVE, size))) {
        return aligned_alloc(alignment, size);
    }
    return recorded(aligned_alloc(alignment, size), size);
}

static void *
hooked_memalign(size_t alignment, size_t size)
{
    if (LIKELY(!is_due(NATIVE, size))) {
        return memalign(alignment, size);
    }
    return recorded(memalign(alignment, size), size);
}

/* Memory of its own that may be written at once: no file, and no room that is only reserved. */
static int
takes_memory(int protection, int flags, int file)
{
    return (flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) && file == -1
           && !(flags & (MAP_FIXED | MAP_NORESERVE)) && (protection & PROT_WRITE);
}

static void *
hooked_mmap(void *wanted, size_t size, int protection, int flags, int file, off_t offset)
{
    void *made = mmap(wanted, size, protection, flags, file, offset);
    if (made == MAP_FAILED) {
        return made;
    }
    if (may_be_sampled(made)) { /* mapped over, or unmapped by who is not seen */
        died(made);
    }
    if (takes_memory(protection, flags, file) && is_due(NATIVE, size)) {
        born(NATIVE, made, size);
    }
    return made;
}

/* Where it cuts off the front, the rest is no longer known: nobody is accused of it. */
static int
hooked_munmap(void *start, size_t size)
{
    if (may_be_sampled(start)) {
        died(start);
    }
    return munmap(start, size);
}

static void *hooked_dlsym(void *handle, const char *name);

/* ---- which entries ------------------------------------------------------------------------------- */

enum flag { IN_PYTHON = 1, OUTSIDE_LIBC = 2 };

static const struct {
    const char *name;
    void *hook;
    int flags;
} functions[] = {
    {"malloc", (void *)hooked_malloc, 0},
    {"calloc", (void *)hooked_calloc, 0},
    {"realloc", (void *)hooked_realloc, 0},
    {"reallocarray", (void *)hooked_reallocarray, 0},
    {"free", (void *)hooked_free, IN_PYTHON},
    {"posix_memalign", (void *)hooked_posix_memalign, 0},
    {"aligned_alloc", (void *)hooked_aligned_alloc, 0},
    {"memalign", (void *)hooked_memalign, 0},
    {"mmap", (void *)hooked_mmap, OUTSIDE_LIBC},
    {"mmap64", (void *)hooked_mmap, OUTSIDE_LIBC},
    {"munmap", (void *)hooked_munmap, OUTSIDE_LIBC},
    {"dlsym", (void *)hooked_dlsym, OUTSIDE_LIBC},
};
#define FUNCTIONS (int)(sizeof(functions) / sizeof(*functions))

/* As the dynamic linker knows them: the entries of this library may be changed, too. */
static void *real_functions[FUNCTIONS];

/* The addresses of their stand-ins in a program that is built for a fixed place and takes theirs, as
   the Pythons of Debian and Ubuntu are and do: who asks for the address of free gets that of the
   stand-in, also the libraries. NULL where there is none. */
static void *stand_ins[FUNCTIONS];

static int
function_named(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (name[0] == functions[i].name[0] && strcmp(name, functions[i].name) == 0) {
            return i;
        }
    }
    return -1;
}

/* ctypes asks here. The two handles that are none mean another thing for each caller: with them the
   call is passed on as it is, and the compiler makes it a jump, so that the caller stays who it was. */
static void *
hooked_dlsym(void *handle, const char *name)
{
    int i = handle != RTLD_DEFAULT && handle != RTLD_NEXT ? function_named(name) : -1;
    if (i >= 0) {
        void *found = dlsym(handle, name);
        return found && (found == real_functions[i] || found == stand_ins[i]) ? functions[i].hook : found;
    }
    return dlsym(handle, name);
}

static uintptr_t *sentinel; /* the entry of free in Python's binary */

/* ---- what the functions are ------------------------------------------------------------------------ */

/* Note the stand-ins of the program itself, which comes first. */
static int
find_stand_ins(struct dl_phdr_info *info, size_t size, void *unused)
{
    Library program = {0};
    (void)size, (void)unused;
    read_library(&program, info);
    for (int table = 0; program.symbols && program.strings && table < 2; table++) {
        for (size_t at = 0; program.tables[table] && at < program.counts[table]; at++) {
            const ElfW(Sym) *symbol =
                &program.symbols[ELF64_R_SYM(program.tables[table][at].r_info)];
            int i = function_named(program.strings + symbol->st_name);
            if (i >= 0 && symbol->st_shndx == SHN_UNDEF && symbol->st_value) {
                stand_ins[i] = (void *)(program.base + symbol->st_value);
            }
        }
    }
    return 1;
}

/* Return a function as those find it that are loaded with the program: behind its stand-in. */
static void *
behind_stand_in(const char *name)
{
    void *program = dlopen(NULL, RTLD_LAZY), *found = NULL;
    struct link_map *map = NULL;
    if (program == NULL || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0 || map == NULL) {
        return NULL;
    }
    while (found == NULL && (map = map->l_next) != NULL) {
        void *library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        found = library == NULL ? NULL : dlsym(library, name);
        if (library != NULL) {
            dlclose(library);
        }
    }
    dlclose(program);
    return found;
}

static void
find_real_functions(void)
{
    dl_iterate_phdr(find_stand_ins, NULL);
    for (int i = 0; i < FUNCTIONS; i++) {
        void *found = dlsym(RTLD_DEFAULT, functions[i].name);
        int stands_in = found != NULL && found == stand_ins[i];
        real_functions[i] = stands_in ? behind_stand_in(functions[i].name) : found;
    }
    often.malloc = (void *(*)(size_t))real_functions[function_named("malloc")];
    often.free = (void (*)(void *))real_functions[function_named("free")];
}

/* ---- which objects are patched --------------------------------------------------------------------- */

/* Return whether an object is patched at all, and which functions are for it. */
static int
is_wanted(Library *object)
{
    uintptr_t linker = getauxval(AT_BASE), kernel = getauxval(AT_SYSINFO_EHDR);
    if (object->symbols == NULL || object->strings == NULL || object->base == linker
        || (kernel && library_holds(object, (void *)kernel)) || library_holds(object, (void *)&sentinel)) {
        return 0;
    }
    if (library_holds(object, (void *)PyObject_Malloc)) {
        object->only = IN_PYTHON;
    }
    if (library_holds(object, (void *)gnu_get_libc_version)) {
        object->left_out = OUTSIDE_LIBC;
    }
    else if (library_holds(object, real_functions[0])) {
        return 0; /* an allocator in the place of the C library's */
    }
    return 1;
}

static int
is_ours_to_change(const Library *object, const uintptr_t *entry, unsigned long kind, int i)
{
    void *now = (void *)*entry;
    if (real_functions[i] == NULL || now == real_functions[i] || (now && now == stand_ins[i])) {
        return real_functions[i] != NULL;
    }
    return kind == JUMP_SLOT && library_holds(object, now); /* not resolved yet */
}

static void
patch_entry(Library *object, const ElfW(Rela) * relocation)
{
    unsigned long kind = ELF64_R_TYPE(relocation->r_info);
    if (kind != JUMP_SLOT && kind != GLOB_DAT && kind != ABSOLUTE) {
        return;
    }
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    int i = function_named(object->strings + symbol->st_name);
    if (i < 0 || functions[i].flags & object->left_out
        || (object->only && !(functions[i].flags & object->only))) {
        return;
    }
    uintptr_t *entry = (uintptr_t *)(object->base + relocation->r_offset);
    if (object->only && kind != ABSOLUTE) {
        sentinel = entry;
    }
    if (is_ours_to_change(object, entry, kind, i)) {
        change_entry(object, entry, (uintptr_t)functions[i].hook);
    }
}

static int
patch_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    Library object = {0};
    (void)size, (void)unused;
    read_library(&object, info);
    if (is_wanted(&object)) {
        for (int table = 0; table < 2; table++) {
            for (size_t i = 0; object.tables[table] && i < object.counts[table]; i++) {
                patch_entry(&object, &object.tables[table][i]);
            }
        }
    }
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------------- */

const char *
patch_libraries(void)
{
    static unsigned long long patched;
    static const char *problem; /* of what was loaded then */
    unsigned long long loads = libraries_loaded();
    if (real_functions[0] == NULL) {
        find_real_functions();
    }
    int i = function_named("free");
    uintptr_t hook = (uintptr_t)functions[i].hook, real = (uintptr_t)real_functions[i];
    if (sentinel != NULL && *sentinel != hook && *sentinel != real) {
        native_is_recorded = 0;
        return "another tool (memray?) stands in the C library's functions";
    }
    if (problem != NULL && loads == patched) {
        return problem; /* to try again would cost as much as it did, each round */
    }
    problem = NULL;
    if (loads != patched || sentinel == NULL || *sentinel != hook) {
        int lost = sentinel != NULL && *sentinel != hook;
        dl_iterate_phdr(patch_object, NULL);
        patched = loads;
        if (sentinel == NULL || *sentinel != hook) {
            native_is_recorded = 0;
            return problem = "the C library's functions cannot be replaced here";
        }
        if (lost) { /* what was freed meanwhile was not seen */
            return "";
        }
    }
    native_is_recorded = 1;
    return NULL;
}

#else

const char *
patch_libraries(void)
{
    return "C memory is recorded on x86-64 only";
}

#endif
