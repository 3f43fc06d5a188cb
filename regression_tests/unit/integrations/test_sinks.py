"""Dashboards and loggers get the same few numbers of each generation, and the verdict."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import leakguard
from leakguard import LeakGuard, UsageError
from leakguard.integrations.sinks.logging import Logging
from leakguard.model.vitals import Vitals
from leakguard.store import load_runs

GENERATIONS = 6


class Environment:
    """A watched class."""


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self):
        self.vitals: list[Vitals] = []
        self.reports = []

    def write(self, vitals):
        self.vitals.append(vitals)

    def finish(self, report):
        self.reports.append(report)


def run(*sinks, leak: bool = False, out: Path | None = None) -> None:
    environments = [Environment()]
    held: list[bytearray] = []
    guard = LeakGuard({Environment: 1}, sinks=sinks, report=None, out=out, name="sinks")
    guard.gauge("buffer", lambda: 7)
    with guard:
        for _ in guard.generations(GENERATIONS):
            with guard.phase("rollout"):
                if leak:
                    held.append(bytearray(2_000_000))
                    environments.append(Environment())


def test_every_generation_is_written_and_the_verdict_once():
    kept = Kept()
    run(kept)
    assert [vitals.generation for vitals in kept.vitals] == list(range(GENERATIONS))
    assert [report.verdict for report in kept.reports] == ["stable"]
    names = {"memory/rss", "memory/live", "memory/peak", "phases/rollout", "gauges/buffer"}
    name = f"objects/{Environment.__module__}.Environment"
    assert names | {name} <= kept.vitals[-1].values.keys()
    assert kept.vitals[-1].values[name] == 1
    assert kept.vitals[-1].values["gauges/buffer"] == 7


def test_sink_that_raises_is_a_note_and_the_others_go_on(tmp_path, capsys):
    class Broken:
        def write(self, vitals):
            raise ConnectionError("no route to the dashboard")

        def finish(self, report):
            raise ConnectionError("still none")

    kept, out = Kept(), tmp_path / "run.jsonl"
    run(Broken(), kept, out=out)
    assert len(kept.vitals) == GENERATIONS
    assert len(kept.reports) == 1
    notes = [shot.unavailable.get("sink Broken", "") for shot in leakguard.load(out).snapshots]
    assert any("no route to the dashboard" in note for note in notes)
    assert capsys.readouterr().err.count("sink Broken got no verdict") == 1


@pytest.mark.parametrize("sink", [Kept, object(), 3])
def test_what_is_no_sink_is_refused_before_the_run(sink):
    with pytest.raises(UsageError, match="sinks= takes objects with"):
        LeakGuard(sinks=[sink])


def test_logger_gets_a_line_a_generation_and_the_verdict(caplog):
    caplog.set_level(logging.INFO, "training.memory")
    run(Logging("training.memory"), leak=True)
    *lines, verdict = [record for record in caplog.records if record.name == "training.memory"]
    assert len(lines) == GENERATIONS
    assert lines[2].message.startswith("generation 2: memory/rss ")
    assert lines[2].leakguard["memory/rss"] > 0
    assert verdict.levelname == "WARNING"
    assert verdict.message.startswith("leak: ")


@pytest.mark.heavy
def test_tensorboard_shows_the_numbers_beside_the_losses(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from leakguard.integrations.sinks.tensorboard import TensorBoard

    run(TensorBoard(tmp_path), leak=True)
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert [event.step for event in events.Scalars("leakguard/memory/rss")] == list(range(6))
    assert events.Scalars("leakguard/verdict")[0].value == 3
    assert "leakguard/report/text_summary" in events.Tags()["tensors"]


def test_prometheus_scrapes_the_last_generation():
    client = pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")
    from leakguard.integrations.sinks.prometheus import Prometheus

    registry = client.CollectorRegistry()
    run(Prometheus(registry, labels={"rank": "3"}))
    text = client.generate_latest(registry).decode()
    assert 'leakguard_generation{rank="3"} 5.0' in text
    assert 'leakguard_verdict{rank="3"} 0.0' in text
    assert registry.get_sample_value("leakguard_memory_bytes", {"rank": "3", "kind": "rss"}) > 0
    assert registry.get_sample_value("leakguard_gauge", {"rank": "3", "name": "buffer"}) == 7


def test_opentelemetry_reads_gauges_with_attributes():
    pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    from leakguard.integrations.sinks.opentelemetry import OpenTelemetry

    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("test")
    run(OpenTelemetry({"rank": 3}, meter))
    [resource] = json.loads(reader.get_metrics_data().to_json())["resource_metrics"]
    [scope] = resource["scope_metrics"]
    points = {metric["name"]: metric["data"]["data_points"] for metric in scope["metrics"]}
    assert points["leakguard.generation"][0]["value"] == 5
    assert points["leakguard.verdict"][0]["attributes"] == {"rank": 3, "verdict": "stable"}
    kinds = {point["attributes"]["kind"] for point in points["leakguard.memory"]}
    assert {"rss", "live", "peak"} <= kinds


@pytest.mark.heavy
def test_mlflow_keeps_numbers_by_generation_and_the_verdict_as_tag(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    from leakguard.integrations.sinks.mlflow import MLflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    try:
        with mlflow.start_run() as active:
            run(MLflow())
        client = mlflow.MlflowClient()
        history = client.get_metric_history(active.info.run_id, "leakguard/memory/rss")
        assert [metric.step for metric in history] == list(range(GENERATIONS))
        assert client.get_run(active.info.run_id).data.tags["leakguard.verdict"] == "stable"
    finally:
        mlflow.set_tracking_uri(None)


@pytest.mark.heavy
def test_mlflow_without_a_run_begins_none(tmp_path, capsys):
    pytest.importorskip("mlflow", reason="mlflow is not installed")
    from leakguard.integrations.sinks.mlflow import MLflow

    run(MLflow())
    assert "no MLflow run: call mlflow.start_run()" in capsys.readouterr().err


@pytest.mark.heavy
def test_wandb_run_offline_gets_numbers_and_a_summary(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    from leakguard.integrations.sinks.wandb import WandB

    monkeypatch.setenv("WANDB_SILENT", "true")
    with wandb.init(mode="offline", dir=tmp_path, project="leakguard") as active:
        run(WandB())
        assert active.summary["leakguard/verdict"] == "stable"
        assert active.summary["leakguard/generation"] == GENERATIONS - 1
        assert active.summary["leakguard/memory/rss"] > 0
    [read] = load_runs(next(tmp_path.glob("wandb/offline-run-*/*.wandb")))
    assert read.generations == tuple(range(GENERATIONS))
    assert all(snapshot.metrics["rss"] > 0 for snapshot in read.snapshots)
