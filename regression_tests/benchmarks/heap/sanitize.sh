#!/bin/sh
# Runs the compiled heap scan under AddressSanitizer and UndefinedBehaviorSanitizer on a planted
# heap and on the corpus of broken objects, also while threads change the heap, and the compiled
# updates of the reference trainer on their tests; prints "clean" or the first report. With
# --valgrind, the planted heap under memcheck instead.
# Usage: regression_tests/benchmarks/heap/sanitize.sh [--valgrind] [PYTHON]
set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/../../.." && pwd)
valgrind=""
if [ "${1:-}" = "--valgrind" ]; then valgrind=1; shift; fi
python=${1:-"$root/.venv/bin/python"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cp -r "$root/leakguard" "$work/leakguard"
rm -f "$work"/leakguard/capture/heap/_scan*.so
flags="-g -O1 -fno-omit-frame-pointer -shared -fPIC -I$include"
[ -n "$valgrind" ] || flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=undefined"
# shellcheck disable=SC2086
${CC:-cc} $flags "$root"/leakguard/capture/heap/scan/*.c -o "$work/leakguard/capture/heap/_scan$suffix"
export PYTHONPATH="$work" PYTHONMALLOC=malloc
planted="$root/regression_tests/benchmarks/heap/planted_heap.py"
if [ -n "$valgrind" ]; then
    # Invalid reads and writes only: the interpreter's own small integers count as uninitialised
    # here, and whatever is chosen by them with it. Reports that do not touch the scan are its own.
    valgrind --leak-check=no --undef-value-errors=no --log-file="$work/log" "$python" "$planted" --objects 2000
    if grep -q "_scan" "$work/log"; then cat "$work/log"; exit 1; fi
else
    # Each look at the corpus is in a process of its own: one that a sanitizer ends is told by kind.
    sanitized() { LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0 "$python" "$@"; }
    sanitized "$planted" --objects 50000
    export PYTHONPATH="$work:$root/regression_tests/unit/heap"
    sanitized -m broken_objects compiled > "$work/ends"
    "$python" -c 'import json, sys; bad = {k: v for k, v in json.load(sys.stdin).items() if v != "fine"}; sys.exit(f"not fine: {bad}" if bad else 0)' < "$work/ends"
    sanitized -m broken_objects compiled --mutate "${SECONDS_OF_THREADS:-30}"
    cp -r "$root/reference_trainer" "$root"/regression_tests/unit/trainer/test_fused.py \
        "$root"/regression_tests/unit/trainer/small_stacks.py "$work"
    rm -f "$work"/reference_trainer/_fused*.so
    # shellcheck disable=SC2086
    ${CC:-cc} $flags "$work/reference_trainer/_fused.c" -o "$work/reference_trainer/_fused$suffix" -lm
    cd "$work"
    export LD_PRELOAD="$(${CC:-cc} -print-file-name=libasan.so) $(${CC:-cc} -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0
    "$python" -c "from reference_trainer import fused; assert fused.kernel.__file__.startswith('$work'), fused.kernel"
    "$python" -m pytest -q -p no:cacheprovider -p no:memray -p no:leakguard test_fused.py
    unset LD_PRELOAD
fi
echo clean
