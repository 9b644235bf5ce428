"""The papers' tables and figures: their protocols run here, their numbers next to ours."""
