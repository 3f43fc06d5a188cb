"""Memory that C code takes from the C library is recorded with the line that called it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig

import pytest
from birth_programs import needs_births, run

pytestmark = [
    needs_births,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="C memory is recorded on x86-64"),
]
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")
LEAK = """
#include <stdlib.h>
#include <string.h>
void *leak(size_t size) { return memset(malloc(size), 1, size); }
char *copy(const char *text) { return strdup(text); }
void *grow(void *block, size_t size) { return realloc(block, size); }
void *aligned(size_t size) {
    void *block = NULL;
    return posix_memalign(&block, 64, size) ? NULL : block;
}
void give_back(void *block) { free(block); }
"""
CALL = """
import ctypes
lib = ctypes.CDLL(os.environ["LEAK"])
for name in ("leak", "copy", "grow", "aligned"):
    getattr(lib, name).restype = ctypes.c_void_p
lib.leak.argtypes = lib.aligned.argtypes = (ctypes.c_size_t,)
lib.grow.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
lib.give_back.argtypes = (ctypes.c_void_p,)
record.check()
"""


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    """A C library that leaks, compiled here."""
    return compiled(tmp_path_factory.mktemp("leaking"), "leak", LEAK)


def compiled(folder, name, source):
    """Compile one C file into a library; return its path."""
    (folder / f"{name}.c").write_text(source)
    library = folder / f"lib{name}.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-fno-builtin", "-o", library, folder / f"{name}.c", "-ldl"],
        check=True,
    )
    return str(library)


# A program that is built for a fixed place and takes the addresses of functions, as the Pythons of
# Debian and Ubuntu are and do: it has stand-ins for them, which others find in their place.
FIXED = """
#include <Python.h>
#include <stdlib.h>
int main(int count, char **words)
{
    void *(*volatile take)(size_t) = malloc;
    void (*volatile give_back)(void *) = free;
    give_back(take(1));
    return Py_BytesMain(count, words);
}
"""


@pytest.fixture(scope="module")
def fixed_python(tmp_path_factory):
    """This Python as a program that is no PIE; its path."""
    told = sysconfig.get_config_vars()
    if not told["Py_ENABLE_SHARED"]:
        pytest.skip("this Python is no library")
    folder = tmp_path_factory.mktemp("fixed")
    (folder / "main.c").write_text(FIXED)
    command = ["cc", "-no-pie", "-fno-pie", "-o", folder / "python", folder / "main.c"]
    command += [f"-I{sysconfig.get_path('include')}", f"-L{told['LIBDIR']}"]
    command += [f"-lpython{told['LDVERSION']}", f"-Wl,-rpath,{told['LIBDIR']}"]
    subprocess.run(command, check=True)
    return str(folder / "python")


@needs_compiler
def test_memory_is_recorded_where_the_program_has_stand_ins_of_the_functions(fixed_python, leaking):
    said = run(
        CALL
        + """
def call():
    kept.extend(lib.leak(20_000) for _ in range(20))

call()
print(record.native_problem, 390_000 < alive(native=True) < 420_000)
for block in kept:
    lib.give_back(block)
print(alive(native=True) < 10_000)
""",
        python=fixed_python,
        LEAK=leaking,
        PYTHONHOME=sys.base_prefix,
        PYTHONPATH=os.pathsep.join(sys.path),
    )

    assert said == ["None", "True", "True"]


@needs_compiler
def test_malloc_of_a_library_loaded_later_is_told_by_its_caller(leaking):
    said = run(
        CALL
        + """
def call(size):
    return lib.leak(size)

for round_ in range(20):
    record.mark(round_, "native")
    for _ in range(100):
        kept.append(call(500))
    lib.give_back(call(100_000))
place = next(p for p in record.cohorts(20).places if p.native)
print(place.function, place.phase, place.native, len(place.cohorts))
print(abs(place.bytes - 1_000_000) < 4 * place.error)
for block in kept:
    lib.give_back(block)
print(alive(native=True, function="call"))
""",
        LEAK=leaking,
    )

    assert said == ["call", "native", "True", "20", "True", "0"]


@needs_compiler
def test_each_way_to_memory_is_recorded_and_taken_back(leaking):
    said = run(
        CALL
        + """
