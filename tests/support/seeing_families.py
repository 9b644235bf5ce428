"""Tiny random models of the families that take images, each with its own way of reading them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_judge import SEEING, make_tokenizer

TEXT = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "initializer_range": 0.3,
    "bos_token_id": None,
}
VISION = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 56,
    "patch_size": 14,
}


def write_idefics(folder: Path) -> Path:
    """An image becomes tiles, with words for their rows and columns between them."""
    import torch
    import transformers as hub

    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    marks = ["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>", *tiles]
    tokenizer = _tokenizer("<image>", marks)
    processor = hub.Idefics3Processor(
        hub.Idefics3ImageProcessorPil(
            size={"longest_edge": 112}, max_image_size={"longest_edge": 56}
        ),
        tokenizer,
        image_seq_len=4,
        chat_template=tokenizer.chat_template,
    )
    config = hub.Idefics3Config(
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        vision_config={**VISION, "initializer_range": 0.3},
        text_config={"model_type": "llama", **_text(tokenizer)},
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(3)
    return _write(hub.Idefics3ForConditionalGeneration(config), processor, folder)


def write_gemma(folder: Path) -> Path:
    """A mark for an image becomes others, and the model wants a kind for each token."""
    import torch
    import transformers as hub

    names = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tokenizer = _tokenizer("<start_of_image>", list(names.values()))
    tokenizer._set_model_specific_special_tokens(names)
    tokenizer.init_kwargs["extra_special_tokens"] = names
    processor = hub.Gemma3Processor(
        hub.Gemma3ImageProcessorPil(size={"height": 56, "width": 56}),
        tokenizer,
        image_seq_length=4,
        chat_template=tokenizer.chat_template,
    )
    indices = {
        f"{name}_index": tokenizer.convert_tokens_to_ids(token) for name, token in names.items()
    }
    config = hub.Gemma3Config(
        text_config={**_text(tokenizer), "head_dim": 12, "sliding_window": 512},
        vision_config=VISION,
        mm_tokens_per_image=4,
        **indices,
    )
    torch.manual_seed(3)
    return _write(hub.Gemma3ForConditionalGeneration(config), processor, folder)


def _tokenizer(mark: str, marks: Sequence[str]) -> Any:
    tokenizer = make_tokenizer(SEEING.replace("<image>", mark))
    tokenizer.add_tokens(list(marks), special_tokens=True)
    return tokenizer


def _text(tokenizer: Any) -> dict[str, Any]:
    return {
        **TEXT,
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }


def _write(model: Any, processor: Any, folder: Path) -> Path:
    for weights in model.parameters():
        if not weights.any():  # an image would change nothing
            weights.data.normal_()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
