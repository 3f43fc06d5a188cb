"""Crawl a generated local site in batches: fetch, extract links, score pages, write a summary."""
import logging
import logging.handlers
import random
import re
import sys
from collections import OrderedDict
from html.parser import HTMLParser

MODE = sys.argv[1]
BATCHES = 110
PER_BATCH = 25

log = logging.getLogger("crawl")
log.setLevel(logging.DEBUG)
log.propagate = False


class Site:
    """Stands in for the network: the same URL always yields the same page."""

    def get(self, url):
        rng = random.Random(url)
        section = url.split("/")[1]
        links = [f"/{section}/{rng.randrange(80)}" for _ in range(10)]
        links += [f"/common/{rng.randrange(20)}" for _ in range(2)]
        text = " ".join(rng.choice(("apple", "pear", "plum", "fig", "lime")) for _ in range(2000))
        body = "".join(f'<a href="{u}">link {i}</a>' for i, u in enumerate(links))
        return f"<html><head><title>{url}</title></head><body><p>{text}</p>{body}</body></html>"


class LinkParser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs)["href"])

    def handle_data(self, data):
        self.text.append(data)


class Page:
    def __init__(self, url, body):
        parser = LinkParser()
        parser.feed(body)
        self.url, self.body = url, body
        self.links = parser.links
        self.score = len(re.findall(r"\bfig\b", " ".join(parser.text)))


class PageCache:
    def __init__(self, limit=60):
        self.pages = OrderedDict()
        self.limit = limit

    def fetch(self, site, url):
        page = self.pages.get(url)
        if page is None:
            page = Page(url, site.get(url))
            self.pages[url] = page
            if MODE == "fixed" and len(self.pages) > self.limit:
                self.pages.popitem(last=False)
        return page


class NullSink(logging.Handler):
    lines = 0

    def emit(self, record):
        NullSink.lines += 1


def open_batch_log(number):
    handler = logging.handlers.MemoryHandler(capacity=1000, flushLevel=logging.ERROR, target=NullSink())
    handler.addFilter(lambda record: record.args[0] == number)
    log.addHandler(handler)
    return handler


def close_batch_log(handler):
    log.removeHandler(handler)
    handler.close()


class Crawler:
    def __init__(self):
        self.site, self.cache = Site(), PageCache()
        self.top = []

    def crawl_batch(self, number):
        """Breadth first through one section of the site."""
        handler = open_batch_log(number)
        frontier, seen = [f"/section{number}/0"], set()
        while frontier and len(seen) < PER_BATCH:
            url = frontier.pop(0)
            if url in seen:
                continue
            seen.add(url)
            page = self.cache.fetch(self.site, url)
            log.debug("batch %d fetched %s score %d", number, url, page.score)
            frontier.extend(page.links)
            self.top = sorted(set(self.top + [(page.score, url)]), reverse=True)[:10]
        if MODE == "fixed":
            close_batch_log(handler)
        return len(seen)


def main():
    crawler = Crawler()
    for number in range(BATCHES):
        pages = crawler.crawl_batch(number)
        if number % 25 == 0:
            print(f"batch {number}: {pages} pages, best {crawler.top[0]}")
    print("top", crawler.top[:2])


if __name__ == "__main__":
    main()
