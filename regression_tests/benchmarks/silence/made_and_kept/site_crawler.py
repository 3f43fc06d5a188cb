"""A crawler of an invented site. It walks link by link and reports where it came from."""
import random
import sys
import time
import zlib

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 36
PAGES = 160


class Site:
    """Pages are made from their number; templates are made once per section."""

    def __init__(self):
        self.templates = {}

    def template(self, section):
        if section not in self.templates:
            rng = random.Random(section)
            self.templates[section] = [f"<p class='c{rng.randrange(99)}'>{rng.random()}</p>" for _ in range(400)]
        return self.templates[section]

    def fetch(self, url):
        number = int(url.rsplit("/", 1)[1])
        rng = random.Random(number)
        lines = list(self.template(number % 8))
        for _ in range(900):
            lines.append(f"<a href='/page/{rng.randrange(PAGES)}'>{rng.getrandbits(80):x}</a>")
        time.sleep(0.002)
        return "\n".join(lines)


class Visit:
    """One page as it was seen, and the visit that led there."""

    def __init__(self, url, links, came_from):
        self.url = url
        self.links = links
        self.came_from = came_from

    def trail(self, depth=3):
        if depth == 0 or self.came_from is None:
            return self.url
        origin = self.came_from
        before = origin.trail(depth - 1) if isinstance(origin, Visit) else origin
        return f"{before} > {self.url}"


class Fingerprints:
    """One checksum per page; the site has only so many pages."""

    def __init__(self):
        self.by_url = {}
        self.changed = 0

    def note(self, url, body):
        checksum = zlib.crc32(body.encode())
        if self.by_url.get(url, checksum) != checksum:
            self.changed += 1
        self.by_url[url] = checksum


def extract_links(body):
    links = []
    for line in body.splitlines():
        if line.startswith("<a"):
            target, _, label = line[9:-4].partition("'>")
            links.append((target, label))
    return links


class Crawler:
    def __init__(self, site, start):
        self.site = site
        self.next_url = start
        self.current = None
        self.prints = Fingerprints()
        self.rng = random.Random(77)

    def visit(self):
        url = self.next_url
        body = self.site.fetch(url)
        self.prints.note(url, body)
        origin = self.current
        if MODE == "fixed" and origin is not None:
            origin = origin.url
        self.current = Visit(url, extract_links(body), origin)
        self.next_url = self.rng.choice(self.current.links)[0]
        return self.current

    def survey(self):
        """Looks at the pages around, without going there."""
        total = 0
        for target, _ in self.current.links[:20]:
            body = self.site.fetch(target)
            self.prints.note(target, body)
            total += len(body)
        return total


def main():
    crawler = Crawler(Site(), "/page/1")
    for number in range(ROUNDS):
        page = crawler.visit()
        size = crawler.survey()
        if number % 12 == 0:
            print(number, page.trail(), f"{size / 1000:.0f} kB around")
    print(len(crawler.prints.by_url), "pages seen,", crawler.prints.changed, "changed")


if __name__ == "__main__":
    main()
