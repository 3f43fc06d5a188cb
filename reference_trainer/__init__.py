"""An evolutionary-RL trainer that stays flat in memory, and can be told to leak.

Read it in this order: `trainer` (the generation loop), `rollout` and `engine` (episodes, here or
in other processes), `champion` (the best agent), `ddpg` and `networks` (gradients for a whole
population at once), `evolution`, `operators` and `breeding` (the genetic half), `replay_buffer` and
`state_storage` (indices into the shared panel), `environment` and `observation` (trading),
`checkpoint` and `upload`. `leaks` holds what must never happen.

    python -m reference_trainer --generations 6 --leak env-per-episode
    python -m reference_trainer.data synth market.parquet
    python -m regression_tests.benchmarks.trainer.learning --out learning.md
"""
