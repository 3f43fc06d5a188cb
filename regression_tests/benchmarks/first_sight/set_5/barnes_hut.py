"""Galaxy toy: Barnes-Hut n-body with a quadtree rebuilt every step."""
import gc
import math
import random
import sys

# /// truth
# about = "an n-body simulation with a tree of cycles per step and the collector switched off"
# [[leak]]
# type = "Cell"
# kind = ["cycles", "instances"]
# line = ["child = Cell(cx, cy, half, self)", "root = Cell(0.0, 0.0, span, None)", "self.children = [None] * 4"]
# ///


class Body:
    __slots__ = ("x", "y", "vx", "vy", "m")

    def __init__(self, x, y, vx, vy, m):
        self.x, self.y, self.vx, self.vy, self.m = x, y, vx, vy, m


class Cell:
    def __init__(self, x, y, half, parent):
        self.x, self.y, self.half, self.parent = x, y, half, parent
        self.children = [None] * 4
        self.body = None
        self.mass = self.mx = self.my = 0.0
        self.leaf = True
        self.depth = 0 if parent is None else parent.depth + 1

    def down(self, body):
        k = (body.x > self.x) + 2 * (body.y > self.y)
        child = self.children[k]
        if child is None:
            half = self.half / 2
            cx = self.x + (half if k & 1 else -half)
            cy = self.y + (half if k & 2 else -half)
            child = Cell(cx, cy, half, self)
            self.children[k] = child
        child.insert(body)

    def insert(self, body):
        if self.leaf and (self.body is None or self.depth > 24):
            self.body = body
        else:
            if self.leaf:
                old, self.body, self.leaf = self.body, None, False
                self.down(old)
            self.down(body)
        self.mass += body.m
        self.mx += body.m * body.x
        self.my += body.m * body.y


def pull(root, b, theta=0.7, soft=0.05):
    ax = ay = 0.0
    stack = [root]
    while stack:
        c = stack.pop()
        if c.mass == 0.0 or c.body is b:
            continue
        dx, dy = c.mx / c.mass - b.x, c.my / c.mass - b.y
        d2 = dx * dx + dy * dy + soft
        if c.leaf or (2 * c.half) ** 2 < theta * theta * d2:
            f = c.mass / (d2 * math.sqrt(d2))
            ax += f * dx
            ay += f * dy
        else:
            stack.extend(k for k in c.children if k is not None)
    return ax, ay


def main():
    if sys.argv[1] == "leak":
        gc.disable()
    rng = random.Random(13)
    bodies = []
    for _ in range(340):
        r, a = 0.5 + 4 * rng.random(), rng.random() * 2 * math.pi
        v = 0.9 / math.sqrt(r)
        bodies.append(Body(r * math.cos(a), r * math.sin(a), -v * math.sin(a), v * math.cos(a), 1 / 340))
    step, steps, dt = 0, 580, 0.01
    while step < steps:
        span = max(max(abs(b.x), abs(b.y)) for b in bodies) + 0.1
        root = Cell(0.0, 0.0, span, None)
        for b in bodies:
            root.insert(b)
        for b in bodies:
            ax, ay = pull(root, b)
            b.vx += ax * dt
            b.vy += ay * dt
        for b in bodies:
            b.x += b.vx * dt
            b.y += b.vy * dt
        step += 1
        if step % 60 == 0:
            e = sum(0.5 * b.m * (b.vx ** 2 + b.vy ** 2) for b in bodies)
            print("step %4d  kinetic %.4f  radius %.2f" % (step, e, span))


if __name__ == "__main__":
    main()
