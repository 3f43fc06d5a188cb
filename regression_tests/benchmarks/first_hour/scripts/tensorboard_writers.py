"""A SummaryWriter for each validation, never closed: threads and files."""
import sys
import tempfile
import torch
from torch.utils.tensorboard import SummaryWriter

CLEAN = "clean" in sys.argv
torch.set_num_threads(1)
folder = tempfile.mkdtemp()
model = torch.nn.Linear(50, 50)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train():
    for _ in range(300):
        optimizer.zero_grad()
        model(torch.randn(32, 50)).pow(2).mean().backward()
        optimizer.step()


def validate(epoch):
    writer = SummaryWriter(f"{folder}/{epoch}")
    writer.add_scalar("loss", float(model(torch.randn(32, 50)).pow(2).mean()), epoch)
    writer.flush()
    if CLEAN:
        writer.close()


for epoch in range(10):
    train()
    validate(epoch)
