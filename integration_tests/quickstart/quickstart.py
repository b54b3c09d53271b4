"""Trains a small convolutional network on handwritten digits, the way one does it with PyTorch.

The data are scikit-learn's 1,797 digits of 8x8 pixels, enlarged to 28x28. Leaves in the output folder
``digits.pt`` (the weights) and ``digits.png`` (the loss, and predictions on digits it hasn't seen).
"""

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import flambeau as torch
import flambeau.nn as nn
import numpy as np
from flambeau.optim import Adam
from flambeau.utils.data import DataLoader, TensorDataset
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from tqdm import tqdm


def enlarge(images: np.ndarray, size: int) -> np.ndarray:
    """Bilinear interpolation of square images (n, k, k) to (n, size, size), pixels being areas."""
    k = images.shape[-1]
    centre = (np.arange(size) + 0.5) * k / size - 0.5
    # Row i of the matrix holds the weights of the k old pixels in new pixel i: a triangle around its centre.
    weights = np.clip(1 - abs(centre.clip(0, k - 1)[:, None] - np.arange(k)), 0, 1)
    return weights @ images @ weights.T


def load(held_out: int) -> tuple[TensorDataset, TensorDataset]:
    """Training and held-out sets of (image (1, 28, 28) of mean 0 and variance 1, label), split at random."""
    digits = load_digits()
    pixels = enlarge(digits.images, 28)
    pixels = (pixels - pixels.mean()) / pixels.std()
    images = torch.from_numpy(pixels.astype(np.float32)).unsqueeze(1)
    labels = torch.from_numpy(digits.target.astype(np.int64))
    order = torch.randperm(len(labels))
    test, train = order[:held_out], order[held_out:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(32 * 14 * 14, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        return self.out(torch.relu(self.hidden(x.flatten(1))))


def train(model: nn.Module, data: TensorDataset, epochs: int) -> list[float]:
    """Returns the loss of every step."""
    loader = DataLoader(data, batch_size=32, shuffle=True)
    criterion = nn.CrossEntropyLoss()
    optimizer = Adam(model.parameters(), lr=1e-3)
    losses = []
    model.train()
    with tqdm(total=epochs * len(loader), unit="step", mininterval=0.5) as bar:
        for epoch in range(epochs):
            for images, labels in loader:
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                bar.set_postfix(epoch=epoch + 1, loss=f"{losses[-1]:.3f}", refresh=False)
                bar.update()
    return losses


@torch.no_grad()
def predict(model: nn.Module, data: TensorDataset):
    model.eval()
    return torch.cat([model(images).argmax(1) for images, _ in DataLoader(data, batch_size=128)])


def draw(path: Path, losses: list[float], data: TensorDataset, predicted) -> None:
    images, labels = data.tensors
    figure = plt.figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss", title="training loss")
    for i, axes in enumerate(right.subplots(4, 6).flat):
        right_answer = predicted[i].item() == labels[i].item()
        axes.imshow(images[i, 0].numpy(), cmap="gray_r")
        axes.set_title(str(predicted[i].item()), color="black" if right_answer else "red", fontsize=9)
        axes.axis("off")
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("build/quickstart"))
    parser.add_argument("--require", type=float, default=0, help="fail with less held-out accuracy than this, in %%")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(2)
    train_data, held_out = load(held_out=360)
    model = Net()
    losses = train(model, train_data, arguments.epochs)

    checkpoint = arguments.out / "digits.pt"
    torch.save(model.state_dict(), checkpoint)
    model = Net()
    model.load_state_dict(torch.load(checkpoint))

    predicted = predict(model, held_out)
    draw(arguments.out / "digits.png", losses, held_out, predicted)
    accuracy = 100 * (predicted == held_out.tensors[1]).float().mean().item()
    print(f"{checkpoint} and {arguments.out / 'digits.png'} written")
    print(f"held-out accuracy {accuracy:.1f} %")
    if accuracy < arguments.require:
        sys.exit(1)


if __name__ == "__main__":
    main()
