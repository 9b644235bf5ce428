"""Result types: frozen dataclasses, one file per room."""
