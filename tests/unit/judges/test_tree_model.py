"""Prefix trees through tiny random models: the numbers are those of one prompt alone.

On CPU, where FlexAttention is not compiled: the same mask, cell by cell, and the very path that a
start must find out and refuse.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: prefix trees untested")
hub = pytest.importorskip("transformers", reason="transformers is not installed")

from torch.nn.attention import flex_attention  # noqa: E402

from adjudge.judges.backends._causal import (  # noqa: E402
    CausalModel,
    TreeModel,
    UnusableTreesError,
    plant_trees,
    try_trees,
)

SHAPE = {
    "vocab_size": 330,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,  # wide, so that probabilities are far from uniform
}
CONFIGS = {
    "llama": lambda: hub.LlamaConfig(**SHAPE),
    "qwen3": lambda: hub.Qwen3Config(**SHAPE, head_dim=16),
    # Its logits are capped, and every other layer sees a window.
    "gemma2": lambda: hub.Gemma2Config(
        **SHAPE, head_dim=16, query_pre_attn_scalar=16, sliding_window=100
    ),
}
OPTIONS = [1, 2, 300]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling for CPU takes a minute."""
    monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def make_model(name: str, seed: int = 7) -> CausalModel:
    torch.manual_seed(seed)
    return CausalModel(hub.AutoModelForCausalLM.from_config(CONFIGS[name]()), pad=0)


def draw_answers(seed: int) -> tuple[list[int], list[list[int]]]:
    rng = np.random.default_rng(seed)
    question = rng.integers(330, size=20).tolist()
    return question, [rng.integers(330, size=size).tolist() for size in (1, 9, 14)]


@pytest.mark.parametrize("name", CONFIGS)
def test_trees_have_the_numbers_of_each_prompt_alone(name):
    padded = make_model(name)
    trees = TreeModel(padded, lengths=(128, 256))
    assert trees.longest == (100 if name == "gemma2" else 256)
    for seed in (0, 1):  # the second tree reads the buffers that the first one filled
        question, answers = draw_answers(seed)
        pairs = [question + one + [7] + two + [8] for one, two in permutations(answers, 2)]
        prompts = [*pairs, question, pairs[0]]
        alone = np.array([padded.options([prompt], OPTIONS)[0] for prompt in prompts])
        assert np.array(trees.options(prompts, OPTIONS)) == pytest.approx(alone, abs=1e-4)
        assert np.std(alone, axis=0).min() > 0.05  # the model does tell prompts apart
    stems = [question, question, question, pairs[1]]
    tails = [*answers, answers[1]]
    for stem, tail, logs in zip(stems, tails, trees.continuations(stems, tails), strict=True):
        assert logs == pytest.approx(padded.continuations([stem], [tail])[0], abs=1e-4)


def test_a_row_of_either_length_has_the_same_numbers_and_leaves_the_model_as_it_was():
    padded = make_model("llama")
    question, answers = draw_answers(3)
    prompts = [question + answer for answer in answers]
    before = padded.options(prompts, OPTIONS)
    short = TreeModel(padded, lengths=(128, 256)).options(prompts, OPTIONS)
    large = TreeModel(padded, lengths=(256,)).options(prompts, OPTIONS)
    assert np.array(short) == pytest.approx(np.array(large), abs=1e-5)
    assert padded.options(prompts, OPTIONS) == before
    assert padded.model.config._attn_implementation == "sdpa"
    assert not any("forward" in vars(module) for module in padded.model.modules())


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            lambda: hub.BloomConfig(vocab_size=330, hidden_size=48, n_layer=1, n_head=4),
            "does not take position_ids",
        ),
        (
            lambda: hub.Qwen3Config(
                **SHAPE, head_dim=16, layer_types=["full_attention", "linear_attention"]
            ),
            "layers of linear_attention",
        ),
    ],
)
def test_a_model_that_a_tree_would_not_be_right_for_is_refused(config, why):
    made = hub.AutoModelForCausalLM.from_config(config())
    with pytest.raises(UnusableTreesError, match=why):
        TreeModel(CausalModel(made, pad=0), lengths=(128,))


def test_a_model_without_flex_attention_is_refused_in_one_line():
    made = hub.GPT2LMHeadModel(hub.GPT2Config(vocab_size=330, n_embd=48, n_layer=1, n_head=4))
    with pytest.raises(UnusableTreesError, match="FlexAttention fails here .*GPT2") as caught:
        plant_trees(CausalModel(made, pad=0), length=256, context=1024)
    assert "\n" not in str(caught.value)
    assert made.config._attn_implementation == "sdpa"


def test_attention_that_is_not_one_kernel_is_found_out_by_its_time():
    def try_often() -> None:
        for _ in range(5):  # another process can slow the padded batches of one trial
            plant_trees(make_model("llama"), length=512, context=1024)

    with pytest.raises(UnusableTreesError, match="times as long here"):
        try_often()


def test_numbers_that_are_not_those_of_padded_batches_are_found_out():
    trees = TreeModel(make_model("llama"), lengths=(128,))
    with pytest.raises(UnusableTreesError, match="change its log probabilities"):
        try_trees(trees, make_model("llama", seed=8), longest=1024)
