"""The PostgreSQL store: its connections, its refusals in one line, and its password nowhere."""

# ruff: noqa: S608  (the names put into statements are of our own tables)
from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from calls import make_call
from postgres import DATABASE, ENCODED, PASSWORD, USER, PostgresServer
from stores import REPLY, keyed_call

from adjudge.cli import run
from adjudge.errors import ArgumentError, StoreError, StoreLostError, StoreVersionError
from adjudge.judges.options import JudgingOptions
from adjudge.store import Served, check_store, open_store, store_name, use_store
from adjudge.store import postgres as database
from adjudge.store.interface import DatabaseURL
from adjudge.store.postgres import PostgresStore, explain, explain_refusal
from adjudge.store.tables import LEDGER, MIGRATIONS

#: What no message may hold: the password, however it is written.
SECRETS = (PASSWORD, ENCODED, "battery")


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(url)
    yield opened
    opened.close()


@pytest.fixture
def admin(postgres_server: PostgresServer) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with postgres_server.connect() as db:
        yield db


def schema_of(url: str) -> str:
    return DatabaseURL.parse(url).schema


def refusal(url: str) -> str:
    with pytest.raises(StoreError) as refused:
        open_store(url)
    text = str(refused.value)
    assert "\n" not in text
    assert not any(secret in text or secret in repr(refused.value) for secret in SECRETS)
    return text


def test_every_refusal_is_one_line_with_its_remedy(postgres_server: PostgresServer) -> None:
    server = f"127.0.0.1:{postgres_server.port}"
    wrong = refusal(postgres_server.url(password="wrong"))
    assert wrong.startswith(f"postgresql://{server}/{DATABASE}?schema=")
    assert "password authentication failed for user; give the password in PG" in wrong
    missing = refusal(f"postgresql://{USER}:{ENCODED}@{server}/none")
    assert missing.endswith('database "none" does not exist; create it with createdb, or check '
                            "its name")  # fmt: skip
    nobody = refusal(f"postgresql://nobody:{ENCODED}@{server}/{DATABASE}")
    assert "give the password in PGPASSWORD" in nobody
    assert "nobody" not in nobody
    closed = refusal(f"postgresql://{USER}:{ENCODED}@127.0.0.1:1/{DATABASE}")
    assert "refused; check the address and that the server is running" in closed.replace("\n", " ")


