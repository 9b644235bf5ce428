"""A matplotlib figure as inline SVG whose colours follow the page, light or dark."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

from adjudge.present import theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The theme's constants and their CSS variables on the page.
VARIABLES = {
    theme.INK: "--ink",
    theme.MUTED: "--muted",
    theme.GRID: "--grid",
    **{colour: f"--series-{position}" for position, colour in enumerate(theme.SERIES)},
}


def inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """The figure as one <svg> element; `prefix` makes its ids unique on the page."""
    written = io.StringIO()
    with theme.themed():
        figure.patch.set_alpha(0)
        for axes in figure.axes:
            axes.patch.set_alpha(0)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    svg = text[text.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id)="([^"]+)"', rf'\1="{prefix}-\2"', svg)
    svg = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}-\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    for colour, variable in VARIABLES.items():
        svg = re.sub(re.escape(colour), f"var({variable}, {colour})", svg, flags=re.IGNORECASE)
    # Width and height come from the page; the viewBox keeps the proportions.
    opened = (
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" aria-label="{escape(label, quote=True)}"'
    )
    svg = re.sub(
        r'^<svg [^>]*?(viewBox="[^"]+")[^>]*>',
        lambda match: f"<svg {match.group(1)} {opened}>",
        svg,
        count=1,
    )
    return svg.replace("\n", " ").strip()
