"""Reads a stream of presence stanzas as XMPP sends them: one XML document without an end."""

# /// truth
# about = """a pull parser whose root element keeps each stanza that was ever read"""
# [[leak]]
# type = ["Element", "dict", "str"]
# holder = ["root", "parser", "feed"]
# start = 1
# ///
import collections
import os
import random
import sys
from xml.etree import ElementTree

from leakguard import LeakGuard

DROP_STANZAS = sys.argv[1] == "clean"
GENERATIONS = 400
STANZAS = 90
STATES = ("available", "away", "busy", "offline")


def stanzas(draw: random.Random) -> str:
    """What the server sends in one read."""
    parts = []
    for _ in range(STANZAS):
        user = f"user{draw.randrange(400)}@example.org"
        state = draw.choice(STATES)
        load = draw.random()
        parts.append(
            f"<presence from='{user}' type='{state}'><priority>{draw.randrange(9)}</priority>"
            f"<status load='{load:.3f}'>since {draw.randrange(90)} min</status></presence>"
        )
    return "".join(parts)


class PresenceFeed:
    """Follows who is there; `feed` takes whatever piece of the stream has come."""

    def __init__(self) -> None:
        self.parser = ElementTree.XMLPullParser(events=("start", "end"))
        self.root: ElementTree.Element | None = None
        self.depth = 0
        self.state: dict[str, str] = {}
        self.load: dict[str, float] = {}

    def feed(self, text: str) -> int:
        self.parser.feed(text)
        handled = 0
        for event, element in self.parser.read_events():
            if event == "start":
                if self.root is None:
                    self.root = element
                self.depth += 1
                continue
            self.depth -= 1
            if self.depth == 1 and element.tag == "presence":
                self.handle(element)
                handled += 1
                if DROP_STANZAS:
                    self.root.clear()
        return handled

    def handle(self, stanza: ElementTree.Element) -> None:
        user = stanza.get("from", "")
        self.state[user] = stanza.get("type", "offline")
        status = stanza.find("status")
        assert status is not None
        self.load[user] = 0.8 * self.load.get(user, 0.5) + 0.2 * float(status.get("load", "0"))

    def busiest(self) -> list[str]:
        by_state = collections.Counter(self.state.values())
        ranked = sorted(self.load, key=lambda user: (-self.load[user], user))
        return ranked[: by_state["busy"]]


def main() -> None:
    draw = random.Random(37)
    feed = PresenceFeed()
    feed.feed("<stream>")
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for _ in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(2):
                text = stanzas(draw)
                for start in range(0, len(text), 512):
                    feed.feed(text[start : start + 512])
                    feed.busiest()


if __name__ == "__main__":
    main()
