"""What a judge costs: the user's prices, genai-prices where it is installed, our dated table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from adjudge import plan_judging
from adjudge.errors import DataError
from adjudge.judges.prices import KNOWN, current_price, listed_price, price_for, read_prices
from adjudge.simulate.pairs import simulate_pairs

OPENAI = "https://api.openai.com/v1"


@pytest.fixture
def _no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)


@pytest.fixture
def package() -> Any:
    return pytest.importorskip("genai_prices", reason="genai-prices is not installed")


def test_prices_of_the_user_come_first(tmp_path: Path) -> None:
    own = tmp_path / "prices.json"
    own.write_text(
        '{"gpt-4.1-mini": {"prompt": 1, "completion": 2}, "openai:x": '
        '{"prompt": 3, "completion": 4}}'
    )
    table = read_prices(own)
    mini = price_for("openai:gpt-4.1-mini", table, base_url="http://localhost:1/v1")
    assert mini is not None
    assert (mini.prompt, mini.completion, mini.source) == (1.0, 2.0, str(own))
    exact = price_for("openai:x", table, free=True)
    assert exact is not None
    assert exact.completion == 4.0
    assert price_for("openai:unheard-of", table) is None
    csv = tmp_path / "prices.csv"
    csv.write_text("model,prompt,completion\nm,0.5,1.5\n")
    assert read_prices(csv)["m"].prompt == 0.5
    csv.write_text("model,prompt,completion,cached,cache_write\nm,0.5,1.5,0.1,\n")
    cheaper = read_prices(csv)["m"]
    assert (cheaper.cached, cheaper.cache_write) == (0.1, None)
    assert cheaper.times(0.5, "in a batch").cached == 0.05


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model;prompt\n", "not a price table"),
        ('{"m": {"prompt": 1}}', "completion price of 'm'"),
        ('{"m": {"prompt": -1, "completion": 1}}', "prompt price"),
        ('{"m": {"prompt": "free", "completion": 1}}', "prompt price"),
        ('{"m": 3}', "prompt price"),
        ("{", "not valid JSON"),
    ],
)
def test_a_bad_price_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as refused:
        read_prices(path)
    assert "columns model, prompt, completion" in str(refused.value)
    assert "dollars per million tokens" in str(refused.value)


def test_our_table_holds_at_the_makers_server_only() -> None:
    assert listed_price("gpt-4o-mini", OPENAI) is not None
    assert listed_price("gpt-4o-mini", "https://openrouter.ai/api/v1") is None
    dated, special = listed_price("gpt-4o-2024-08-06"), listed_price("gpt-4o-2024-05-13")
    assert dated is not None
    assert special is not None
    assert (dated.prompt, special.prompt) == (2.5, 5.0)
    assert listed_price("claude-haiku-4-5-20251001") is not None
    assert all(0 < p <= c for p, c, _, _ in KNOWN.values())


@pytest.mark.usefixtures("_no_package")
def test_without_the_package_the_table_speaks() -> None:
    assert current_price("openai", "gpt-4.1-mini", OPENAI) is None
    price = price_for("openai:gpt-4.1-mini", base_url=OPENAI)
    assert price == listed_price("gpt-4.1-mini")
    plan = plan_judging(simulate_pairs(5, seed=1), judge="openai:gpt-4.1-mini", store=None)
    assert plan.price_source == "built-in table: list price of gpt-4.1-mini, read 2025-06"


def test_the_package_comes_before_the_table(package: Any) -> None:
    plan = plan_judging(simulate_pairs(5, seed=1), judge="openai:gpt-4.1-mini", store=None)
    assert plan.price_source == f"genai-prices {package.__version__}: openai, gpt-4.1-mini"
    assert plan.cost_estimate is not None
    assert plan.cost_estimate > 0


def test_the_package_agrees_with_the_table_where_both_know_a_model(package: Any) -> None:
    for model, (prompt, completion, cached, _) in KNOWN.items():
        maker = "anthropic" if model.startswith("claude") else "openai"
        price = current_price(maker, model, None)
        assert price is not None, model
        assert (price.prompt, price.completion) == pytest.approx((prompt, completion)), model
        assert price.cached == pytest.approx(cached), model
        ours = listed_price(model)
        assert ours is not None
        assert price.cache_write == pytest.approx(ours.cache_write), model
        assert price.cache_least == ours.cache_least


def test_the_package_knows_gateways_and_dated_names(package: Any) -> None:
    assert current_price("openai", "gpt-4.1-mini-2025-04-14", OPENAI) is not None
    gateway = current_price("openai", "openai/gpt-4o-mini", "https://openrouter.ai/api/v1")
    assert gateway is not None
    assert "openrouter" in gateway.source


def test_what_the_package_does_not_know_has_no_price(package: Any) -> None:
    assert current_price("openai", "gpt-4.1-mini", "http://localhost:8000/v1") is None
    assert price_for("openai:gpt-4.1-mini", base_url="http://localhost:8000/v1") is None
    assert price_for("openai:unheard-of-model-x", base_url=OPENAI) is None
    assert price_for("echo:word") is None


def test_a_price_rises_with_the_prompt_only_beyond_what_judges_read(package: Any) -> None:
    """Gemini's price doubles above 200,000 tokens; a judge's prompt is in the first tier."""
    price = current_price("google", "gemini-2.5-pro", None)
    assert price is not None
    assert (price.prompt, price.completion) == (1.25, 10.0)
