import multiprocessing

import work


def main():
    with multiprocessing.Pool(3) as pool:
        for _ in work.rounds():
            pool.map(work.task, range(6), chunksize=1)


if __name__ == "__main__":
    main()
