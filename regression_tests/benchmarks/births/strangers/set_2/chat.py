"""A line-based chat server on loopback, exercised by guests that come and go."""
import queue
import socket
import socketserver
import sys
import threading
import time
from collections import defaultdict, deque

LEAK = sys.argv[1] == "leak"


class Session:
    def __init__(self, nick):
        self.nick = nick
        self.inbox = deque(maxlen=64)
        self.flags = {f"cap{i}": [nick, i] for i in range(120)}


class Room:
    members = []
    topic = deque(maxlen=25)
    transcripts = defaultdict(list)
    archiving = False

    @classmethod
    def say(cls, session, line):
        cls.topic.append((session.nick, line))
        for other in cls.members[-6:]:
            other.inbox.append(line)
        if cls.archiving:
            cls.transcripts[session.nick].append(line * 20)


def pump(outgoing, sock):
    """Writes queued lines to the client until it is told to stop."""
    scratch = bytearray(24_000)
    while True:
        item = outgoing.get()
        if item is None:
            return
        scratch[:len(item)] = item
        try:
            sock.sendall(scratch[:len(item)])
        except OSError:
            pass


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        nick = self.rfile.readline().decode().strip()
        session = Session(nick)
        Room.members.append(session)
        outgoing = queue.Queue()
        writer = threading.Thread(target=pump, args=(outgoing, self.request), daemon=True)
        writer.start()
        for raw in self.rfile:
            line = raw.decode().strip()
            if line == "QUIT":
                break
            Room.say(session, line)
            outgoing.put(b"ok " + raw)
        while not outgoing.empty():
            time.sleep(0.0005)
        if not LEAK:
            Room.members.remove(session)
            Room.transcripts.pop(nick, None)
            outgoing.put(None)
            writer.join()


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def guest(address, nick):
    with socket.create_connection(address) as sock, sock.makefile("rb") as answers:
        sock.sendall(f"{nick}\n".encode())
        for i in range(12):
            sock.sendall(f"hello {i} from {nick}, how are you all today?\n".encode())
            answers.readline()
        sock.sendall(b"QUIT\n")
        answers.read(1)


def serve(rounds):
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True, args=(0.02,)).start()
        for minute in range(rounds):
            if minute == 20:
                Room.archiving = True
            for k in range(2):
                guest(server.server_address, f"guest-{minute}-{k}")
            time.sleep(0.04)
        server.shutdown()


serve(60)
print("members", len(Room.members), "threads", threading.active_count())
