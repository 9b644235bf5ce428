"""docs/monitor.md and measurements.md show what examples/life_of_a_policy.py prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    place = ROOT / "examples" / "life_of_a_policy.py"
    spec = importlib.util.spec_from_file_location("life_of_a_policy", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.montecarlo
def test_the_page_tells_the_story_of_the_script(script: ModuleType, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "monitor.md").read_text(encoding="utf-8")
    assert "\n".join(script.tell_story(tmp_path)) in page
    for name in ("monitor_alarm.png", "monitor_again.png"):
        assert f"(images/{name})" in page
        assert (tmp_path / name).stat().st_size > 20_000
        assert (ROOT / "docs" / "images" / name).is_file()


@pytest.mark.montecarlo
def test_the_page_has_the_measured_delays(script: ModuleType) -> None:
    page = (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")
    assert "\n".join(script.measure_delays()) in page
