"""Softmax over very many classes (Grave et al. 2017)."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import flambeau as fb
from flambeau import Tensor

from . import functional as F
from ._container import ModuleList, Sequential
from ._linear import Linear
from ._module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes ordered by frequency and cut into clusters at ``cutoffs``: the head decides among the most frequent ones
    and the clusters, and each cluster's tail, smaller by ``div_value`` from one to the next, among its own.

    Shapes: input (N, in_features) or (in_features,), target (N,) or () -> output (N,), each target's log probability,
    and their loss.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, got {cutoffs} for n_classes={n_classes}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // div_value ** (i + 1))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, hidden, bias=False, **kind), Linear(hidden, classes, bias=False, **kind))
            )

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for to_hidden, to_classes in self.tail:
            to_hidden.reset_parameters()
            to_classes.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(f"0D target expects 1D input tensors, but found inputs with size {input_.size()}.")
        elif target_.dim() == 1:
            if input_.dim() != 2:
                raise RuntimeError(f"1D target expects 2D input tensors, but found inputs with size {input_.size()}.")
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError(
                    "Input and target should have the same size in the batch dimension, got "
                    f"{input_.shape[0]} and {target_.shape[0]}"
                )
        else:
            raise RuntimeError(f"0D or 1D target tensor expected, got {target_.dim()}D: multi-target not supported")
        batched = target_.dim() > 0
        x = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)

        found = 0
        output = x.new_zeros(len(target))
        in_head = target.new_empty(len(target))
        edges = [0, *self.cutoffs]
        for i in range(len(edges) - 1):
            low, high = edges[i], edges[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if i == 0:
                in_head.index_copy_(0, rows, target[rows])
            else:
                cluster = self.shortlist_size + i - 1
                logprob = F.log_softmax(self.tail[i - 1](x.index_select(0, rows)), dim=1)
                local = logprob.gather(1, (target[rows] - low).unsqueeze(1))
                output.index_copy_(0, rows, local.squeeze(1))
                in_head.index_fill_(0, rows, cluster)
            found += rows.numel()
        if found != len(target):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(x), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        out = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            tail = F.log_softmax(self.tail[i](input), dim=1)
            out[:, low:high] = tail + head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes. Shapes: (N, in_features) -> (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row. Shapes: (N, in_features) -> (N,)."""
        head_output = self.head(input)
        output = fb.argmax(head_output, dim=1)
        in_tail = output >= self.shortlist_size
        if in_tail.all():
            return fb.argmax(self._get_full_log_prob(input, head_output), dim=1)
        if in_tail.any():
            # Only where the head chose a cluster are the tails needed.
            rows = self._get_full_log_prob(input[in_tail], head_output[in_tail])
            output[in_tail] = fb.argmax(rows, dim=1)
        return output
