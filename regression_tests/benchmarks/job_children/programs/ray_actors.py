import os
from pathlib import Path

import ray
import work

PLACE = str(Path(__file__).resolve().parent)


@ray.remote(num_cpus=0)
class EnvRunner:
    def sample(self):
        return work.task()


def main():
    told = {name: os.environ[name] for name in ("CLAIMS", "KIND", "PAUSE", "SECONDS")}
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        runtime_env={"env_vars": {**told, "PYTHONPATH": PLACE}},
        log_to_driver=False,
    )
    runners = [EnvRunner.remote() for _ in range(3)]
    for _ in work.rounds():
        ray.get([runner.sample.remote() for runner in runners for _ in range(2)])
    ray.shutdown()


if __name__ == "__main__":
    main()
