from html.parser import HTMLParser


class BadPage(Exception):
    """The page cannot be read as a product page."""


class ProductParser(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows = []
        self.stack = []
        self.field = None

    def handle_starttag(self, tag, attrs):
        self.stack.append(tag)
        self.field = dict(attrs).get("class")

    def handle_data(self, data):
        if self.field and data.strip():
            self.rows.append((self.field, data.strip()))

    def handle_endtag(self, tag):
        if self.stack and self.stack[-1] == tag:
            self.stack.pop()
        self.field = None


def read_products(html):
    parser = ProductParser()
    parser.feed(html)
    products = []
    for field, value in parser.rows:
        if field == "name":
            products.append({"name": value})
        elif field == "price":
            if not value.replace(".", "").isdigit():
                raise BadPage(f"price {value!r} of {products[-1]['name']}")
            products[-1]["price"] = float(value)
    return products
