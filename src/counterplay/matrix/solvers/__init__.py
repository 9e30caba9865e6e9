"""Methods that compute Nash equilibria of normal-form games."""
