"""Value iteration on mazes that become larger each time the agent has mastered a stage."""

# /// truth
# about = """a curriculum of five stages whose mazes, tables and rooms are larger than those before;
# each stage replaces the last, and the fifth lasts for the second half of the run"""
# ///
import os
import sys

import numpy as np

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 320
STAGES = {1: 40, 41: 70, 81: 100, 121: 130, 161: 160}


class Room:
    """A part of the maze with the way from it to its neighbours."""

    __slots__ = ("doors", "number", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.doors: list[int] = []


class Maze:
    def __init__(self, side: int, rng: np.random.Generator) -> None:
        self.side = side
        self.walls = rng.random((side, side)) < 0.2
        self.walls[0, 0] = self.walls[-1, -1] = False
        self.reward = np.where(self.walls, -1.0, -0.01)
        self.reward[-1, -1] = 1.0
        self.rooms = self.find_rooms()

    def find_rooms(self) -> list[Room]:
        """One room for each block of four by four cells, with doors where it is open."""
        across = self.side // 4
        rooms = []
        for number in range(across * across):
            row, column = 4 * (number // across), 4 * (number % across)
            block = self.walls[row : row + 4, column : column + 4]
            room = Room(number, int((~block).sum()))
            if column + 4 < 4 * across and not block[:, -1].all():
                room.doors.append(number + 1)
            if row + 4 < 4 * across and not block[-1].all():
                room.doors.append(number + across)
            rooms.append(room)
        return rooms


class Agent:
    def __init__(self, maze: Maze) -> None:
        self.maze = maze
        self.values = np.zeros((4, maze.side, maze.side))

    def improve(self, sweeps: int) -> None:
        for _ in range(sweeps):
            best = np.pad(self.values.max(axis=0), 1, mode="edge")
            moves = (best[:-2, 1:-1], best[2:, 1:-1], best[1:-1, :-2], best[1:-1, 2:])
            self.values = 0.97 * np.stack(moves) + self.maze.reward

    def reachable(self) -> int:
        seen, frontier = {0}, [0]
        while frontier:
            for door in self.maze.rooms[frontier.pop()].doors:
                if door not in seen:
                    seen.add(door)
                    frontier.append(door)
        return len(seen)


def main() -> None:
    rng = np.random.default_rng(59)
    agent = Agent(Maze(STAGES[1], rng))
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            if generation in STAGES and generation > 1:
                with guard.phase("advance"):
                    agent = Agent(Maze(STAGES[generation], rng))
            with guard.phase("plan"):
                agent.improve(sweeps=25)
            with guard.phase("explore"):
                for _ in range(3):
                    assert agent.reachable() >= 1


if __name__ == "__main__":
    main()
