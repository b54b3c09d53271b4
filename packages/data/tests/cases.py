"""Loaders and samplers whose order is recorded from PyTorch. Plain Python: tools/record_data.py runs it there too."""

SEED = 7

# name: (class, positional arguments, options); a "generator" option is the seed of one of its own.
SAMPLERS = {
    "permutation": ("RandomSampler", [range(11)], {}),
    "permutation from its own generator": ("RandomSampler", [range(11)], {"generator": 3}),
    "permutations over and over": ("RandomSampler", [range(5)], {"num_samples": 13, "generator": 3}),
    "with replacement": ("RandomSampler", [range(5)], {"replacement": True, "num_samples": 40}),
    "subset": ("SubsetRandomSampler", [[3, 1, 4, 1, 5]], {}),
    "weighted": ("WeightedRandomSampler", [[1.0, 2.0, 0.0, 4.0], 12], {}),
    "weighted without replacement": ("WeightedRandomSampler", [[1.0, 2.0, 3.0, 4.0], 3, False], {"generator": 3}),
    "distributed": ("DistributedSampler", [range(11), 3, 1], {}),
    "distributed, another seed": ("DistributedSampler", [range(11), 3, 2], {"seed": 5, "drop_last": True}),
}

# options of a DataLoader over range(10)
LOADERS = {
    "shuffled": {"shuffle": True, "batch_size": 3},
    "shuffled from its own generator": {"shuffle": True, "batch_size": 4, "drop_last": True, "generator": 3},
}

SPLITS = [[4, 6], [0.3, 0.3, 0.4], [0.05, 0.95]]