@pytest.mark.attack("keys")
@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('role "me" does not exist', "role does not exist; check the user, or create one"),
        ('role "me" is not permitted to log in', "role is not permitted to log in; check the user"),
        ('Peer authentication failed for user "me"', "Peer authentication failed for user; check"),
        (
            'no pg_hba.conf entry for host "10.0.0.9", user "me", database "x", no encryption',
            'no pg_hba.conf entry for host "10.0.0.9", user, database "x", no encryption; allow',
        ),
        ('too many connections for role "me"', "too many connections for role; start fewer"),
    ],
)
def test_the_user_of_a_refused_connection_is_not_shown(message: str, shown: str) -> None:
    error = psycopg.OperationalError(f'connection to "h" failed: FATAL:  {message}')
    for text in (str(explain_refusal(error, "db")), str(explain(error, "db", schema="s"))):
        assert '"me"' not in text
    assert str(explain_refusal(error, "db")).startswith(f"db: {shown}")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://judge:battery%zz@127.0.0.1/x",
        "postgresql://judge:bat@tery:battery@127.0.0.1/x",
        "postgresql://judge:bat@battery@127.0.0.1/x",
        "postgresql://judge:bat@x:battery@127.0.0.1/x",
        "postgresql://judge:battery/x@127.0.0.1/x",
        "postgresql://judge:battery?x@127.0.0.1/x",
        "postgresql://judge@127.0.0.1/x?password=battery&nonsense=1",
    ],
)
def test_a_url_that_cannot_be_read_is_not_quoted(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((ArgumentError, StoreError)) as refused:
        open_store(address)
    assert "battery" not in str(refused.value)
    assert run(["store", "check", address]) == 1
    said = capsys.readouterr()
    assert "battery" not in said.out + said.err


def test_old_servers_and_other_encodings_are_refused(
    postgres_server: PostgresServer,
    admin: psycopg.Connection[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    assert "its encoding is LATIN1" in refusal(
        postgres_server.url().replace(f"/{DATABASE}", "/latin")
    )
    monkeypatch.setattr(database, "OLDEST_SERVER", 99)
    assert "version 99 or newer is needed" in refusal(postgres_server.url())


def test_rights_that_are_missing_are_named(
    postgres_server: PostgresServer, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    url = postgres_server.url()
    reader = url.replace(f"{USER}:{ENCODED}", "reader:r")
    admin.execute("CREATE ROLE reader LOGIN PASSWORD 'r'")
    try:
        assert f"CREATE SCHEMA {schema_of(url)} AUTHORIZATION" in refusal(reader)
        with use_store(url) as store:
            store.save([make_call("k")])
        name = schema_of(url)
        admin.execute(f"GRANT USAGE ON SCHEMA {name} TO reader")
        admin.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO reader")
        with use_store(reader, readonly=True) as store:
            assert set(store.lookup_rows(["k"])) == {"k"}
            assert store.latest_call_id() == 1
        assert {table.table: table.rows for table in check_store(reader).tables}["judges"] == 0
        assert "permission denied for table owners" in refusal(reader)
    finally:
        admin.execute("DROP OWNED BY reader")
        admin.execute("DROP ROLE reader")


def test_a_user_with_its_own_schema_needs_nothing_more(
    postgres_server: PostgresServer, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    """The rights that docs/store.md names are enough."""
    url = postgres_server.url()
    name = schema_of(url)
    admin.execute("CREATE ROLE worker LOGIN PASSWORD 'w'")
    admin.execute(f"CREATE SCHEMA {name} AUTHORIZATION worker")
    try:
        with use_store(url.replace(f"{USER}:{ENCODED}", "worker:w")) as store:
            assert store.claim(["k"], retry=(), since=store.latest_call_id()).ours == {"k"}
            store.save([make_call("k")])
    finally:
        admin.execute("DROP OWNED BY worker")
        admin.execute("DROP ROLE worker")


def test_a_foreign_schema_and_a_newer_store_are_left_alone(
    url: str, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    name = schema_of(url)
    admin.execute(f"CREATE SCHEMA {name}")
    admin.execute(f"CREATE TABLE {name}.photos (name TEXT)")
    assert "has tables that are not from adjudge; choose another one with ?schema=NAME" in refusal(
        url
    )
    admin.execute(f"DROP TABLE {name}.photos")
    open_store(url).close()
    admin.execute(f"INSERT INTO {name}.{LEDGER} VALUES (99, '9999_later', 'then')")
    for readonly in (False, True):
        with pytest.raises(StoreVersionError, match="newer adjudge .*9999_later"):
            open_store(url, readonly=readonly)
    with pytest.raises(ArgumentError, match="small letters"):
        open_store(url.replace(name, "Public;"))


def test_the_password_can_come_from_the_environment_or_a_file(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = postgres_server.url().replace(f":{ENCODED}", "")
    monkeypatch.setenv("PGPASSFILE", "no-such-file")
    assert "give the password in PGPASSWORD or ~/.pgpass" in refusal(place)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    open_store(place).close()
    monkeypatch.delenv("PGPASSWORD")
    with open("pgpass", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(f"127.0.0.1:{postgres_server.port}:*:{USER}:{PASSWORD}\n")
    monkeypatch.setenv("PGPASSFILE", "pgpass")
    open_store(place).close()


def test_the_socket_and_a_database_named_by_options_work(postgres_server: PostgresServer) -> None:
    place = (
        f"postgresql://{USER}:{ENCODED}@/{DATABASE}"
        f"?host={postgres_server.folder}&port={postgres_server.port}&schema=by_socket"
    )
    with use_store(place) as store:
        store.save([make_call("k")])
        assert store.name == place.replace(f"{USER}:{ENCODED}@", "")
        assert PASSWORD not in repr(vars(store)["_url"])


@pytest.mark.attack("keys")
def test_no_verb_shows_the_password(url: str, capfd: pytest.CaptureFixture[str]) -> None:
    with open("pairs.jsonl", "w") as file:
        file.write('{"id": "1", "prompt": "p", "response_a": "a", "response_b": "b"}\n')
    assert run(["judge", "pairs.jsonl", "--judge", "simulated:", "--store", url, "-o", "j.jsonl",
                "--summary", "run.json"]) == 0  # fmt: skip
    assert "a password in a command is visible to everybody" in capfd.readouterr().err
    for verb in (
        ["judge", "pairs.jsonl", "--judge", "simulated:", "--store", url, "--json"],
        ["replies", "--store", url, "--json"],
        ["store", "check", url, "-o", "check.json"],
        ["store", "copy", url, "copy.db", "-o", "copy.json"],
        ["store", "copy", url, url],
        ["store", "check", url, "--rescue", "rescued.db"],
        ["monitor", "draw", url],
        ["monitor", "draw", url, "--audit-rate", "0.1"],
        ["label", url, "--export-only"],
        ["evaluate", url],
        ["report", ".", "--store", url, "-o", "report.html"],
        ["calibrate", "j.jsonl", "--store", url, "-o", "policy.json"],
        ["judge", "pairs.jsonl", url],
    ):
        run(verb)
    shown = capfd.readouterr()
    texts = [shown.out, shown.err]
    for name in os.listdir():
        with open(name, "rb") as file:
            texts.append(file.read().decode(errors="replace"))
    assert not [text for text in texts for secret in SECRETS if secret in text]
    options = JudgingOptions(judge="simulated:", store=url)
    assert not [secret for secret in SECRETS if secret in repr(options)]
    assert store_name(url) in shown.out + shown.err


def test_the_url_can_come_from_the_environment(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open("pairs.jsonl", "w") as file:
        file.write('{"id": "1", "prompt": "p", "response_a": "a", "response_b": "b"}\n')
    monkeypatch.setenv("ADJUDGE_STORE", url)
    assert run(["judge", "pairs.jsonl", "--judge", "simulated:", "-o", "j.jsonl"]) == 0
    said = capsys.readouterr().err
    assert f"replies are kept in {store_name(url)}" in said
    assert "list of processes" not in said
    assert run(["replies", "--json"]) == 0


def test_psycopg_is_imported_for_such_a_url_alone_and_named_where_it_is_missing() -> None:
    program = (
        "import sys\n"
        "from adjudge.cli import run\n"
        "from adjudge.store import open_store\n"
        "open_store(None).close()\n"
        "assert 'psycopg' not in sys.modules\n"
        "sys.modules['psycopg'] = None\n"
        "sys.exit(run(['store', 'check', 'postgresql://db/x']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "run: pip install '.[postgres]' in a checkout of adjudge" in done.stderr


def cut_connections(admin: psycopg.Connection[tuple[object, ...]]) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'adjudge'"
    )


def test_a_store_comes_back_with_its_claims_when_its_connections_are_cut(
    store: PostgresStore, url: str, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    assert store.claim(["a", "b"], retry=(), since=0).ours == {"a", "b"}
    cut_connections(admin)
    store.save([make_call("a")])
    with use_store(url) as other:
        assert other.claim(["b"], retry=(), since=0).busy == {"b"}
    assert store.claim(["a", "b", "c"], retry=(), since=0).ours == {"c"}
    cut_connections(admin)
    with pytest.raises(StoreLostError, match="committed replies are kept"), store.transaction():
        store.lookup_rows(["a"])
    store.heartbeat()
    cut_connections(admin)
    with pytest.raises(StoreLostError):
        store.heartbeat()
    store.heartbeat()
    assert set(store.lookup_rows(["a"])) == {"a"}


def test_the_lock_of_an_owner_outlives_the_loss_of_another_connection(
    store: PostgresStore, url: str, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    assert store.claim(["a"], retry=(), since=0).ours == {"a"}
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'adjudge'"
        " AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
    )
    assert store.claim(["b"], retry=(), since=0).ours == {"b"}
    with use_store(url) as other:
        assert other.claim(["a", "b"], retry=(), since=0).busy == {"a", "b"}


def test_a_claim_whose_commit_was_not_told_is_ours(
    store: PostgresStore, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    """The connection broke between the commit and its confirmation."""
    admin.execute(f"INSERT INTO {store._url.schema}.claims VALUES ('a', %s)", (store.owner.owner,))
    assert store.claim(["a"], retry=(), since=0).ours == {"a"}
    assert store.claim(["a"], retry=(), since=0).busy == {"a"}


def test_claims_and_the_beginning_of_a_run_refuse_to_be_part_of_a_transaction(
    store: PostgresStore,
) -> None:
    with store.transaction():
        for work in (store.latest_call_id, lambda: store.claim([], retry=(), since=0)):
            with pytest.raises(RuntimeError, match="its own transaction"):
                work()


def test_a_number_given_before_the_beginning_is_not_committed_after_it(
    store: PostgresStore, url: str
) -> None:
    """Of two savers the one with the lower number commits last: the beginning waits for it."""
    began: list[int] = []
    with use_store(url) as other:
        asking = threading.Thread(target=lambda: began.append(other.latest_call_id()))
        with store.transaction():
            store.save([make_call("slow")])
            asking.start()
            asking.join(0.2)
            assert not began
        asking.join(10)
    assert began == [1]


def test_audits_are_numbered_in_the_order_of_their_commits(store: PostgresStore, url: str) -> None:
    """A check that has counted audits must not see another appear among them later."""

    def row(name: str) -> Served:
        return Served(rules_id="r", subject_id=name, accepted=True, audited=True, content={})

    with use_store(url) as other:
        serving = threading.Thread(target=lambda: other.add_served([row("second")]))
        with store.transaction():
            store.add_served([row("first")])
            serving.start()
            serving.join(0.2)
            assert other.audits("r") == []
        serving.join(10)
    assert [audit.subject_id for audit in store.audits("r")] == ["first", "second"]


def test_a_check_says_what_was_changed(
    store: PostgresStore, url: str, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    odd = replace(REPLY, text="a\0b \x1a \ud800", answer_mass=float("nan"), mean_logprob=1)
    store.save([*(keyed_call(n) for n in range(3)), keyed_call(3, odd)])
    name = store._url.schema
    check = check_store(url)
    assert (check.damaged, check.schema, check.up_to_date) == (False, MIGRATIONS[-1].name, True)
    admin.execute(f"UPDATE {name}.calls SET status = 'oj' WHERE call_id = 2")
    admin.execute(f"UPDATE {name}.calls SET slot = 'other' WHERE call_id = 3")
    check = check_store(url)
    [calls] = [table for table in check.tables if table.table == "calls"]
    assert (calls.rows, calls.damaged, calls.example) == (2, 2, "row 2: status is 'oj'")
    admin.execute(f"UPDATE {name}.calls SET reply_text = 'B' WHERE call_id = 1")
    [calls] = [table for table in check_store(url).tables if table.table == "calls"]
    assert (calls.rows, calls.damaged) == (1, 3)
    assert calls.example == "row 1: it is not as it was written: it was edited, or a byte changed"
    assert run(["store", "check", url]) == 2
    with pytest.raises(StoreError, match="call 2 is damaged"):
        list(store.calls())
    with pytest.raises(ArgumentError, match="adjudge store copy"):
        check_store(url, rescue="new.db")
