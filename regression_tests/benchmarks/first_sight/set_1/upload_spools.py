"""An upload service that spools bodies before it checks them."""
# /// truth
# about = "uploads that the client aborts keep their spooled file in the table of open uploads"
# [[leak]]
# type = "SpooledTemporaryFile"
# holder = "uploads"
# start = 1
# within = 2
# ///
import hashlib
import itertools
import os
import random
import sys
import tempfile

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 200
CHUNK = bytes(range(256)) * 32


class Aborted(Exception):
    pass


class UploadServer:
    def __init__(self):
        self.uploads = {}
        self.ids = itertools.count()
        self.accepted = 0

    def receive(self, chunks, aborts):
        upload = next(self.ids)
        spool = tempfile.SpooledTemporaryFile(max_size=256_000)
        self.uploads[upload] = spool
        try:
            for number in range(chunks):
                spool.write(CHUNK)
                if aborts and number == chunks // 2:
                    raise Aborted(upload)
            self.check(spool)
        except Aborted:
            if LEAK:
                return
        self.uploads.pop(upload).close()

    def check(self, spool):
        spool.seek(0)
        digest = hashlib.sha3_256()
        while block := spool.read(4096):
            digest.update(block)
        self.accepted += digest.digest()[0] < 250


server = UploadServer()
chance = random.Random(9)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for minute in guard.generations(range(1, GENERATIONS + 1)):
        for request in range(60):
            server.receive(chance.randint(8, 24), aborts=request % 12 == 5)
