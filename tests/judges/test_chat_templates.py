"""Chat templates that ship in trl, rendered as transformers does: what local models raise on.

Each is narrowed to what its model can say. Qwen 3.6 takes one system message, so they are joined;
arguments are mappings, which is how servers hand them to a template.
"""

from __future__ import annotations

import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NoReturn

import jinja2.ext
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from verdicts import Judge, assert_accepts_all, assert_cured, complaint
from wire import request_rows

# Found by its files: importing trl would need torch and all that comes with it.
TEMPLATES = Path(str(distribution("trl").locate_file("trl/chat_templates")))


def _raise(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(value: Any, indent: int | None = None, **options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, **options)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda _format: "2026-01-01"
    return environment


ENVIRONMENT = _environment()


def template_rows(messages: list[Any]) -> list[Any]:
    rows = []
    for row in request_rows(messages):
        calls = [
            {**call, "function": {**function, "arguments": json.loads(function["arguments"])}}
            for call in row.get("tool_calls", ())
            for function in [call["function"]]
        ]
        rows.append({**row, "tool_calls": calls} if calls else row)
    return rows


def one_system_row(rows: list[Any]) -> list[Any]:
    """The leading system rows as one, which is all that some templates take."""
    lead = 0
    while rows[lead]["role"] == "system":
        lead += 1
    texts = "\n\n".join(row["content"] for row in rows[:lead])
    return [{"role": "system", "content": texts}, *rows[lead:]] if lead else rows


def template_judge(name: str) -> Judge:
    template = ENVIRONMENT.from_string((TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8"))

    def judge(messages: list[Any]) -> None:
        rows = template_rows(messages)
        if name == "qwen3_6":
            rows = one_system_row(rows)
        template.render(messages=rows, add_generation_prompt=True, bos_token="", eos_token="")

    return judge


@pytest.mark.parametrize("name", ["qwen3", "qwen3_6", "gptoss", "gemma4"])
def test_accepts_all(name: str, normalized: dict[str, list[Any]]) -> None:
    assert_accepts_all(template_judge(name), normalized)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("qwen3_6", "system inside"),
        ("gptoss", "orphan result"),
        ("gptoss", "result first"),
        ("gemma4", "result of another call"),
    ],
)
def test_cured(name: str, fault: str) -> None:
    assert_cured(template_judge(name), fault)


def test_qwen3_raises_on_a_call_that_is_not_in_openai_shape() -> None:
    """All it raises on, for it looks at shape alone: a call whose arguments it does not find."""
    template = ENVIRONMENT.from_string((TEMPLATES / "qwen3.jinja").read_text(encoding="utf-8"))
    row = {"role": "assistant", "content": "", "tool_calls": [{"tool_call_id": "c1", "name": "f"}]}

    def judge(rows: list[Any]) -> None:
        template.render(messages=rows)

    assert "not JSON serializable" in str(complaint(judge, [row]))
    assert complaint(judge, template_rows([row])) is None


def test_qwen3_6_takes_one_system_row() -> None:
    template = ENVIRONMENT.from_string((TEMPLATES / "qwen3_6.jinja").read_text(encoding="utf-8"))
    rows = [
        {"role": "system", "content": "be brief"},
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "hi"},
    ]
    with pytest.raises(jinja2.TemplateError, match="System message must be at the beginning"):
        template.render(messages=template_rows(rows))
    assert "be brief\n\nbe kind" in template.render(messages=one_system_row(template_rows(rows)))
