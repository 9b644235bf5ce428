"""The service's API page: every route, its fields and an example, without scripts or network.

The usual interactive page loads its program from the network. This page is made from the same
OpenAPI description when the service starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

#: The texts of the example request, by the name of their field.
_TEXTS = {
    "prompt": "What is 2 + 2?",
    "response_a": "4",
    "response_b": "5",
    "response": "4",
    "output": "4",
}

STYLE = """:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1.2rem; }
h2 { margin-top: 2.4rem; border-top: 1px solid #8884; padding-top: 1.2rem; }
pre { overflow-x: auto; background: #8881; padding: .8rem; border-radius: .4rem; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; vertical-align: top;
padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #8883; }
"""

Schema = Mapping[str, Any]


def render_api_page(api: Schema, *, address: str) -> str:
    """An HTML page of the API in `api` (OpenAPI), served at `address`."""
    info = api["info"]
    routes = "\n".join(
        _route(path, method, route, api["components"]["schemas"], address)
        for path, methods in api["paths"].items()
        for method, route in methods.items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(info["title"])}</title>
<link rel="stylesheet" href="/docs.css">
</head>
<body>
<h1>{escape(info["title"])}</h1>
<p>{escape(info.get("summary", ""))}
<a href="/openapi.json">/openapi.json</a> describes this API for programs.</p>
{routes}
</body>
</html>
"""


def _route(path: str, method: str, route: Schema, schemas: Schema, address: str) -> str:
    request = _schema_of(route.get("requestBody", {}), schemas)
    answer = _schema_of(route["responses"].get("200", {}), schemas)
    command = f"curl -s {address}{path}"
    if request:
        body = json.dumps(_example(request, schemas), ensure_ascii=False)
        command += f" -H 'content-type: application/json' -d '{body}'"
    description = escape(route.get("description", ""))
    elements = [
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>",
        f"<p>{description}</p>",
        f"<pre>{escape(command)}</pre>",
        _table("Request", request, schemas),
        _table("Answer", answer, schemas),
    ]
    return "\n".join(filter(None, elements))


def _schema_of(body: Schema, schemas: Schema) -> Schema:
    content = body.get("content", {}).get("application/json", {}).get("schema", {})
    return _resolve(content, schemas)


def _resolve(schema: Schema, schemas: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else schema


def _table(title: str, schema: Schema, schemas: Schema) -> str:
    rows = ""
    for name, field in schema.get("properties", {}).items():
        kind = _kind(field, schemas) + ("" if name in schema.get("required", ()) else ", optional")
        inner = _resolve(field.get("items", field), schemas)
        text = field.get("description", inner.get("description", ""))
        cells = (f"<code>{escape(name)}</code>", escape(kind), escape(text))
        rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    head = "<tr><th>field</th><th>type</th><th></th></tr>"
    return f"<h3>{title}</h3>\n<table>{head}{rows}</table>" if rows else ""


def _kind(field: Schema, schemas: Schema) -> str:
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_kind(kind, schemas) for kind in field["anyOf"]))
    if "$ref" in field:
        return str(_resolve(field, schemas).get("title", "object"))
    if field.get("type") == "array":
        return f"list of {_kind(field.get('items', {}), schemas)}"
    return str(field.get("type", "any"))


def _example(schema: Schema, schemas: Schema) -> Any:
    """A request with the required fields."""
    if schema.get("type") == "array":
        return [_example(_resolve(schema.get("items", {}), schemas), schemas)]
    fields = schema.get("properties", {})
    example = {}
    for name in schema.get("required", ()):
        field = fields[name]
        kinds = {kind.get("type") for kind in field.get("anyOf", [field])}
        if "string" in kinds:
            example[name] = _TEXTS.get(name, "...")
        else:
            example[name] = _example(_resolve(field, schemas), schemas)
    return example
