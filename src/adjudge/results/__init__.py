"""What methods return: frozen dataclasses, one file per room."""
