import torch
import torch.distributed
import work


def main():
    torch.distributed.init_process_group("gloo")
    for _ in work.rounds(int(4 * work.SECONDS)):  # all ranks make as many
        work.task()
        torch.distributed.all_reduce(torch.zeros(1))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
