"""A web server with a thread for each request, which asks itself for pages."""

import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LEAKS = sys.argv[1] == "leak"


class Visit:
    def __init__(self, path):
        self.path, self.headers = path, ["x" * 40 for _ in range(50)]


class Pages(BaseHTTPRequestHandler):
    visits = []

    def do_GET(self):
        visit = Visit(self.path)
        if LEAKS:
            self.visits.extend([visit, Visit(self.path), Visit(self.path)])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def ask(port):
    for number in range(10**9):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/{number % 10}").read()
        time.sleep(0.01)


server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
threading.Thread(target=ask, args=(server.server_port,), daemon=True).start()
server.serve_forever()
