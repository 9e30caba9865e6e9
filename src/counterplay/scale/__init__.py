"""Work on many processes or machines: units, and who does them."""
