from .loop import train
from .nets import make_pair
from .snapshots import SnapshotKeeper

__all__ = ["SnapshotKeeper", "make_pair", "train"]
