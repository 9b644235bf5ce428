"""`adjudge serve`: an HTTP judge that answers with a verdict or an abstention."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from adjudge.cli._common import remark, require_extra
from adjudge.cli._options import (
    STORE_VARIABLE,
    AuditRateOption,
    MaxTokensOption,
    ReasonOption,
    SecretOption,
    read_secret,
)


def serve(
    policy: Annotated[Path, typer.Option(help="The policy that calibrate wrote.")],
    judge: Annotated[
        str | None,
        typer.Option(
            help="The judge, as for `adjudge judge`.", show_default="the judges of a cascade"
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(help="How the judge is asked.", show_default="the policy's protocol"),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Another OpenAI-compatible server.")] = None,
    prompt: Annotated[Path | None, typer.Option(help="Your own prompt file.")] = None,
    criteria: Annotated[
        Path | None, typer.Option(help="Your own criteria or rubric, as for `adjudge judge`.")
    ] = None,
    reason: ReasonOption = False,
    samples: Annotated[int | None, typer.Option(min=1, help="Samples per order.")] = None,
    max_tokens: MaxTokensOption = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Maximum questions in flight.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds until a request times out.")
    ] = 120.0,
    grace: Annotated[
        float,
        typer.Option(min=0, help="Seconds for running requests to finish after a stop signal."),
    ] = 1.0,
    audit_rate: AuditRateOption = None,
    secret_env: SecretOption = None,
    store: Annotated[
        str,
        typer.Option(
            help="With --audit-rate: store of the served verdicts and the audits.",
            envvar=STORE_VARIABLE,
        ),
    ] = "adjudge.db",
    state: Annotated[
        str | None, typer.Option(help="State of `monitor check`, a file or a store, for /metrics.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs ADJUDGE_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8478,
) -> None:
    """Serve a calibrated judge over HTTP.

    POST /v1/judge answers with a verdict or an abstention.

    It takes pairs, or single answers if the policy was made from grades."""
    require_extra("server", "fastapi", "uvicorn", "prometheus_client")
    from adjudge.monitoring import AuditCoin
    from adjudge.server.audits import AuditTrail, MonitorMetrics
    from adjudge.server.guard import Limits
    from adjudge.server.guard import serve as run
    from adjudge.server.judge_app import judge_app
    from adjudge.server.service import PolicyFile, make_service
    from adjudge.store import open_store, store_name

    source = PolicyFile(policy)
    service = make_service(
        source.policy,
        judge,
        protocol=protocol,
        base_url=base_url,
        prompt=prompt,
        criteria=criteria,
        reason=reason,
        samples=samples,
        max_tokens=max_tokens,
        concurrency=concurrency,
    )
    trail = monitor = None
    if audit_rate is not None:
        open_store(store).close()  # so that a bad store is an error before the first request
        trail = AuditTrail(AuditCoin(audit_rate, read_secret(secret_env)), service, store)
    if state is not None:
        monitor = MonitorMetrics(state, source.policy)
    token = os.environ.get("ADJUDGE_TOKEN") or None
    limits = Limits(body_bytes=4_000_000, answer_seconds=timeout, stop_seconds=grace)

    def ready(address: str) -> None:
        names = " -> ".join(one.backend.name for one in service.judges)
        remark(f"serving {names} with {policy}: {address}v1/judge")
        remark(f"policy {service.policy_id}: {service.policy.promise}")
        if audit_rate is not None:
            place = store_name(store)
            remark(f"{audit_rate:.3g} of accepted verdicts are drawn for audits, stored in {place}")

    run(
        lambda taken: judge_app(
            service,
            source,
            host=host,
            port=taken,
            token=token,
            limits=limits,
            trail=trail,
            monitor=monitor,
        ),
        host=host,
        port=port,
        token=token,
        ready=ready,
    )
