/* The loaded objects of this process: where each lies, and writing a word of its data. */

#include "births.h"

#include <sys/mman.h>
#include <unistd.h>

static uintptr_t
absolute(const Library *library, uintptr_t address)
{
    return address < library->base ? library->base + address : address;
}

static void
read_dynamic(Library *library, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        uintptr_t address = absolute(library, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: library->symbols = (const void *)address; break;
        case DT_STRTAB: library->strings = (const void *)address; break;
        case DT_JMPREL: library->tables[0] = (const void *)address; break;
        case DT_PLTRELSZ: library->counts[0] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELA: library->tables[1] = (const void *)address; break;
        case DT_RELASZ: library->counts[1] = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        }
    }
}

void
read_library(Library *library, const struct dl_phdr_info *info)
{
    library->base = info->dlpi_addr;
    library->low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = library->base + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_LOAD) {
            library->low = start < library->low ? start : library->low;
            library->high = end > library->high ? end : library->high;
        }
        else if (segment->p_type == PT_GNU_RELRO) {
            uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            library->relro = start & ~(page - 1);
            library->relro_end = end & ~(page - 1);
        }
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            read_dynamic(library, (const void *)(library->base + info->dlpi_phdr[i].p_vaddr));
        }
    }
}

int
library_holds(const Library *library, const void *address)
{
    return (uintptr_t)address >= library->low && (uintptr_t)address < library->high;
}

void
change_entry(const Library *library, uintptr_t *entry, uintptr_t value)
{
    uintptr_t at = (uintptr_t)entry;
    int closed = at >= library->relro && at < library->relro_end;
    size_t length = library->relro_end - library->relro;
    if (closed && mprotect((void *)library->relro, length, PROT_READ | PROT_WRITE) != 0) {
        return;
    }
    __atomic_store_n(entry, value, __ATOMIC_RELEASE);
    if (closed) {
        (void)mprotect((void *)library->relro, length, PROT_READ);
    }
}

static int
count_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

unsigned long long
libraries_loaded(void)
{
    unsigned long long loads = 0;
    dl_iterate_phdr(count_loads, &loads);
    return loads;
}
