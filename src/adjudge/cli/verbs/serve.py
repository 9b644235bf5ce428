"""`adjudge serve`: a calibrated judge over HTTP."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from adjudge.cli.output import remark
from adjudge.cli.page import address, listen, require_server
from adjudge.cli.verb import SPELLED, Option, Values, Verb, required_secret, store_option


def _run(arguments: Values, options: Values) -> bool:
    require_server()
    from adjudge.monitoring import AuditCoin
    from adjudge.policy.view import policy_headline
    from adjudge.server.audits import AuditTrail, MonitorMetrics
    from adjudge.server.guard import Limits
    from adjudge.server.judge_app import judge_app
    from adjudge.server.service import PolicyFile, make_service
    from adjudge.store import open_store, store_name

    path = arguments.pop("policy")
    audit_rate = options["audit_rate"]
    store = options["store"]
    source = PolicyFile(path)
    service = make_service(source.policy, **arguments)
    for judge in service.judges:
        judge.backend.check()
    trail = monitor = None
    if audit_rate is not None:
        open_store(store).close()  # so that a bad store is an error before the first request
        secret = required_secret(options["secret_env"])
        trail = AuditTrail(AuditCoin(audit_rate, secret), service, store)
    if options["state"] is not None:
        monitor = MonitorMetrics(options["state"], source.policy)
    limits = Limits(
        body_bytes=4_000_000, answer_seconds=options["timeout"], stop_seconds=options["grace"]
    )

    def ready(address: str) -> None:
        names = " -> ".join(judge.backend.name for judge in service.judges)
        remark(f"serving {names} with {path}: {address}v1/judge")
        remark(f"policy {service.policy_id}: {policy_headline(service.policy).text}")
        remark(service.policy.value)
        if audit_rate is not None:
            place = store_name(store)
            remark(f"{audit_rate:.3g} of accepted verdicts are drawn for audits, stored in {place}")

    app = partial(judge_app, service, source, limits=limits, trail=trail, monitor=monitor)
    listen(app, options, ready)
    return False


COMMAND = Verb(
    "serve",
    "adjudge.server.service:make_service",
    "Serve a calibrated judge over HTTP.",
    "serve --policy policy.json --judge openai:gpt-4.1-mini",
    "POST /v1/judge answers with a verdict or an abstention.\n\n"
    "It takes pairs, or single answers if the policy was made from grades.",
    rows=(),
    main="policy judge protocol prompt reason audit_rate secret_env store state host port",
    added="",
    options=[
        Option("policy", type=Path),
        Option("timeout", "Seconds until a request times out.", float, default=120.0, least=0.1),
        Option(
            "grace",
            "Seconds for running requests to finish after a stop signal.",
            float,
            default=1.0,
            least=0,
        ),
        Option("audit_rate", "Share of accepted verdicts that people audit, such as 0.05.", float),
        SPELLED["secret"],
        store_option("With --audit-rate: store of the served verdicts and the audits."),
        Option("state", "State of `monitor check`, a file or a store, for /metrics."),
        *address(8478),
    ],
    run=_run,
    panel="Trust and deploy",
    place=3,
)
