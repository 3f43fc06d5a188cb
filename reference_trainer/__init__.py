"""An evolutionary-RL trainer that stays flat in memory, and can be told to leak.

Read it in this order: `trainer` (the generation loop), `rollout` (an episode), `champion` (the best
agent), `ddpg` and `networks` (the update, for a whole population at once), `agent`, `evolution` and
`operators` (the genetic half), `replay_buffer` and `state_storage` (indices into the shared
panel), `environment` and `observation` (trading), `checkpoint` and `upload`. The trainer passes the
points of `hooks`, at which `watching` looks on and `leaks` does what must never happen.

    python -m reference_trainer --generations 6 --leak env-per-episode
    python -m regression_tests.benchmarks.trainer.learning --out learning.md
"""
