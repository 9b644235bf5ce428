"""A judge: parsed from `--judge BACKEND:MODEL` and `--protocol NAME`, named by its fingerprint.

Each backend and protocol has one line here and one file, imported when it is used. Packages add
theirs by entry points of the groups `adjudge.backends` and `adjudge.protocols`.

The fingerprint is everything that could change an answer, in one hash, with its parts. One part is
the route, if the server decides how it is asked. Replies by two routes are not mixed: a store
continues with the route of its replies, even if the server has changed. Only the first run on a
store asks the server, with a question of the run, whose reply is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeVar

from adjudge.data.rows import Identity
from adjudge.errors import ArgumentError, BackendMissingError, PolicyMismatchError
from adjudge.hashing import content_hash, sha256_json
from adjudge.judges.interface import (
    Backend,
    Choice,
    Judge,
    JudgeProtocol,
    Likelihood,
    Question,
    Reasoned,
    Text,
    Want,
)
from adjudge.judges.redact import check_name, check_secrets
from adjudge.plugins import Builtin, Registry
from adjudge.present.result import plain
from adjudge.records import Item, Pair, Subject
from adjudge.store import StorePlace, read_judge_parts
from adjudge.store.interface import Store

Kind = TypeVar("Kind", type[Backend], type[JudgeProtocol])
_BACKENDS = "adjudge.judges.backends."
_PROTOCOLS = "adjudge.judges.protocols."
BACKENDS: Registry[type[Backend]] = Registry(
    "judge",
    "adjudge.backends",
    {
        "openai": Builtin(_BACKENDS + "openai:OpenAIBackend"),
        **{
            service.lower(): Builtin(f"{_BACKENDS}services:{service}Backend")
            for service in (
                *("Azure", "Gemini", "OpenRouter", "Mistral", "Groq", "Together", "DeepSeek"),
                *("Ollama", "VLLM", "SGLang"),
            )
        },
        "anthropic": Builtin(_BACKENDS + "anthropic:AnthropicBackend"),
        "llamacpp": Builtin(_BACKENDS + "llamacpp:LlamaCppBackend", "embedded"),
        "transformers": Builtin(_BACKENDS + "transformers:TransformersBackend", "transformers"),
        "replay": Builtin(_BACKENDS + "replay:ReplayBackend"),
        "simulated": Builtin(_BACKENDS + "simulated:SimulatedBackend"),
    },
)
PROTOCOLS: Registry[type[JudgeProtocol]] = Registry(
    "protocol",
    "adjudge.protocols",
    {
        "preference": Builtin(_PROTOCOLS + "preference:Preference"),
        "likelihood": Builtin(_PROTOCOLS + "likelihood:LikelihoodProtocol"),
        "verbalized": Builtin(_PROTOCOLS + "verbalized:Verbalized"),
        "annotators": Builtin(_PROTOCOLS + "annotators:Annotators"),
        "rubric": Builtin(_PROTOCOLS + "rubric:Rubric"),
        "criterion": Builtin(_PROTOCOLS + "criterion:ByCriterion"),
        "likert": Builtin(_PROTOCOLS + "likert:Likert"),
        "grade": Builtin(_PROTOCOLS + "grade:GradeProtocol"),
    },
)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_WANT_NAMES = {
    "Choice": "letter probabilities",
    "Reasoned": "letter probabilities after reasoning",
    "Text": "text",
    "Likelihood": "likelihoods",
}
#: Questions that can fail before the usual route is taken.
_QUESTIONS = 3


def parse_judge(spec: str, **options: Any) -> Backend:
    """The backend of a spec. Options that are None get the backend's default.

    >>> parse_judge("simulated:accuracy=0.9").name
    'simulated:accuracy=0.9,position_bias=0,noise=0,seed=0'
    """
    check_secrets(**options)
    check_name(spec)
    name, colon, model = spec.partition(":")
    if name not in BACKENDS:
        backends = _installed(BACKENDS)
        # A model's name alone is the usual mistake: most are models of the first backend.
        first, kind = next(iter(backends.items()))
        example = kind.example if colon else f"{first}:{spec}"
        remedy = f"write BACKEND:MODEL, such as {example}; backends: {', '.join(backends)}"
        raise ArgumentError("judge", spec, remedy)
    backend = BACKENDS.load(name)
    if not model and backend.needs_model:
        remedy = "name a model after the colon" if colon else "name a model after a colon"
        raise ArgumentError("judge", spec, f"{remedy}, such as {backend.example}")
    return backend.parse(model, **_options(BACKENDS, name, options))


def parse_protocol(name: str, **options: Any) -> JudgeProtocol:
    """The protocol of that name. Options that are None get the protocol's default.

    >>> parse_protocol("preference", samples=None).name
    'preference'
    """
    return PROTOCOLS.load(name)(**_options(PROTOCOLS, name, options))


def _options(registry: Registry[Kind], name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, if the backend or protocol takes them all."""
    chosen = {option: value for option, value in options.items() if value is not None}
    for option, value in chosen.items():
        if option not in registry.load(name).options:
            kinds = _installed(registry).items()
            takers = ", ".join(other for other, kind in kinds if option in kind.options)
            remedy = f"leave it out: {registry.noun} {name} does not take it"
            remedy += f" ({takers} take it)" if takers else ""
            raise ArgumentError(option, getattr(value, "name", value), remedy)
    return chosen


