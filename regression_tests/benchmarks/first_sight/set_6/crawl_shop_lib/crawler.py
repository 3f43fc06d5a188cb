import random
from collections import Counter

from .parser import BadPage, read_products


def render(number, rng):
    items = []
    for i in range(150):
        price = f"{rng.uniform(3, 80):.2f}"
        if number % 7 == 3 and i == 140:
            price = "sold out"
        items.append(f'<li><b class="name">article {number}-{i}</b>'
                     f'<span class="price">{price}</span></li>')
    return "<html><body><ul>" + "".join(items) + "</ul></body></html>"


class Crawler:
    def __init__(self, pages, keep_errors):
        self.pages = pages
        self.keep_errors = keep_errors
        self.failures = []
        self.reasons = Counter()

    def crawl(self):
        rng = random.Random(31)
        number = 0
        revenue = 0.0
        while True:
            html = render(number, rng)
            try:
                products = read_products(html)
                revenue += sum(p["price"] for p in products)
            except BadPage as err:
                self.reasons[str(err).split(" of ")[0]] += 1
                self.failures.append(err if self.keep_errors else str(err))
            number += 1
            if number % 250 == 0:
                print(f"{number} pages, {revenue:.2f} listed, {len(self.failures)} bad", flush=True)
            if number >= self.pages:
                break
        return revenue
