import joblib
import work


def main():
    with joblib.Parallel(n_jobs=3) as parallel:
        for _ in work.rounds():
            parallel(joblib.delayed(work.task)(item) for item in range(6))


if __name__ == "__main__":
    main()
