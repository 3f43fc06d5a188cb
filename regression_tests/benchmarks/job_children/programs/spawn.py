import multiprocessing
import time

import work


def main():
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=work.forever, daemon=True) for _ in range(3)]
    for child in children:
        child.start()
    for _ in work.rounds():
        time.sleep(0.5)
    for child in children:
        child.terminate()
        child.join()


if __name__ == "__main__":
    main()
