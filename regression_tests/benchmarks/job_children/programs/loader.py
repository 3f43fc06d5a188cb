import torch
import work
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.tensor([work.step(index)])


def main():
    loader = DataLoader(Rows(), batch_size=4, num_workers=3, persistent_workers=True)
    for _ in work.rounds():
        for batch in loader:
            batch.sum()


if __name__ == "__main__":
    main()
