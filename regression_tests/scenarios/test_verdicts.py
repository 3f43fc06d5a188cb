"""Every planted leak is named with phase, type, holder and start; the healthy twin is silent."""

from __future__ import annotations

import re

import pytest

ENVIRONMENT = "reference_trainer.environment.TradingEnvironment"
AGENT = "reference_trainer.agent.DDPGAgent"
TRAINER = "reference_trainer.trainer.ERLTrainer"


def test_healthy_training_is_stable_and_says_what_filled(trained):
    report = trained().report
    assert report.verdict == "stable", report.headline
    assert report.findings == ()
    assert {c.pattern for c in report.cleared} == {"filling"}
    assert "replay_buffer" in {c.metric for c in report.cleared}


@pytest.mark.parametrize(
    ("leak", "phase", "type_name", "held_by", "counts"),
    [
        (
            "env-per-episode",
            "evaluate_population",
            ENVIRONMENT,
            f"{TRAINER}.episode_envs[*]",
            (2, 18, 34, 50, 66, 82),
        ),
        pytest.param(
            "old-population",
            "evolve_population",
            AGENT,
            f"{TRAINER}.old_populations[*]",
            (17, 33, 49, 65, 81, 97),
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_objects_that_pile_up_are_named_whole(trained, leak, phase, type_name, held_by, counts):
    report = trained(leak).report
    (finding,) = report.findings
    assert (report.verdict, finding.verdict) == ("leak", "leak")
    assert (finding.phase, finding.type, finding.started_at) == (phase, type_name, 1)
    # The start, and the second, the middle and the last generation are looked at in any case; what
    # other looks may cost is bounded.
    seen = [count for count in counts if count in finding.counts]
    assert (tuple(seen), seen[0], seen[-1]) == (finding.counts, counts[0], counts[-1])
    assert len(seen) >= 4
    assert finding.count_per_generation == 16
    assert finding.held_by == held_by
    assert finding.retained_bytes > 0


def test_losses_that_keep_their_graph_are_an_autograd_leak(trained):
    findings = trained("loss-graph").report.findings
    assert findings
    for finding in findings:  # losses of critics and of actors are two lists
        assert (finding.verdict, finding.kind) == ("leak", "autograd")
        assert (finding.phase, finding.type) == ("train_population", "torch.Tensor")
        assert "losses[*]" in finding.held_by
        assert "item()" in finding.fix


@pytest.mark.heavy
def test_episode_histories_are_held_by_the_environment(trained):
    findings = trained("episode-history").report.findings
    assert findings
    for finding in findings:  # rewards and actions are two lists
        assert (finding.verdict, finding.phase) == ("leak", "evaluate_population")
        assert finding.started_at == 1
        # by the trainer's name of the environment, or by that of the hook that holds it, too
        assert re.search(r"\.(eval_)?env\.episode_", finding.held_by)


@pytest.mark.parametrize(
    "leak",
    [
        "env-per-episode",
        "loss-graph",
        *(
            pytest.param(leak, marks=pytest.mark.heavy)
            for leak in ("old-population", "episode-history")
        ),
    ],
)
def test_printed_log_alone_says_what_the_run_file_says(trained, tmp_path, leak):
    from leakguard import diagnose, load

    log = tmp_path / "training.log"
    log.write_text(trained(leak).log)
    printed, recorded = diagnose(load(log)), trained(leak).report
    assert printed.verdict == recorded.verdict == "leak"
    assert [told(f) for f in printed.findings] == [told(f) for f in recorded.findings]


def told(finding):
    return finding.kind, finding.type, finding.phase, finding.held_by
