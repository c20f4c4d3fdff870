"""What a link earns and pays in the long run: expected values and simulation."""
