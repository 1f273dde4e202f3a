"""Tables: aligned for a terminal, and at the same time Markdown."""


def render(head, rows):
    """A Markdown table whose columns line up; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = [_line(cells[0], widths)]
    lines.append("|" + "|".join("-" * (width + 1) + (":" if column else "-") for column, width in enumerate(widths)) + "|")
    lines += [_line(row, widths) for row in cells[1:]]
    return "\n".join(lines)


def _line(row, widths):
    cells = [cell.rjust(width) if column else cell.ljust(width) for column, (cell, width) in enumerate(zip(row, widths))]
    return "| " + " | ".join(cells) + " |"


def percent(share, digits=0):
    """A share as a percentage, or a dash."""
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def number(value, digits=2):
    """A number, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def interval(bounds, digits=2):
    """An interval, or a dash."""
    return "–" if bounds is None else f"{bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}"


def at_least(value, target, digits=2):
    """A target from below, with met or missed."""
    if value is None:
        return f">= {target:.{digits}f}: not measured"
    return f">= {target:.{digits}f}: {'met' if value >= target else 'missed'}"


def at_most(value, target, unit=""):
    """A target from above, with met or missed."""
    if value is None:
        return f"<= {target:g}{unit}: not measured"
    return f"<= {target:g}{unit}: {'met' if value <= target else 'missed'}"
