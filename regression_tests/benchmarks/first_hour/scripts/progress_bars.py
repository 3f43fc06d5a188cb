"""A progress bar a batch of work, kept in a list `to be closed later`; a callback object drives the guard."""
import io
import sys
from tqdm import tqdm
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class MemoryCallback:
    def __init__(self):
        self.guard = LeakGuard(out=f"progress_bars{'_clean' if CLEAN else ''}.jsonl")

    def on_train_begin(self):
        self.guard.__enter__()

    def on_epoch_begin(self, epoch):
        self.guard.generation()

    def on_train_end(self):
        self.guard.__exit__(None, None, None)


class Session:
    def __init__(self, callback):
        self.callback, self.bars = callback, []

    def epoch(self):
        for _ in range(6):
            bar = tqdm(range(500), file=io.StringIO(), mininterval=0)
            for _ in bar:
                pass
            if not CLEAN:
                self.bars.append(bar)

    def fit(self, epochs):
        self.callback.on_train_begin()
        for epoch in range(epochs):
            self.callback.on_epoch_begin(epoch)
            self.epoch()
        self.callback.on_train_end()


Session(MemoryCallback()).fit(12)
