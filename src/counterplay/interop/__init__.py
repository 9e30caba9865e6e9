"""Games from elsewhere and games for elsewhere; each part is an optional extra."""
