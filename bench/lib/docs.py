"""Puts tables between the markers `<!-- NAME -->` and `<!-- /NAME -->` of a document."""

import pathlib

MEASURING = pathlib.Path(__file__).resolve().parents[2] / "docs" / "measuring.md"


def replace(name, text, path=MEASURING):
    """Replaces what stands between the markers of `name`."""
    document = path.read_text(encoding="utf-8")
    opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = document.partition(opening)
    _, ends, after = rest.partition(closing)
    if not found or not ends:
        raise SystemExit(f"{path.name} has no markers {opening.strip()} and {closing}")
    path.write_text(f"{before}{opening}\n{text}\n\n{closing}{after}", encoding="utf-8")
