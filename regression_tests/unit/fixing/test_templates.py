"""What each template makes of a source, compared whole: all that it does not change stays."""

from __future__ import annotations

from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from leakguard.fixing.clue import Clue, ProgramLine
from leakguard.fixing.source import Source
from leakguard.fixing.templates import edits
from leakguard.fixing.templates.bound import bound
from leakguard.fixing.templates.clear import clear
from leakguard.fixing.templates.close import close
from leakguard.fixing.templates.copied_part import copied_part
from leakguard.fixing.templates.detach import detach
from leakguard.fixing.templates.hoist import hoist
from leakguard.fixing.templates.instance_cache import instance_cache
from leakguard.fixing.templates.unlink import unlink
from leakguard.fixing.templates.unregister import unregister
from leakguard.fixing.templates.weak import weak

LIST = Clue("instances", "m.Rollout", ("best",), "list", "__main__", None, "best", per_round=1)


def changed(template, clue, text):
    """Return the first text that a template makes."""
    return next(after for _, after in template(clue, Source("train.py", dedent(text))))


def test_list_keeps_its_newest_entries_and_the_rest_of_the_file_its_format():
    text = """\
    import os   # two blanks stay

    best = [ ]

    def evaluate( x ):
        best.append(x)  # keeps them all
        return { 'a':1,
                 'b' : 2 }
    """
    after = changed(bound, LIST, text)
    line = "    best.append(x)  # keeps them all\n"
    assert after == dedent(text).replace(line, f"{line}    del best[:-2]\n")


def test_dict_drops_its_oldest_keys():
    clue = Clue("instances", "m.R", ("cache",), "dict", per_round=3)
    after = changed(bound, clue, "class A:\n\tdef f(self, k, v):\n\t\tself.cache[k] = v\n")
    assert after == (
        "class A:\n\tdef f(self, k, v):\n\t\tself.cache[k] = v\n"
        "\t\twhile len(self.cache) > 6:\n\t\t\tself.cache.pop(next(iter(self.cache)))\n"
    )


def test_empty_deque_gets_a_length():
    clue = Clue("instances", "m.R", ("seen",), "deque", per_round=4)
    after = changed(bound, clue, "from collections import deque\nseen = deque()\n")
    assert after == "from collections import deque\nseen = deque(maxlen=8)\n"


def test_container_is_cleared_first_in_the_outermost_loop():
    text = "best = []\nfor n in range(9):\n    # a round\n    best.append(n)\nprint(best)\n"
    after = changed(clear, LIST, text)
    assert after == text.replace("    # a round\n", "    best.clear()\n    # a round\n")


def test_container_that_the_loop_cannot_name_is_not_cleared():
    clue = Clue("instances", "m.R", ("seen",), "list", "__main__", "main", "trainer.seen")
    text = "def other():\n    for n in range(9):\n        work(n)\n"
    assert list(clear(clue, Source("train.py", text))) == []


def test_tensor_with_a_graph_is_kept_as_a_number():
    clue = Clue("autograd", "torch.Tensor", ("losses",), "list", graphs=True)
    assert changed(detach, clue, "losses.append(loss)\n") == "losses.append(loss.item())\n"
    assert changed(detach, clue, "losses += [out]\n") == "losses += [out.detach()]\n"


def test_state_that_is_carried_over_is_detached():
    clue = Clue("autograd", "Node", ("hidden",), None, graphs=True)
    assert changed(detach, clue, "hidden = cell(x, hidden)\n") == (
        "hidden = cell(x, hidden).detach()\n"
    )


def test_cached_method_keeps_its_results_in_the_instance():
    text = """\
    import functools

    class Grid:
        @functools.lru_cache(maxsize=None)
        def distance(self, cell, p=2):
            return cell ** p
    """
    assert changed(instance_cache, Clue("instances", cached="distance"), text) == dedent(
        """\
        import functools

        class Grid:
            def _compute_distance(self, cell, p=2):
                return cell ** p

            def distance(self, cell, p=2):
                known = self.__dict__.setdefault("_distance_known", {})
                if (cell, p) not in known:
                    known[cell, p] = self._compute_distance(cell, p)
                return known[cell, p]
        """
    )


def test_hook_is_removed_when_the_function_is_done():
    text = """\
    def probe(net, x):
        seen = []
        net.register_forward_hook(lambda m, i, o: seen.append(o))

        net(x)
        return seen
    """
    assert changed(unregister, Clue("instances", names=("_forward_hooks",)), text) == dedent(
        """\
        def probe(net, x):
            seen = []
            handle = net.register_forward_hook(lambda m, i, o: seen.append(o))

            try:
                net(x)
                return seen
            finally:
                handle.remove()
        """
    )


