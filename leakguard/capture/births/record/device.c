/* The memory of GPUs: what torch's CUDA allocator hands out.

   All tensors on a GPU come from one object of C++, whose table of virtual functions has `allocate` at a
   place that follows from its base class. The entry of the table is changed; what is freed is left alone.
   So a sample ends where its address is handed out again; before that, it counts for what a walk of the
   objects finds at this address, and for nothing else. */

#include "births.h"

#include <dlfcn.h>

#ifdef __x86_64__

/* std::atomic<CUDAAllocator *> c10::cuda::CUDACachingAllocator::allocator */
#define LIBRARY "libc10_cuda.so"
#define ALLOCATOR "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
/* In c10::Allocator the destructor has two entries, and `DataPtr allocate(size_t)` follows. */
#define ALLOCATE 2

/* A DataPtr is returned through memory of the caller, and begins with the address of the block. */
typedef void *(*Allocate)(void **result, void *self, size_t size);

static Allocate real_allocate;
static void *allocator;

static __attribute__((noinline)) void
handed_out(void *block, size_t size, int due)
{
    died(block);
    if (due) {
        born(DEVICE, block, size);
    }
}

/* Exceptions of C++ pass through here. */
static void *
hooked_allocate(void **result, void *self, size_t size)
{
    void *made = real_allocate(result, self, size);
    if (self == allocator && *result != NULL) {
        int due = is_due(DEVICE, size);
        if (UNLIKELY(due || may_be_sampled(*result))) {
            handed_out(*result, size, due);
        }
    }
    return made;
}

static int
change_where_it_lies(struct dl_phdr_info *info, size_t size, void *entry)
{
    Library library = {0};
    (void)size;
    read_library(&library, info);
    if (!library_holds(&library, entry)) {
        return 0;
    }
    change_entry(&library, entry, (uintptr_t)hooked_allocate);
    return 1;
}

/* Return where torch keeps its allocator; NULL without the library, which stays once it is loaded. The
   dynamic linker looks for it in files, too, and so is asked only after something was loaded. */
static void **
place_of_allocator(void)
{
    static void **place;
    static unsigned long long asked;
    unsigned long long loads = libraries_loaded();
    if (place == NULL && loads != asked) {
        void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            place = dlsym(library, ALLOCATOR);
            dlclose(library);
        }
        asked = loads;
    }
    return place;
}

void
watch_devices(void)
{
    void **place = real_allocate == NULL ? place_of_allocator() : NULL;
    if (place != NULL && *place != NULL) {
        allocator = *place;
        uintptr_t *entry = *(uintptr_t **)allocator + ALLOCATE;
        real_allocate = (Allocate)*entry;
        __sync_synchronize();
        dl_iterate_phdr(change_where_it_lies, entry);
    }
}

#else

void
watch_devices(void)
{
}

#endif
