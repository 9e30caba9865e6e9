"""Hold'em before the flop: equity tables, ICM, betting trees, and the arena on classes of hands."""