def test_hooks_of_a_loop_are_removed_together():
    text = """\
    def probe(net, x):
        for layer in net.children():
            layer.register_forward_hook(note)
        return net(x) + 1
    """
    clue = Clue("instances", names=("_forward_hooks",))
    assert list(unregister(clue, Source("t.py", dedent(text)))) == []  # the caller uses them
    text = text.replace("return net(x) + 1", "y = net(x)\n        return y")
    assert changed(unregister, clue, text) == dedent(
        """\
        def probe(net, x):
            handles = []
            for layer in net.children():
                handles.append(layer.register_forward_hook(note))
            try:
                y = net(x)
                return y
            finally:
                for handle in handles:
                    handle.remove()
        """
    )


def test_callback_is_taken_back():
    clue = Clue("instances", "m.Best", ("callbacks",), "list")
    text = "def fit(self, c):\n    self.callbacks.append(c)\n    self.run()\n"
    assert changed(unregister, clue, text) == (
        "def fit(self, c):\n    self.callbacks.append(c)\n    try:\n        self.run()\n"
        "    finally:\n        self.callbacks.remove(c)\n"
    )


def test_file_is_closed_when_the_function_is_done():
    clue = Clue("files", lines=(ProgramLine("train.py", 2, "load"),))
    text = "def load(p):\n    f = open(p)\n    text = f.read()\n    return text\n"
    assert changed(close, clue, text) == (
        "def load(p):\n    f = open(p)\n    try:\n        text = f.read()\n"
        "        return text\n    finally:\n        f.close()\n"
    )


def test_file_that_is_returned_at_once_is_not_closed():
    clue = Clue("files", lines=(ProgramLine("train.py", 2, "load"),))
    text = "def load(p):\n    f = open(p)\n    return f\n"
    assert list(close(clue, Source("train.py", text))) == []


def test_object_is_made_before_the_loop_unless_it_depends_on_the_round():
    clue = Clue("instances", lines=(ProgramLine("train.py", 2, "main"),))
    text = "for n in range(3):\n    env = Env(size)\n    run(env, n)\n"
    assert changed(hoist, clue, text) == ("env = Env(size)\nfor n in range(3):\n    run(env, n)\n")
    assert list(hoist(clue, Source("train.py", text.replace("size", "n")))) == []


def test_chain_keeps_one_link():
    clue = Clue("instances", "m.State", ("parent",), chain=True)
    text = "class State:\n    def __init__(self, parent):\n        self.parent = parent\n"
    assert changed(unlink, clue, text) == (
        text + "        if parent is not None:\n            parent.parent = None\n"
    )


def test_chain_is_cut_where_several_names_are_assigned_at_once():
    clue = Clue("instances", "m.Span", ("parent",), chain=True)
    text = "def f(self, name, parent):\n    self.name, self.parent = name, parent\n"
    assert changed(unlink, clue, text) == (
        text + "    if parent is not None:\n        parent.parent = None\n"
    )


def test_part_of_an_array_is_copied():
    clue = Clue("arrays", "numpy.ndarray", ("closes",), "list")
    assert changed(copied_part, clue, "closes.append(bars[-1])  # last\n") == (
        "closes.append(bars[-1].copy())  # last\n"
    )
    tensors = Clue("tensors", "torch.Tensor", ("rows",), "list", views=True)
    assert changed(copied_part, tensors, "rows[k] = row\n") == "rows[k] = row.clone()\n"
    assert list(copied_part(clue, Source("t.py", "closes.append(bars)\n"))) == []


def test_long_run_also_gets_a_wider_bound():
    clue = Clue("instances", "m.R", ("best",), "list", per_round=1, generations=80)
    titles = [title for title, _ in bound(clue, Source("t.py", "best.append(x)\n"))]
    assert titles == [f"keep the newest {n} entries of best" for n in (2, 20)]


def test_dict_of_instances_holds_them_weakly():
    clue = Clue("instances", "m.Session", ("sessions",), "dict")
    assert changed(weak, clue, "import os\nsessions = {}\n") == (
        "import weakref\nimport os\nsessions = weakref.WeakValueDictionary()\n"
    )


def test_changes_are_proposed_with_the_cause_first_and_each_once():
    text = "best = []\nfor n in range(9):\n    best.append(n)\n"
    proposed = list(edits(LIST, [Source("train.py", text)]))
    assert [edit.template for edit in proposed] == ["clear", "bound"]
    assert proposed[1].diff == (
        "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,4 @@\n best = []\n for n in range(9):\n"
        "     best.append(n)\n+    del best[:-2]\n"
    )


def test_source_without_the_container_gets_no_proposal():
    assert list(edits(LIST, [Source("train.py", "seen = []\nseen.append(1)\n")])) == []
