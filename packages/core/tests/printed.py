"""Expressions whose texts are compared with PyTorch's, which tools/record_core.py records: ``torch`` stands for either library."""

PRINTED = [
    "torch.tensor(1)", "torch.tensor(1.0)", "torch.tensor(True)", "torch.tensor(1.5 + 2j)", "torch.tensor([])", "torch.tensor([[], []])",
    "torch.tensor([], dtype=torch.int64)", "torch.tensor([], dtype=torch.bool)", "torch.zeros(2, 0, 3)", "torch.tensor([1, -2, 300])",
    "torch.tensor([1.0, 2.5, -3.25])", "torch.tensor([1.0, 2.0])", "torch.tensor([1e10, 1.0])", "torch.tensor([1e-10, 1.0])",
    "torch.tensor([1e-5, 2e-5])", "torch.tensor([123456.789, 0.001])", "torch.tensor([1e8, 2e8])", "torch.tensor([99999999.0])",
    "torch.tensor([100000000.0])", "torch.tensor([float('nan'), 1.5])", "torch.tensor([float('inf'), -1.0])", "torch.tensor([float('nan')])",
    "torch.tensor([-float('inf'), float('nan')])", "torch.tensor([0.0, -0.0])", "torch.tensor([True, False])",
    "torch.tensor([1 + 2j, -1.5 - 0.5j])", "torch.tensor([complex(float('nan'), 1.0)])", "torch.arange(12).view(3, 4)",
    "torch.arange(24).view(2, 3, 4)", "torch.arange(6.0).view(3, 2) / 7", "torch.arange(2000)", "torch.arange(40.0).view(4, 10)",
    "torch.zeros(1100, 3)", "torch.zeros(40, 40)", "torch.arange(10000.0).view(100, 100)", "torch.zeros(3, dtype=torch.float16)",
    "torch.ones(2, dtype=torch.bfloat16) / 3", "torch.ones(3, dtype=torch.float64) / 3", "torch.tensor([1], dtype=torch.uint8)",
    "torch.tensor([-1], dtype=torch.int8)", "torch.tensor([1], dtype=torch.int32)", "torch.tensor([1], dtype=torch.complex128)",
    "torch.tensor([1, 2], dtype=torch.uint16)", "torch.zeros(2, dtype=torch.float8_e5m2)", "torch.empty(2, 3, device='meta')",
    "torch.empty((), device='meta', dtype=torch.int64)", "torch.float32", "torch.bool", "torch.zeros(2, 3).shape", "torch.Size([])",
    "torch.device('cpu')", "torch.device('cuda', 1)", "torch.strided", "torch.channels_last", "torch.finfo(torch.float32)",
    "torch.finfo(torch.bfloat16)", "torch.iinfo(torch.int16)", "torch.tensor([[1.5, 2.0], [1e6, 3.0]])", "torch.tensor([1.0, 1e4, 1e5])",
    "torch.tensor([0.1, 1000.0])", "torch.tensor([0.1, 1001.0])", "torch.tensor([[-1, 10], [100, 5]])", "torch.arange(4).view(2, 2).t()",
    "torch.tensor(123456789.0)", "torch.tensor(1e-12)", "torch.tensor([3.0, 4.0]).max(0)", "torch.tensor([[3, 1], [2, 4]]).sort(1)",
    "torch.tensor([2**62, -(2**63)])", "torch.zeros(0, dtype=torch.float64)", "torch.tensor([1.0], dtype=torch.float64)",
    "torch.tensor([10000.5, 2.25])", "torch.tensor([1j, 1e6])", "torch.eye(3)", "torch.full((2, 2), 7)",
]  # fmt: skip
