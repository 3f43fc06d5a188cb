#!/bin/sh
# Runs the record of births under AddressSanitizer and UndefinedBehaviorSanitizer (its tests, a
# stress of threads and forks), then under ThreadSanitizer (the stress, with Python's memory only:
# the sanitizer's own threads allocate before it knows them). Prints "clean" or the first report.
# Usage: regression_tests/benchmarks/births/sanitize.sh [SECONDS] [PYTHON]
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../../.." && pwd)
seconds=${1:-60}
python=${2:-"$root/.venv/bin/python"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cp -r "$root/leakguard" "$root/regression_tests" "$work"
export PYTHONPATH="$work" PYTHONDONTWRITEBYTECODE=1
cd "$work"
built() {
    rm -f leakguard/capture/births/_births*.so
    # It refuses to start beside the sanitizer, but for this.
    ${CC:-cc} -g -O1 -fno-omit-frame-pointer -shared -fPIC "-I$include" -DLEAKGUARD_SANITIZED "-fsanitize=$1" \
        "$root"/leakguard/capture/births/record/*.c -o "leakguard/capture/births/_births$suffix" -ldl -lm -lpthread
}
library() { "${CC:-cc}" -print-file-name="$1"; }

built address,undefined
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1
LD_PRELOAD="$(library libasan.so) $(library libubsan.so)" \
    "$python" -m regression_tests.benchmarks.births.stress --seconds "$seconds"
# Three tests are of what the sanitizer changes: it copies texts without malloc, built with little
# optimization a call of dlsym is no jump, and the C library has none of the memory in use.
LD_PRELOAD="$(library libasan.so) $(library libubsan.so)" \
    "$python" -m pytest -q -p no:cacheprovider -p no:memray -p no:anyio -p no:leakguard -m "not heavy" \
    regression_tests/unit/births/test_hazards.py regression_tests/unit/births/test_small_blocks.py \
    regression_tests/unit/births/test_windows.py regression_tests/unit/births/test_record.py \
    regression_tests/unit/births/test_c_memory.py \
    -k "not test_library_that_asks_for_the_next_function and not test_each_way_to_memory \
        and not test_recorded_objects_count"

built thread
LD_PRELOAD="$(library libtsan.so)" TSAN_OPTIONS="halt_on_error=1 report_signal_unsafe=0" \
    "$python" -m regression_tests.benchmarks.births.stress --python-only --seconds "$seconds"
echo clean
