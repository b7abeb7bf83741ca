"""Trains a small convolutional network on the 8x8 digits of scikit-learn.

Prints loss and accuracy for each epoch, saves the weights, loads them again, and draws the loss
curve and the confusion matrix.

    python digits_cnn.py --epochs 12 --out out/digits
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    """Two convolutions with batch norm, one pooling, two linear layers."""

    def __init__(self, width=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.dropout = nn.Dropout(0.25)
        self.hidden = nn.Linear(2 * width * 4 * 4, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        x = self.features(x).flatten(1)
        x = F.relu(self.hidden(self.dropout(x)))
        return self.out(x)


def initialize(model, seed):
    """Fills the weights from NumPy's generator, so that they are the same wherever this runs."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                bound = 1 / np.sqrt(np.prod(p.shape[1:]))
                p.copy_(
                    torch.from_numpy(rng.uniform(-bound, bound, tuple(p.shape)).astype(np.float32))
                )


def load_data(seed):
    """The digits as two datasets, for training and for testing."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("This example needs scikit-learn for its data: pip install scikit-learn")
    digits = load_digits()
    images = (digits.images.astype(np.float32) / 16.0)[:, None]
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(images))
    train, test = order[360:], order[:360]
    return tuple(
        TensorDataset(torch.from_numpy(images[part]), torch.from_numpy(labels[part]))
        for part in (train, test)
    )


def progress(epoch, epochs, done, total):
    """A bar, on a terminal only."""
    if sys.stdout.isatty():
        filled = 30 * done // total
        print(
            f"\repoch {epoch:2d}/{epochs} [{'#' * filled}{'.' * (30 - filled)}]", end="", flush=True
        )


def train_epoch(model, loader, optimizer, epoch, epochs):
    """One pass over the training data; returns the mean loss."""
    model.train()
    total, count = 0.0, 0
    for i, (images, labels) in enumerate(loader):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        count += len(labels)
        progress(epoch, epochs, i + 1, len(loader))
    if sys.stdout.isatty():
        print("\r\033[K", end="")
    return total / count


@torch.no_grad()
def evaluate(model, dataset):
    """The confusion matrix: rows are true digits, columns are answers."""
    model.eval()
    matrix = torch.zeros(10, 10, dtype=torch.int64)
    for images, labels in DataLoader(dataset, batch_size=120):
        answers = model(images).argmax(1)
        matrix += torch.bincount(labels * 10 + answers, minlength=100).reshape(10, 10)
    return matrix


def draw(losses, matrix, path):
    """The loss curve and the confusion matrix as a picture."""
    try:
        import matplotlib
    except ImportError:
        print("No picture: matplotlib is not installed (pip install matplotlib).")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), constrained_layout=True)
    left.plot(range(1, len(losses) + 1), losses, marker="o", ms=3)
    left.set(title="Training loss", xlabel="epoch", ylabel="cross entropy", yscale="log")
    left.grid(alpha=0.3)
    right.imshow(matrix.numpy(), cmap="Blues")
    right.set(
        title="Test digits", xlabel="answer", ylabel="truth", xticks=range(10), yticks=range(10)
    )
    peak = matrix.max().item()
    for row, counts in enumerate(matrix.tolist()):
        for column, n in enumerate(counts):
            if n:
                right.text(
                    column,
                    row,
                    n,
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if n > peak / 2 else "black",
                )
    figure.savefig(path, dpi=120)
    print(f"picture  {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=32, help="channels of the first convolution")
    parser.add_argument("--dropout", type=float, default=0.25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/digits"),
        help="folder for the weights and the picture",
    )
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    train, test = load_data(args.seed)
    model = Net(args.width)
    model.dropout.p = args.dropout
    initialize(model, args.seed)
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(
        optimizer, step_size=max(args.epochs // 3, 1), gamma=0.3
    )
    print(
        f"{len(train)} digits to train on, {len(test)} to test, "
        f"{sum(p.numel() for p in model.parameters())} weights"
    )

    losses, start = [], time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        rate = optimizer.param_groups[0]["lr"]
        losses.append(train_epoch(model, loader, optimizer, epoch, args.epochs))
        scheduler.step()
        matrix = evaluate(model, test)
        accuracy = matrix.diag().sum().item() / len(test)
        print(
            f"epoch {epoch:2d}/{args.epochs}  loss {losses[-1]:.4f}  test accuracy "
            f"{100 * accuracy:5.2f} %  lr {rate:.1e}"
        )
    print(f"trained in {time.perf_counter() - start:.1f} s")

    weights = args.out / "digits_cnn.pt"
    torch.save(model.state_dict(), weights)
    restored = Net(args.width)
    restored.load_state_dict(torch.load(weights))
    assert torch.equal(evaluate(restored, test), matrix), "the saved weights answer differently"
    print(f"weights  {weights} (loaded again, same answers)")
    draw(losses, matrix, args.out / "digits_cnn.png")


if __name__ == "__main__":
    main()
