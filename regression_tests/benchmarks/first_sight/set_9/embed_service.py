"""A service that embeds requests for as long as they come; a while loop."""
import queue
import sys
import time

import torch

KEEP = sys.argv[1] == "leak"
torch.manual_seed(0)
torch.set_num_threads(1)
requests = queue.Queue()
for number in range(300):
    requests.put(number)


class Request:
    def __init__(self, number):
        self.number = number
        self.embedding = None


class Service:
    def __init__(self):
        self.model = torch.nn.EmbeddingBag(1000, 64)
        self.history = []

    def handle(self, number):
        request = Request(number)
        ids = torch.randint(0, 1000, (8, 16))
        with torch.inference_mode():
            request.embedding = self.model(ids)
        self.history.append(request)
        if not KEEP:
            del self.history[:-10]
        time.sleep(0.01)

    def serve(self):
        while not requests.empty():
            self.handle(requests.get())


Service().serve()

# /// truth
# about = "a service keeps each request with its embedding in its history"
# [[leak]]
# type = ["Request", "Tensor"]
# holder = "history"
# line = ["request = Request(number)", "request.embedding = self.model(ids)", "self.history.append(request)"]
# ///
