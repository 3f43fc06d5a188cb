"""The runs as Markdown and as learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from regression_tests.benchmarks.trainer.evolution_wins.contest import (
    CURVE_EPISODES,
    FAR_SIGHTED,
    FINAL_EPISODES,
    METHODS,
    OURS,
    POINTS,
    TASKS,
    THEIRS,
    Run,
    Task,
)
from regression_tests.benchmarks.trainer.evolution_wins.statistics import difference, estimate
from regression_tests.benchmarks.trainer.learning import CHOSEN_SEEDS

#: What is compared, and with what.
WITH = "evolution"
WITHOUT = {
    "no evolution": "the same agents, never selected, each trained as much as the learner",
    "no evolution, same updates": "the same agents, never selected, all together trained as much",
    "gradient only": "the learner alone, with all steps to itself",
    "genetic only": "evolution alone, without a learner",
    "gradient only, far-sighted": f"the learner alone, with a discount of {FAR_SIGHTED}",
    "evolution along directions": "a learner and linear actors that search along directions",
    "ARS": "augmented random search, of a linear policy, without a learner",
    "CMA-ES": "CMA-ES, of a linear policy, without a learner",
    "evolution, two critics": "a few that evolve, beside a learner with two critics",
    "gradient only, two critics": "that learner alone, with all steps to itself",
    "evolution, no penalty": "evolution whose learner pays nothing for a saturated actor",
}
_PANELS_A_ROW = 2
#: How ours with one setting changed are drawn; the rest are drawn through. Theirs have a colour for
#: each algorithm.
_CHANGED = {
    ", no penalty": "-.", ", far-sighted": (0, (1, 1)), ", two critics": (0, (5, 1)),
}  # fmt: skip
_PLAIN = [method for method in OURS if not method.endswith(tuple(_CHANGED))]
_COLORS = ("C0", "C1", "C2", "C3", "C4", "C5", "C7", "C8", "gold")
_LINES: dict[str, tuple[str, str | tuple[int, tuple[int, int]]]] = {
    plain + change: (color, style)
    for plain, color in zip(_PLAIN, _COLORS, strict=True)
    for change, style in {"": "-", **_CHANGED}.items()
} | {
    method: (color, ":" if published else "--")
    for (method, (_, published)), color in zip(
        THEIRS.items(), 2 * ("C6", "black", "C9"), strict=True
    )
}


def markdown(runs: Sequence[Run], chosen_on: str) -> str:
    """One section a task: what the methods reached and what it cost."""
    parts = [
        "# Where evolution wins",
        f"Interquartile mean over seeds of the mean return of {FINAL_EPISODES} fresh episodes "
        "without noise, with a 95 % bootstrap interval (Agarwal et al. 2021); judged are the best "
        "agent of the trainer; the learner alone and stable-baselines3's policy as they are at the "
        "end. Every run of a task takes the same environment steps, but where the last column says "
        "otherwise, and those that select among agents are included. As in ERL (Khadka & Tumer "
        "2018), the learner makes one gradient update for each step kept to learn from; those that "
        "judge the best agent are not kept. Without evolution each of the ten agents makes as many "
        "(ten times the work), or all ten together do. The settings are its defaults for Gymnasium "
        f"tasks, one set for all tasks, chosen on {chosen_on}. "
        "One thread of a shared machine: wall seconds hold waiting, CPU seconds do not.",
        _seeds(runs),
    ]
    for task in TASKS.values():
        played = [run for run in runs if run.task == task.env_id]
        if played:
            parts += [_heading(task), _rows(task, played), _verdict(task, played)]
    return "\n\n".join([*parts, _memory(runs)]) + "\n"


def _seeds(runs: Sequence[Run]) -> str:
    seeds = sorted({run.seed for run in runs})
    known = [seed for seed in seeds if seed in CHOSEN_SEEDS]
    flattered = (
        f" The trainer's defaults were chosen on {' and '.join(map(str, known))}, which flatters "
        "it there: only other seeds say what it can do."
    )
    return f"Seeds: {', '.join(map(str, seeds))}.{flattered if known else ''}"


def _heading(task: Task) -> str:
    return f"## {task.env_id}, {task.steps:,} steps\n\n{task.why[0].upper()}{task.why[1:]}."


def _rows(task: Task, runs: Sequence[Run]) -> str:
    lines = [
        f"| method | seeds | return | 95 % interval | {task.solved:g} or more | wall s | CPU s "
        "| updates per step | updates per CPU s | steps |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        if not (its := [run for run in runs if run.method == method]):
            continue
        value, low, high = estimate([[run.score for run in its]])
        interval = f"{low:,.1f} to {high:,.1f}" if len(its) > 1 else "one seed"
        solved = sum(run.score >= task.solved for run in its)
        lines.append(
            f"| {method} | {len(its)} | {value:,.1f} | {interval} | {solved} of {len(its)} | "
            f"{_mean(its, lambda run: run.wall_s):.0f} | {_mean(its, lambda run: run.cpu_s):.0f} | "
            f"{_mean(its, lambda run: run.agent_updates / run.steps):.1f} | "
            f"{_mean(its, lambda run: run.agent_updates / run.cpu_s):,.0f} | "
            f"{max(run.steps for run in its):,} |"
        )
    return "\n".join(lines)


def _verdict(task: Task, runs: Sequence[Run]) -> str:
    """A sentence on each comparison: whether evolution helped, by how much, and how sure it is."""
    scores = {m: [run.score for run in runs if run.method == m] for m in METHODS}
    told = [
        _sentence(task, scores[WITH], scores[other], words)
        for other, words in WITHOUT.items()
        if min(len(scores[WITH]), len(scores[other])) > 1
    ]
    return "\n".join(told) or "Nothing that could be compared has been run twice."


def _sentence(task: Task, one: Sequence[float], other: Sequence[float], words: str) -> str:
    value, low, high = difference([one], [other])
    found = "more" if low > 0 else "less" if high < 0 else "no difference that shows"
    solved = [sum(score >= task.solved for score in scores) for scores in (one, other)]
    return (
        f"- Against {words}: {found}, {value:+,.1f} ({low:+,.1f} to {high:+,.1f}); {task.solved:g} "
        f"is reached on {solved[0]} of {len(one)} seeds, else on {solved[1]} of {len(other)}."
    )


def _memory(runs: Sequence[Run]) -> str:
    measured = [(run.method, run.memory) for run in runs if run.memory is not None]
    lines = ["## Memory", "", "Peaks above what was resident when the phase began, over all runs.",
             "", "| method | evolution | checkpoint | live objects as the curve is judged |",
             "|---|---|---|---|"]  # fmt: skip
    for method in OURS:
        if not (its := [memory for name, memory in measured if name == method]):
            continue
        counts = {
            ", ".join(f"{'/'.join(map(str, n))} {name}" for name, n in memory.counts.items())
            for memory in its
        }
        evolution, checkpoint = (
            max(getattr(memory, part) for memory in its) / 1e6
            for part in ("evolution", "checkpoint")
        )
        lines.append(
            f"| {method} | {evolution:+.1f} MB | {checkpoint:+.1f} MB | "
            f"{'; '.join(sorted(counts))} |"
        )
    return "\n".join(lines)


def curves(runs: Sequence[Run], path: Path) -> None:
    """Learning curves, one panel a task: interquartile mean and interval at equal steps."""
    tasks = [task for task in TASKS.values() if any(run.task == task.env_id for run in runs)]
    rows = math.ceil(len(tasks) / _PANELS_A_ROW)
    figure = Figure(figsize=(5.6 * _PANELS_A_ROW, 3.8 * rows + 0.8), layout="constrained")
    panels = figure.subplots(rows, _PANELS_A_ROW, squeeze=False).ravel()
    drawn = {}
    for task, axes in zip(tasks, panels, strict=False):
        marks = task.steps * np.arange(1, POINTS + 1) / POINTS
        for method in METHODS:
            its = [run for run in runs if (run.task, run.method) == (task.env_id, method)]
            if its:
                color, style = _LINES[method]
                points = _points([_at(run, marks) for run in its])
                (drawn[method],) = axes.plot(marks, points[:, 0], linestyle=style, color=color)
                axes.fill_between(marks, points[:, 1], points[:, 2], color=color, alpha=0.08)
        axes.set_title(f"{task.env_id}: return of {CURVE_EPISODES} episodes", fontsize=10)
        axes.set_xlabel("environment steps")
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    for axes in panels[len(tasks) :]:
        axes.remove()
    in_order = {method: drawn[method] for method in METHODS if method in drawn}
    figure.legend(
        in_order.values(), in_order.keys(), loc="outside lower center", ncols=4, fontsize=8
    )
    # Without a salt of ours each drawing names its parts anew, and the same runs look like others.
    with rc_context({"svg.hashsalt": path.name}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _points(curves_: Sequence[list[float]]) -> np.ndarray:
    """Interquartile mean and interval at each mark that all seeds have reached."""
    unknown = (float("nan"),) * 3
    return np.array(
        [
            unknown if np.isnan(scores).any() else estimate([scores])
            for scores in zip(*curves_, strict=True)
        ]
    )


def _at(run: Run, marks: np.ndarray) -> list[float]:
    """The last judged return at each mark; nothing is known before the first and after the run."""
    steps, scores = [step for step, _ in run.curve], [score for _, score in run.curve]
    places = np.searchsorted(steps, marks, side="right") - 1
    return [
        scores[place] if place >= 0 and mark <= run.steps else float("nan")
        for place, mark in zip(places, marks, strict=True)
    ]


def _mean(runs: Sequence[Run], value: Callable[[Run], float]) -> float:
    return float(np.mean([value(run) for run in runs]))
