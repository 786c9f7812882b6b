"""Side by side with peers: `python -m bench.noise`, or `make bench NAME=noise`."""
