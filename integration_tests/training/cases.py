"""Three small training runs, written once for any library with PyTorch's API: the recorder gives them torch, the test Flambeau.

A case is (model, batches): `model(torch)` builds the network after the seed is set; `loss(torch, model, step)` computes step's loss.
"""

import numpy as np
from sklearn.datasets import load_digits

STEPS = 50


def digits(step: int, size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """A batch of scikit-learn's digits, each pixel of 8x8 repeated into 28x28 (the middle ones of 32), and their labels."""
    data = load_digits()
    rows = np.arange(step * size, (step + 1) * size) % len(data.images)
    big = np.kron(data.images[rows], np.ones((4, 4)))[:, 2:30, 2:30]
    return ((big - 4.9) / 6.0)[:, None], data.target[rows].astype(np.int64)


def batch(torch, step, dtype):
    x, y = digits(step)
    return torch.from_numpy(x).to(dtype), torch.from_numpy(y)


def cnn(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 14 * 14, 128), nn.ReLU(), nn.Linear(128, 10)
    )


def cnn_loss(torch, model, step, dtype):
    x, y = batch(torch, step, dtype)
    return torch.nn.functional.cross_entropy(model(x), y)


def lstm(torch):
    class Rows(torch.nn.Module):
        """Reads an image row by row."""

        def __init__(self):
            super().__init__()
            self.lstm = torch.nn.LSTM(28, 32, num_layers=2, batch_first=True)
            self.out = torch.nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.lstm(x.squeeze(1))[0][:, -1])

    return Rows()


def transformer(torch):
    class Patches(torch.nn.Module):
        """A transformer over the rows of an image."""

        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Linear(28, 32)
            layer = torch.nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True)
            self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.out = torch.nn.Linear(32, 10)

        def forward(self, x):
            return self.out(self.encoder(self.embed(x.squeeze(1))).mean(1))

    return Patches()


CASES = {"cnn": cnn, "lstm": lstm, "transformer": transformer}


def run(torch, name: str, dtype, steps: int = STEPS) -> tuple[dict, list[float]]:
    """(initial weights, losses of the steps)."""
    torch.manual_seed(0)
    model = CASES[name](torch).to(dtype)
    start = {k: v.detach().clone() for k, v in model.state_dict().items()}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = cnn_loss(torch, model, step, dtype)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return start, losses
