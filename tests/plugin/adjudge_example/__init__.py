"""What a package outside adjudge adds: one module for each open door."""
