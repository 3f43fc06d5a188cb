"""Two runs as a comment on a pull request: what the change adds, its holder, what to change."""

from __future__ import annotations

from pathlib import PurePath

from leakguard.model.comparison import Comparison
from leakguard.model.finding import SEVERITY, Finding
from leakguard.render import Layout, facts, outline
from leakguard.render.comparison_sections import sections
from leakguard.render.log_block import leak_block
from leakguard.render.markdown import MARKS
from leakguard.render.template import environment
from leakguard.render.text import clean, clean_lines, short_type

# A bot finds its earlier comment by this line, and edits it instead of writing a second one.
MARKER = "<!-- leakguard: memory of this change -->"
_TOLD = 3  # new findings that are told in full; a review rarely has more


def render(comparison: Comparison, layout: Layout) -> str:
    """Return the comment in Markdown; ``before`` is the run without the change."""
    template = environment().get_template("review_comment.md.j2")
    new = comparison.new[:_TOLD]
    return template.render(
        marker=MARKER,
        mark=MARKS[_worst(comparison)],
        headline=headline(comparison),
        findings=[(_sentence(finding), finding, clean(finding.fix or "")) for finding in new],
        blocks=[clean_lines(leak_block(finding)) for finding in new],
        more=len(comparison.new) - len(new),
        sections=[part for part in sections(comparison) if part.key != "counts"],
    )


def headline(comparison: Comparison) -> str:
    """Return one sentence on what the change does to memory, compared with the run before."""
    before = f"`{_before_name(comparison)}`"
    if comparison.new:
        first = comparison.new[0]
        return f"This change adds {_amount(first)}{_holder(first)}; {before} does not"
    if comparison.gone:
        gone = comparison.gone[0]
        return f"This change takes away {_amount(gone)}{_holder(gone)} of {before}"
    if comparison.after.verdict == "inconclusive":
        return "The run of this change is too short to tell"
    if comparison.stayed:
        first = comparison.stayed[0][1]
        return f"This change adds no leak; {before} has {_amount(first)} already"
    return "This change adds no leak"


def _worst(comparison: Comparison) -> str:
    if comparison.new:
        return max((f.verdict for f in comparison.new), key=SEVERITY.__getitem__)
    return "inconclusive" if comparison.after.verdict == "inconclusive" else "stable"


def _before_name(comparison: Comparison) -> str:
    """Return the name of the run without the change, such as ``main``."""
    return PurePath(outline.title(comparison.before)).stem.replace("`", "")


def _amount(finding: Finding) -> str:
    """Return ``3.0 MB per generation``, or the number of objects and their kind."""
    if finding.bytes_per_generation is None and finding.count_per_generation is None:
        return clean(finding.reason.partition(" (")[0])
    return facts.rate(finding).lstrip("+")


def _holder(finding: Finding) -> str:
    holder = clean(finding.holder_name or finding.held_by or "").replace("`", "")
    return f", held by `{holder}`" if holder else ""


def _sentence(finding: Finding) -> str:
    what = short_type(finding.type) if finding.type else finding.kind
    count = finding.count_per_generation
    more = "" if count is None else f", {count:,.3g} more per generation"
    phase = f", in {clean(finding.phase)}" if finding.phase else ""
    made = f", made at {clean(finding.created_at)}" if finding.created_at else ""
    lines = clean(" and ".join(finding.kept_elsewhere))
    kept = f", kept at {lines}" if lines else ""
    return f"{what}{more}{phase}{made}{kept}"
