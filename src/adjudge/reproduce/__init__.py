"""The papers' tables and figures: their protocol run here, their figures printed beside ours."""
