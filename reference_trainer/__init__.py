"""An evolutionary-RL trainer that stays flat in memory, and can be told to leak."""