def ways():
    text = b"x" * 20_000
    kept.extend([lib.copy(text), lib.aligned(20_000), lib.grow(None, 20_000)])
    kept.append(lib.grow(lib.leak(10), 20_000))

ways()
print(79_000 < alive(function="ways", native=True) < 81_000)
for block in kept:
    lib.give_back(block)
print(alive(function="ways", native=True))
""",
        LEAK=leaking,
    )

    assert said == ["True", "0"]


def test_malloc_that_ctypes_asks_for_is_recorded():
    said = run("""
        import ctypes
        record.check()
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
        libc.free.argtypes = (ctypes.c_void_p,)
        def call():
            kept.extend(libc.malloc(20_000) for _ in range(20))
        call()
        print(390_000 < alive(native=True) < 420_000)
        for block in kept:
            libc.free(block)
        print(alive(native=True) < 10_000)
    """)

    assert said == ["True", "True"]


@needs_compiler
def test_library_that_asks_for_the_next_function_gets_it(tmp_path):
    ask = "#define _GNU_SOURCE\n#include <dlfcn.h>\nint answer(void) { return 1; }\n"
    ask += 'int next(void) { return ((int (*)(void))dlsym(RTLD_NEXT, "answer"))(); }\n'
    ask += 'int first(void) { return ((int (*)(void))dlsym(RTLD_DEFAULT, "answer"))(); }\n'
    second = compiled(tmp_path, "second", "int answer(void) { return 2; }\n")
    (tmp_path / "first.c").write_text(ask)
    first = str(tmp_path / "libfirst.so")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", first, tmp_path / "first.c", second],
        check=True,
    )
    said = run(
        """
        import ctypes
        lib = ctypes.CDLL(os.environ["FIRST"])
        before = lib.next(), lib.first()
        record.check()
        print(before == (lib.next(), lib.first()), before[0])
        """,
        FIRST=first,
    )

    assert said == ["True", "2"]


def test_mappings_are_recorded_until_they_are_unmapped():
    said = run("""
        import mmap
        def map_two():
            return [mmap.mmap(-1, 1_000_000, flags=mmap.MAP_PRIVATE) for _ in range(2)]
        def reserve():
            return mmap.mmap(-1, 1 << 33, flags=mmap.MAP_PRIVATE | 0x4000)
        record.check()
        maps, room = map_two(), reserve()
        print(alive(function="map_two", native=True), alive(function="reserve", native=True))
        maps[0].close()
        print(alive(function="map_two", native=True))
    """)

    assert said == ["2000000", "0", "1000000"]


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="numpy is not here")
def test_arrays_are_told_by_line():
    said = run(
        """
        import numpy as np
        record.check()
        def arrays():
            kept.append(np.ones(2_000))
        for round_ in range(50):
            record.mark(round_, "arrays")
            arrays()
            np.ones(3_000).sum()
        # numpy takes its data from C, or from RAW, where the objects around it are told with it
        place = next(p for p in record.cohorts(50).places if p.function == "arrays")
        print(800_000 <= place.bytes < 830_000, place.samples >= 50)
        """
    )

    assert said == ["True", "True"]


@pytest.mark.skipif(importlib.util.find_spec("memray") is None, reason="memray is not here")
def test_memray_beside_it_is_left_alone_and_outlived(tmp_path):
    said = run(
        """
        import memray, numpy as np
        def arrays(number):
            return [np.ones(5_000) for _ in range(number)]
        record.check()
        kept.append(arrays(50))
        print(alive(function="arrays", native=True) > 1_900_000)
        for part in range(2):
            with memray.Tracker(os.environ["TRACE"] + str(part), native_traces=False):
                record.check()
                print("memray" in record.native_problem, alive(native=True))
                kept.append(arrays(50))
            found = memray.FileReader(os.environ["TRACE"] + str(part))
            print(found.metadata.total_allocations > 50)
            record.check()
            kept.append(arrays(50))
            print(record.native_problem, record.problem)
            print(1_900_000 < alive(function="arrays", native=True) < 2_100_000)
        """,
        TRACE=str(tmp_path / "trace"),
    )

    assert said == ["True", *(["True", "0", "True", "None", "None", "True"] * 2)]
