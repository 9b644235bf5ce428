"""The papers' tables and figures: their protocols run here, their numbers next to ours.

A separate package: it imports adjudge, and adjudge does not import it. Entry points attach its
verbs (`adjudge reproduce`) and its kinds of results.
"""
