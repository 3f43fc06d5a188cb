"""A framework that is recognised: its steps are generations, its epochs a level above."""

from __future__ import annotations

import pytest

# What leakguard knows of a framework are names of modules, classes and methods. A package of these
# names stands for it, since none of the frameworks is needed to run the other tests.
FIT_LOOP = """
    from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
    class _FitLoop:
        def __init__(self, model, steps, validations):
            self.model, self.epoch = model, _TrainingEpochLoop(model, steps, validations)
        def run(self, epochs):
            for _ in range(epochs):
                self.on_advance_start()
                self.epoch.run()
            self.on_run_end()
        def on_advance_start(self): pass
        def on_run_end(self): pass
"""
TRAINING = """
    from lightning.pytorch.loops.evaluation_loop import _EvaluationLoop
    class _TrainingEpochLoop:
        def __init__(self, model, steps, validations):
            self.model, self.steps, self.validations = model, steps, validations
        def run(self):
            for step in range(1, self.steps + 1):
                self.advance(step)
                if step in self.validations:
                    _EvaluationLoop(self.model).run()
        def advance(self, step):
            self.model.training_step(step)
"""
EVALUATION = """
    class _EvaluationLoop:
        def __init__(self, model): self.model = model
        def run(self):
            for batch in range(5): self._evaluation_step(batch)
        def _evaluation_step(self, batch):
            self.model.validation_step(batch)
"""
SCRIPT = """
    import time
    from lightning.pytorch.loops.fit_loop import _FitLoop
    class Model:
        def __init__(self): self.kept, self.outputs = [], []
        def training_step(self, step):
            time.sleep(0.006)
            {step}
        def validation_step(self, batch):
            time.sleep(0.006)
            {batch}
    def main():
        _FitLoop(Model(), 300, {validations}).run(1)
    main()
"""


@pytest.fixture
def lightning(script):
    """Return a function that plays a training of one epoch under ``leakguard run``."""
    script.write(FIT_LOOP, "lightning/pytorch/loops/fit_loop.py")
    script.write(TRAINING, "lightning/pytorch/loops/training_epoch_loop.py")
    script.write(EVALUATION, "lightning/pytorch/loops/evaluation_loop.py")
    for folder in ("lightning", "lightning/pytorch", "lightning/pytorch/loops"):
        script.write("", f"{folder}/__init__.py")

    def played(step="pass", batch="pass", validations=()):
        script.write(SCRIPT.format(step=step, batch=batch, validations=validations))
        return script.watched()

    return played


def test_one_epoch_has_generations_of_training_steps(lightning):
    ended = lightning()
    assert "of Lightning" in str(ended.run.info.generation_means)
    assert len(ended.run.generations) > 20
    assert {end.outer["epoch"] for end in ended.run.generation_ends()} == {1}
    assert ended.report.verdict == "stable"


def test_leak_by_step_is_told_within_the_epoch(lightning):
    report = lightning(step="self.kept.append(bytearray(50_000))").report
    assert report.verdict == "leak"
    (finding,) = report.findings
    assert "kept" in finding.held_by
    assert finding.level.words == "within the epoch"


def test_leak_of_three_validations_is_told_at_each_of_them(lightning):
    keep = "self.outputs.append(bytearray(800_000))"
    report = lightning(batch=keep, validations=(80, 160, 240)).report
    assert report.verdict == "leak"
    (finding,) = report.findings
    assert "outputs" in finding.held_by
    assert finding.phase == "validate"
    assert finding.level.words.startswith("at each validation, +4.0 MB")


def test_validations_that_replace_what_they_kept_are_no_leak(lightning):
    keep = "self.outputs[batch:] = [bytearray(800_000)]"
    report = lightning(batch=keep, validations=(80, 160, 240)).report
    assert report.verdict == "stable"
