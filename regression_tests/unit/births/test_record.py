"""What is alive is told by line, phase and time of birth, with its error."""

from __future__ import annotations

from birth_programs import needs_births, run

from leakguard.capture.births import BirthRecord

pytestmark = needs_births


def test_line_phase_and_round_of_what_stays_are_told():
    said = run("""
        def train(round_):
            kept.append([bytes(400) for _ in range(500)])

        def evaluate():
            return [bytes(400) for _ in range(500)]

        for round_ in range(12):
            record.mark(round_, "train")
            train(round_)
            record.mark(round_, "train/evaluate")
            evaluate()
        told = record.cohorts(12)
        place = next(p for p in told.places if p.function == "train")
        print(place.phase, place.native, [c.round for c in place.cohorts] == list(range(12)))
        print(abs(place.bytes - 12 * 500 * 433) < 4 * place.error, 0 < place.error < place.bytes)
        print(sum(p.bytes for p in told.places if p.function == "evaluate") < place.bytes / 20)
        print(told.share)
    """)

    assert said[:5] == ["train", "False", "True", "True", "True"]
    assert said[5:] == ["True", "1.0"]


def test_each_line_of_a_long_function_is_told_as_python_has_it():
    said = run("""
        source = ["def long(kept):"]
        for number in range(300):
            source += ["    kept.append((bytearray(40_000 +"] + [""] * (number % 90)
            source += ["        0), sys._getframe().f_lineno))"]
            source += ["    for _ in range(2):", "        pass"] if number % 7 == 0 else []
        space = {"sys": sys}
        exec(compile("\\n".join(source), "/program/long.py", "exec"), space)
        space["long"](kept)
        places = {}
        from leakguard.capture.births import _births
        _births.cohorts(places)
        told = {line for (_, line, name), _ in places.values() if name == "long"}
        lines, number = set(), 2
        for index, text in enumerate(source, 1):
            if "bytearray" in text:
                lines.add(index)
        print(lines <= told, len(lines))
    """)

    assert said == ["True", "300"]


def test_names_that_are_no_ascii_are_told_as_they_are():
    said = run("""
        space = {}
        exec(compile("def größe_日本(): return bytearray(100_000)", "/tmp/ü/日.py", "exec"), space)
        kept.append(space["größe_日本"]())
        print(any("ü/日.py:1 in größe_日本" in p.stack for p in record.cohorts().places))
    """)

    assert said == ["True"]


def test_growth_in_one_piece_shows_in_live_totals():
    said = run("""
        grown = bytearray()
        def grow():
            grown.extend(bytes(40_000))
        totals = []
        for round_ in range(20):
            record.mark(round_, "grow")
            grow()
            totals.append(alive(function="grow"))
        place = next(p for p in record.cohorts(20).places if p.function == "grow")
        print(totals == sorted(totals), totals[-1] >= 800_000, len(place.cohorts))
    """)

    assert said[:2] == ["True", "True"]
    assert int(said[2]) == 1


def test_what_is_freed_is_told_no_longer():
    said = run("""
        def fill():
            return [bytes(300) for _ in range(5_000)] + [bytearray(9_000) for _ in range(100)]
        kept.append(fill())
        full = alive(function="fill")
        kept.clear()
        print(full > 2_000_000, alive(function="fill"))
    """)

    assert said == ["True", "0"]


def test_more_samples_than_fit_are_thinned_and_their_sums_stay():
    said = run("""
        record.stop()
        record = BirthRecord(interval=64, seed=3, native=False)
        record.start()
        def small():
            kept.append([bytes(100) for _ in range(300_000)])
        def large():
            kept.append([bytearray(20_000) for _ in range(400)])
        small()
        large()
        told = record.cohorts()
        places = {p.function: p for p in told.places}
        print(told.samples <= 65_536, told.interval > 64)
        for name, true in (("small", 300_000 * 133 + 8 * 300_000), ("large", 400 * 20_001)):
            place = places[name]
            print(abs(place.bytes - true) < 4 * place.error + 0.01 * true)
            print(place.error / true < 0.05)
    """)

    assert said == ["True"] * 6


def test_intervals_follow_what_the_program_allocates():
    said = run("""
        import zlib
        record.stop()
        record = BirthRecord(seed=3)
        record.start()
        first = record.cohorts().interval
        for round_ in range(40):
            record.mark(round_, "")
            record.check()
            for _ in range(20_000):
                bytes(400)
        busy = record.cohorts().interval
        data = bytes(100_000)
        end = time.process_time() + 1.5
        while time.process_time() < end:
            record.mark(round_, "")
            record.check()
            zlib.crc32(data)
        print(busy > first, record.cohorts().interval < busy)
    """)

    assert said == ["True", "True"]


