from concurrent.futures import ProcessPoolExecutor

import work


def main():
    with ProcessPoolExecutor(3) as executor:
        for _ in work.rounds():
            list(executor.map(work.task, range(6)))


if __name__ == "__main__":
    main()
