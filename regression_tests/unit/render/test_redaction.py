"""What `--redact` hides, and what it leaves readable."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import report_stories as stories

from leakguard.render import TEXT_FORMATS, render
from leakguard.render.redaction import redact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ada/erl/train.py:12", "~/erl/train.py:12"),
        ("/Users/ada/erl", "~/erl"),
        (r"C:\Users\ada\erl", r"~\erl"),
        ("/root/erl", "~/erl"),
        ("/data/root/erl", "/data/root/erl"),
        ("train.py --api-key abc123 --lr 0.1", "train.py --api-key *** --lr 0.1"),
        ("train.py --hf-token=abc123", "train.py --hf-token=***"),
        ("WANDB_API_KEY=abc python x.py", "WANDB_API_KEY=*** python x.py"),
        ("git clone https://ada:pw@host/x", "git clone https://***@host/x"),
        ("curl -H 'Authorization: Bearer abcdefghij'", "curl -H 'Authorization: Bearer ***'"),
        ("use hf_abcdefghijkl", "use ***"),
        ("mail ada@example.org", "mail ***@***"),
        ("--max-tokens 512 --author-count 3", "--max-tokens 512 --author-count 3"),
        ("trainer.token_cache[*]", "trainer.token_cache[*]"),
        ("one token more", "one token more"),
    ],
)
def test_secret_is_hidden_and_the_rest_stays(text, shown):
    assert redact(text) == shown


@pytest.mark.parametrize("name", [n for n in TEXT_FORMATS if n != "svg"])
def test_no_format_shows_the_user_or_the_key(name):
    report = stories.leaking()
    info = replace(
        report.run.info,
        name="/home/ada/runs/erl.jsonl",
        command="python /home/ada/train.py --token s3cr3t --out /scratch/ada/x",
    )
    text = render(replace(report, run=replace(report.run, info=info)), name, redact=True)
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # the chart library's words
    assert "s3cr3t" not in text
    assert "ada" not in text


def test_redaction_changes_no_fact():
    plain, hidden = (render(stories.leaking(), "terminal", redact=r) for r in (False, True))
    assert plain == hidden


KEYS = (
    "hf_",
    "ghp_",
    "github_pat_",
    "glpat-",
    "sk-",
    "pk-",
    "xoxb-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
)


@pytest.mark.parametrize("prefix", KEYS)
def test_key_is_hidden_wherever_it_stands_alone(prefix):
    assert redact(f"Gen 1: {prefix}0123456789abcdef") == "Gen 1: ***"