def _installed(registry: Registry[Kind]) -> dict[str, Kind]:
    """All of a kind whose libraries are installed, for messages."""
    kinds: dict[str, Kind] = {}
    for name in registry:
        try:
            kinds[name] = registry.load(name)
        except BackendMissingError:
            continue
    return kinds


def differing_parts(parts: Mapping[str, Any], others: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the parts in which two judges differ.

    A judge has no route until its server has answered: the route is compared if both have one.

    >>> differing_parts({"model": "a", "protocol": "preference"}, {"model": "b", "seed": 1})
    ('model', 'protocol', 'seed')
    >>> differing_parts({"model": "a"}, {"model": "a", "route": "top_logprobs 5"})
    ()
    """
    missing = object()
    names = (parts.keys() | others.keys()) - ({"route"} & (parts.keys() ^ others.keys()))
    return tuple(n for n in sorted(names) if parts.get(n, missing) != others.get(n, missing))


def make_judge(
    backend: Backend, protocol: JudgeProtocol, *, repeats: int = 1, first_repeat: int = 0
) -> Judge:
    """A judge from a backend and a protocol, if the backend can answer the protocol's questions."""
    if lacking := protocol.wants - backend.wants:
        wanted = _named(lacking)
        offered = _named(backend.wants)
        drawn = lacking <= {Choice, Reasoned} and Text in backend.wants
        remedy = "draw answers with --samples 5, or choose" if drawn else "choose"
        lacks = f"it needs {wanted}, which {backend.name} cannot give (only {offered})"
        remedy = f"{lacks}; {remedy} another --protocol or --judge"
        raise ArgumentError("protocol", protocol.name, remedy)
    parts = {
        name: _CREDENTIALS.sub("", value) if isinstance(value, str) else plain(value)
        for name, value in backend.identity().items()
    }
    parts["protocol"] = protocol.name
    parts |= {f"protocol.{name}": plain(value) for name, value in protocol.settings().items()}
    return Judge(
        backend=backend,
        protocol=protocol,
        fingerprint_parts=parts,
        repeats=repeats,
        first_repeat=first_repeat,
    )


def by_route(judge: Judge) -> dict[str, Judge]:
    """The judge by each route that its server can allow; empty if there is no choice."""
    parts = judge.fingerprint_parts
    return {
        route: replace(judge, fingerprint_parts={**parts, "route": route})
        for route in judge.backend.routes(judge.protocol.wants)
    }


def question_hash(question: Question, subject: Pair | Item | None = None) -> str:
    """The content hash of one question: all text that is sent and what is wanted in return.

    So anything that a protocol shows (a reference, a persona) makes a new question if it changes.
    `subject` is for judges that answer from the subject itself (`knows_subject`).
    """
    texts = [text for message in question.messages for text in message.hashed]
    texts += texts_of_want(question.want)
    if subject is not None:
        texts += texts_of_truth(subject)
    return content_hash(texts)


def refuse_images(backend: Backend, questions: Iterable[Question]) -> None:
    """Refuse questions with images if the backend takes none, or cannot take them there."""
    for question in questions:
        images = question.images
        if not images:
            continue
        if not backend.takes_images:
            remedy = "it takes no images: ask openai:, anthropic: or transformers: with a model"
            remedy += " that does"
            raise ArgumentError("judge", backend.name, remedy)
        for image in images:
            if image.place is not None:
                remedy = "only rows of a file name an image by path or URL; give a data URI"
                raise ArgumentError("image", image.name, remedy)
        asked = [message for message in question.messages if message.role == "user"]
        if len(images) > sum(len(message.images) for message in asked):
            remedy = "judges take images only in a user message: move the placeholder there"
            raise ArgumentError("prompt", images[0].name, remedy)


def texts_of_want(want: Want) -> list[str]:
    """What is wanted, for the content hash: it comes after the messages."""
    if isinstance(want, Choice):
        return ["choice", *want.options]
    if isinstance(want, Reasoned):
        written = [str(want.max_tokens), repr(want.temperature)]
        return ["reasoned", want.format, *want.options, *written]
    if isinstance(want, Likelihood):
        return ["likelihood", want.continuation.text]
    texts = ["text", str(want.max_tokens), repr(want.temperature)]
    return texts if want.json_schema is None else [*texts, sha256_json(plain(want.json_schema))]


def texts_of_truth(subject: Pair | Item) -> list[str]:
    """What a judge that knows the subject can answer from, for the content hash: it comes last."""
    if isinstance(subject, Pair):
        truths: list[object] = [subject.label]
    else:
        truths = [subject.extra.get(name) for name in ("truth", "human")]
    return ["subject", subject.id, "".join([str(truth) for truth in truths if truth is not None])]


def _named(wants: Iterable[type]) -> str:
    return " and ".join(sorted(_WANT_NAMES.get(want.__name__, want.__name__) for want in wants))


def take_known_route(judge: Judge, is_known: Callable[[str], bool]) -> Judge | None:
    """The judge by the route whose fingerprint is known, which it then uses; None without one."""
    for route, candidate in by_route(judge).items():
        if is_known(candidate.fingerprint):
            judge.backend.take_route(route)
            return candidate
    return None


def kept_route(judge: Judge, store: Store) -> Judge | None:
    """The judge by the route of the replies in the store; None if it has none."""
    return take_known_route(judge, lambda fingerprint: store.judge_parts(fingerprint) is not None)


async def ask_route(judge: Judge, subjects: Iterable[Subject]) -> Judge:
    """The judge by the route that its server allows, asked by the first questions of the run."""
    routed = by_route(judge)
    questions = chain.from_iterable(map(judge.protocol.questions, subjects))
    for question in islice(questions, _QUESTIONS):
        route = await judge.backend.find_route(question)
        if route is not None:
            return routed[route]
    return usual_route(judge)


def usual_route(judge: Judge) -> Judge:
    """The judge by the route that most servers allow."""
    routed = by_route(judge)
    if not routed:
        return judge
    route, usual = next(iter(routed.items()))
    judge.backend.take_route(route)
    return usual


@dataclass(frozen=True)
class Match:
    """Which of the known judges this is (positions), and what could not be compared."""

    positions: tuple[int, ...]
    remark: str | None = None


def identity_of(judge: Judge) -> Identity:
    """What the rows of a judge are compared by."""
    names = judge.backend.name, judge.protocol.name
    return Identity(*names, judge.fingerprint, judge.fingerprint_parts)


def match_judge(
    judges: Sequence[Identity],
    identity: Identity,
    *,
    made: str = "the policy",
    remedy: str = "calibrate on judgments of this one",
    by_name: bool = False,
    store: StorePlace = None,
) -> Match:
    """Find `identity` among the judges that something was `made` for; refuse another judge.

    Equal fingerprints are one judge (with `by_name`, name and protocol must also agree). If both
    sides have fingerprints and none is equal, it is another judge, whatever its name. If one side
    has none, name and protocol must agree as far as they are known. PolicyMismatchError names the
    part that differs, of the two fingerprints if their parts are known (possibly from the `store`).

    >>> old = [Identity("gpt", "preference", "f1")]
    >>> match_judge(old, Identity("gpt", "preference", "f1"))
    Match(positions=(0,), remark=None)
    >>> match_judge(old, Identity("gpt", "preference")).remark
    'rows of gpt (preference) have no judge_fingerprint: compared by name'
    """
    alike = [at for at, judge in enumerate(judges) if _names_agree(judge, identity)]
    if identity.fingerprint is not None:
        pool = alike if by_name else range(len(judges))
        equal = tuple(at for at in pool if judges[at].fingerprint == identity.fingerprint)
        if equal:
            return Match(equal)
    bare = identity.fingerprint is None
    comparable = tuple(at for at in alike if bare or judges[at].fingerprint is None)
    if not comparable:
        raise _mismatch([judges[at] for at in alike] or judges, identity, made, remedy, store)
    return Match(comparable, _remark(judges[comparable[0]], identity, made))


def _names_agree(ours: Identity, theirs: Identity) -> bool:
    names = ((ours.judge, theirs.judge), (ours.protocol, theirs.protocol))
    return all(a is None or b is None or a == b for a, b in names)


def _remark(judge: Identity, identity: Identity, made: str) -> str | None:
    if judge.judge is None or identity.judge is None:
        return f"the rows do not name their judge: it must be the one {made} was made for"
    side = f"rows of {identity} have" if identity.fingerprint is None else f"{made} has"
    whose = "" if identity.fingerprint is None else f" of {identity}"
    return f"{side} no judge_fingerprint{whose}: compared by name"


def _mismatch(
    judges: Sequence[Identity], identity: Identity, made: str, remedy: str, store: StorePlace
) -> PolicyMismatchError:
    parts = identity.parts
    if parts is None and identity.fingerprint is not None:
        parts = read_judge_parts([identity.fingerprint], store).get(identity.fingerprint)
    mine = next((judge.parts for judge in judges if judge.parts is not None), None)
    names = ", ".join(dict.fromkeys(str(judge) for judge in judges))
    if parts is not None and mine is not None:
        differs = differing_parts(mine, parts) or ("route",)
        why = f" with another prompt, model or settings (differs: {', '.join(differs)})"
    elif any(_names_agree(judge, identity) for judge in judges):
        differs = ("judge_fingerprint",)
        old = ", ".join(dict.fromkeys(str(judge.fingerprint)[:12] for judge in judges))
        why = f" with fingerprint {old}, but here it is {str(identity.fingerprint)[:12]}"
        same = ": same judge name and protocol, so its prompt, weights, engine or settings differ"
        why += same if identity.judge is not None else ""
    else:
        named = identity.judge in {judge.judge for judge in judges}
        differs = ("protocol" if named else "judge",)
        why = f", not for {identity}"
    return PolicyMismatchError(f"{made} was made for {names}{why}; {remedy}", differs=differs)
