"""A module that cannot be imported without an extra."""

import jax  # noqa: F401
