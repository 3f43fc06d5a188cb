import numpy
import work
from env import Env
from stable_baselines3.common.vec_env import SubprocVecEnv


def main():
    envs = SubprocVecEnv([Env] * 3)
    envs.reset()
    for _ in work.rounds():
        for _ in range(20):
            envs.step(numpy.zeros(3, int))
    envs.close()


if __name__ == "__main__":
    main()