def test_large_blocks_that_come_and_go_leave_the_samples_of_small_ones():
    said = run("""
        record.stop()
        record = BirthRecord(seed=3, native=False)
        record.start()
        class Entry:
            __slots__ = ("number",)
        def keep():
            kept.append([Entry() for _ in range(1_000)])
        for round_ in range(10):
            record.mark(round_, "")
            record.check()
            for _ in range(6_000):
                bytearray(100_000)
            keep()
        told = record.cohorts(10)
        samples = sum(place.samples for place in told.places if place.function == "keep")
        print(samples >= 60, told.interval <= 4_096)
    """)

    assert said == ["True", "True"]


def test_small_blocks_that_come_and_go_leave_the_samples_of_another_size():
    said = run("""
        from leakguard.capture.births.birth_record import _births
        record.stop()
        record = BirthRecord(seed=3, native=False)
        record.start()
        class Entry:
            __slots__ = tuple("abcdefgh")
        def keep():
            kept.append([Entry() for _ in range(5)])
        began = time.process_time()
        for round_ in range(200):
            record.mark(round_, "")
            record.check()
            for _ in range(20_000):
                bytes(400)
            keep()
        seconds = time.process_time() - began
        told = record.cohorts(200)
        (place,) = [place for place in told.places if place.function == "keep"]
        (python, c) = _births.figures()[2]
        print(place.samples >= 100, abs(place.bytes - 1_000 * 96) < 4 * place.error + 40_000)
        print(python[1] < 2 * (20_000 + 3_000 * seconds))
    """)

    assert said == ["True"] * 3


def test_each_of_thousands_of_deep_stacks_has_its_line():
    said = run(
        """
        calls = "\\n".join(["def outer():"] + ["    inner()"] * 200)
        lines = "\\n".join(["def inner():"] + ["    kept.append(bytes(40_000))"] * 150)
        space = {"kept": kept}
        exec(compile(calls, "/program/calls.py", "exec"), space)
        exec(compile(lines, "/program/lines.py", "exec"), space)

        def deep(depth):
            return deep(depth - 1) if depth else space["outer"]()

        record.mark(0, "")
        deep(50)
        places = {}
        rows = _births.cohorts(places)
        stacks = {row[0]: Stacks(places).frames(row[0]) for row in rows if row[0]}
        of_inner = [frames for frames in stacks.values() if frames[0][2] == "inner"]
        print(len(of_inner) >= 30_000, {len(frames) for frames in of_inner} == {54})
        print({frames[0][1] for frames in of_inner} == set(range(2, 152)))
        print({frames[1][1:] for frames in of_inner} == {(n, "outer") for n in range(2, 202)})
        print(sum(row[5] for row in rows if row[0] == 0) < 1_000_000)
    """,
        before="from leakguard.capture.births.birth_record import Stacks, _births",
    )

    assert said == ["True"] * 5


def test_line_that_runs_seldom_keeps_its_samples_beside_one_that_makes_blocks_of_its_size():
    said = run("""
        record.stop()
        record = BirthRecord(seed=3, native=False)
        record.start()
        seldom, often = [None] * 8_000, [None] * 8_000
        def keep(at):
            for number in range(at, at + 20):
                seldom[number] = bytes(400)
        def work(at):
            for number in range(at, at + 20):
                for _ in range(200):
                    often[number] = bytes(400)
        for round_ in range(400):
            record.mark(round_, "")
            record.check()
            work(20 * round_)
            keep(20 * round_)
        samples = {place.function: place.samples for place in record.cohorts(400).places}
        print(samples["keep"] > 50, samples["keep"] > 2.5 * samples.get("work", 0))
    """)

    assert said == ["True", "True"]


def test_a_quiet_loop_has_nearly_each_of_its_blocks_sampled():
    said = run("""
        record.stop()
        import zlib
        record = BirthRecord(seed=3, native=False)
        record.start()
        data = bytes(1_000_000)
        def keep(round_):
            kept.append(float(round_))
        for round_ in range(40):
            record.mark(round_, "")
            record.check()
            end = time.process_time() + 0.03
            while time.process_time() < end:
                zlib.crc32(data)
            keep(round_)
        print(record.cohorts().interval < 1_024)
    """)

    assert said == ["True"]


def test_guards_own_memory_is_not_told():
    said = run("""
        kept.append(record.cohorts(64))
        for round_ in range(30):
            record.mark(round_, "")
            kept.append(record.cohorts(64))
        print(alive() < 20_000)
    """)

    assert said == ["True"]


def test_record_without_its_compiled_part_says_so(monkeypatch):
    monkeypatch.setattr("leakguard.capture.births.birth_record._births", None)
    record = BirthRecord()
    record.start()
    record.mark(0, "train")

    record.check()
    assert record.cohorts() is None
    assert record.problem is not None and "not built" in record.problem
    assert not record.running and record.share == 0.0
    record.stop()
