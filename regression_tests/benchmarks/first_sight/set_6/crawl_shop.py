"""Crawls a (generated) shop and adds up the prices listed on its pages."""
# /// truth
# about = "a crawler that keeps the exception, with traceback, of each unreadable page (every 7th)"
# [[leak]]
# type = ["BadPage", "ProductParser", "traceback", "frame"]
# holder = ["failures", "__traceback__"]
# kind = "instances"
# line = ["self.failures.append(err if self.keep_errors else str(err))", "raise BadPage(f\"price {value!r} of {products[-1]['name']}\")"]
# ///
import sys

from crawl_shop_lib.crawler import Crawler

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"


def main():
    crawler = Crawler(pages=1900, keep_errors=MODE == "leak")
    revenue = crawler.crawl()
    for reason, count in crawler.reasons.most_common(3):
        print(f"{count:5d}  {reason}")
    print("listed in all", round(revenue, 2))


if __name__ == "__main__":
    main()
