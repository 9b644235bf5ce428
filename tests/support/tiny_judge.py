"""A tiny random model with a chat template, as a folder that `transformers` loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Ends in a token that is not special, yet part of the frame, as reasoning models have it.
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>{% endif %}"
)


def make_tokenizer(template: str | None = CHATML) -> Any:
    """Bytes, and a few words of the sentence that it is trained on."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=["<|pad|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(["the answer is better than the other answer"] * 20, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<|pad|>", eos_token="<|im_end|>"
    )
    tokenizer.add_tokens(["<think>"])
    tokenizer.chat_template = template
    return tokenizer


def write_judge(folder: Path) -> Path:
    """The model and its tokenizer, written to `folder`."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = make_tokenizer()
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,  # wide, so that probabilities are far from uniform
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


#: As models that take images write a chat: content is text, or a list of parts.
SEEING = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for p in m['content'] %}"
    "{% if p['type'] == 'image' %}<image>{% else %}{{ p['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_seeing_judge(folder: Path) -> Path:
    """A tiny random model that takes images, and its processor, written to `folder`."""
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = make_tokenizer(SEEING)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    size = {"height": 28, "width": 28}
    seen = CLIPImageProcessorPil(size=size, do_center_crop=False, crop_size=size)
    processor = LlavaProcessor(
        seen, tokenizer, patch_size=14, vision_feature_select_strategy="default",
        chat_template=SEEING, num_additional_image_tokens=1,
    )  # fmt: skip
    torch.manual_seed(8)
    text = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1024,
        initializer_range=0.3, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    vision = CLIPVisionConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        image_size=28, patch_size=14, projection_dim=32, initializer_range=0.3,
    )  # fmt: skip
    config = LlavaConfig(
        text_config=text, vision_config=vision, vision_feature_layer=-1,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )  # fmt: skip
    model = LlavaForConditionalGeneration(config)
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
