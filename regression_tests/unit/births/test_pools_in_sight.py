"""The interpreter's own statistics of its pools, beside a record of births."""

from __future__ import annotations

from birth_programs import needs_births, run


@needs_births
def test_bytes_in_pools_are_read_beside_a_record():
    said = run("""
        from leakguard.capture.allocator import pool_memory
        before = pool_memory()["python_in_use"]
        kept.append([float(i) for i in range(100_000)])
        gained = pool_memory()["python_in_use"] - before
        print(before > 1_000_000, 3_000_000 < gained < 3_600_000)
    """)

    assert said == ["True", "True"]


@needs_births
def test_small_objects_are_recorded_again_once_the_pools_were_read():
    said = run("""
        from leakguard.capture.allocator import pool_memory
        pool_memory()
        kept.append([bytes(300) for _ in range(2_000)])
        print(record.check() or record.problem, 600_000 < alive() < 750_000)
    """)

    assert said == ["None", "True"]
