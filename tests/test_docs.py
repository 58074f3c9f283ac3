"""Every example in the docs is run, and says what really comes out."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = sorted(DOCS.glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([\w./-]*\.md)?(?:#([^)]+))?\)")


def examples(page: Path) -> doctest.DocTest:
    """The page's examples, which share one namespace, as a reader would type them."""
    # Blanked fences keep the line numbers, and end an example's output.
    text = re.sub(r"^```.*$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_are_true(page: Path) -> None:
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(examples(page), out=report.append)
    assert not result.failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fenced_example_is_run(page: Path) -> None:
    run = examples(page).examples
    for language, text in FENCE.findall(page.read_text(encoding="utf-8")):
        assert (">>> " in text) == (language == "pycon"), text
    assert bool(run) == ("```pycon" in page.read_text(encoding="utf-8"))


def test_an_untrue_example_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```pycon\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(AssertionError, match="Expected"):
        test_examples_are_true(page)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for name, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = page.parent / name if name else page
        assert target.is_file(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"


def test_the_page_of_faults_has_an_example_for_each() -> None:
    text = (DOCS / "which-fault-which-cure.md").read_text(encoding="utf-8")
    for provider in ("OpenAI", "Anthropic", "Gemini", "Mistral", "Bedrock"):
        assert re.search(rf"^## {provider}\b", text, re.MULTILINE)
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert len(sections) > 15
    for section in sections:
        assert "\n> " in section, section.splitlines()[0]
    assert len(examples(DOCS / "which-fault-which-cure.md").examples) > 20
