"""``flambeau.random``: seeding and states of the default generator."""

from ._random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
