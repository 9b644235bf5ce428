"""A model of `transformers` that reads images: its prompt as tokens, its images as numbers.

The chat template never gets the text being judged (`_tokens`), nor an image. What the template
writes for an image is asked of it once; the processor makes the tokens of that place, and the
numbers for all images of a prompt together. Questions with images are computed one at a time, and
the images of the next ones are prepared meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import torch

from adjudge.errors import BackendMissingError, how_to_install
from adjudge.images import ImageError, read_image
from adjudge.judges.backends._tokens import CACHE_LIMIT, CannotAnswerError, HubTokens
from adjudge.records import Image

_BEFORE, _AFTER = "zqbefore", "zqafter"


def read_processor(hub: Any, source: str, revision: str | None, *, name: str) -> Any:
    """The processor of a model that takes images; None for a model of text alone."""
    try:
        config = hub.AutoConfig.from_pretrained(source, revision=revision)
        if getattr(config, "vision_config", None) is None:
            return None
        processor = hub.AutoProcessor.from_pretrained(source, revision=revision)
    except ImportError as error:
        why = " ".join(str(error).split())[:160]
        raise BackendMissingError(
            f"{name}: its processor cannot be loaded ({why}); {how_to_install('transformers')}"
        ) from error
    except (OSError, ValueError):
        return None
    return processor if getattr(processor, "image_processor", None) is not None else None


class SeeingTokens(HubTokens):
    """Token ids of chats with images."""

    def __init__(self, processor: Any, *, model: str) -> None:
        tokenizer = processor.tokenizer
        tokenizer.chat_template = processor.chat_template or tokenizer.chat_template
        super().__init__(tokenizer, model=model)
        self._processor = processor
        image = [_part(_BEFORE), {"type": "image"}, _part(_AFTER)]
        written = super().render([{"role": "user", "content": image}])  # type: ignore[dict-item]  # a list of parts
        between = written.partition(_BEFORE)[2].partition(_AFTER)[0]
        self._mark = between or str(processor.image_token)
        self._tokens_of: dict[str | None, list[int]] = {}

    def render(self, turns: list[dict[str, str]]) -> str:
        parts: list[dict[str, Any]] = [
            {"role": turn["role"], "content": [_part(turn["content"])]} for turn in turns
        ]
        return super().render(parts)

    def image(self, image: Image) -> list[int]:
        if image.sha256 not in self._tokens_of:
            self.see([image])
        return self._tokens_of[image.sha256]

    def see(self, images: Sequence[Image]) -> Any:
        """What the processor makes of these images: tokens, and tensors for the model."""
        from PIL import Image as Pillow

        pictures = []
        try:
            for image in images:
                content = read_image(image.sha256 or "", image.name)
                with Pillow.open(BytesIO(content)) as picture:
                    pictures.append(picture.convert("RGB"))
        except ImageError as error:
            raise CannotAnswerError(f"{error}; {error.remedy}") from None
        except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError):
            raise CannotAnswerError(f"the image {images[len(pictures)].name} is broken") from None
        text = [self._mark * len(pictures)]
        how = {"return_tensors": "pt", "add_special_tokens": False}
        seen = self._processor(text=text, images=[pictures], **how)
        if len(images) == 1:
            if len(self._tokens_of) >= CACHE_LIMIT:
                self._tokens_of.clear()
            self._tokens_of[images[0].sha256] = seen["input_ids"][0].tolist()
        return seen


class SeeingModel:
    """Forward passes of one prompt, and of what `SeeingTokens.see` made of its images."""

    def __init__(self, model: Any) -> None:
        self._model = model.eval()

    def options(self, prompt: Sequence[int], seen: Any, ids: Sequence[int]) -> list[float]:
        """log P(option | prompt) over the complete vocabulary."""
        with torch.inference_mode():
            logits = self._model(**self._inputs(prompt, seen), use_cache=False).logits[0, -1]
        numbers: list[float] = torch.log_softmax(logits.float(), -1)[list(ids)].tolist()
        return numbers

    def write(self, prompt: Sequence[int], seen: Any, *, seed: int, **drawn: Any) -> list[int]:
        """The tokens that the model writes next."""
        device = self._model.device
        inputs = self._inputs(prompt, seen)
        with (
            torch.inference_mode(),
            torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        ):
            torch.manual_seed(seed)
            out = self._model.generate(**inputs, **drawn)
        return [int(token) for token in out[0, len(prompt) :]]

    def _inputs(self, prompt: Sequence[int], seen: Any) -> dict[str, Any]:
        tokens = torch.tensor([list(prompt)])
        inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
        for name, values in seen.items():
            if name in inputs:
                continue
            if values.shape == seen["input_ids"].shape:
                # A kind for each token: only an image has another than text.
                pairs = zip(seen["input_ids"][0].tolist(), values[0].tolist(), strict=True)
                kinds = dict(pairs)
                values = torch.tensor([[kinds.get(token, 0) for token in prompt]])
            inputs[name] = values.to(self._model.dtype) if values.is_floating_point() else values
        return {name: values.to(self._model.device) for name, values in inputs.items()}


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
