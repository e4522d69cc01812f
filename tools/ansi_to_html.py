#!/usr/bin/env python3
"""Terminal output with ANSI colours (stdin) as an HTML page that looks like a terminal (stdout)."""
import html
import re
import sys

BASE = ["#1b1d23", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
        "#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#7cc4ff", "#e39bf5", "#6fd3df", "#ffffff"]
# Everything that moves the cursor or sets a mode; only colours (ending in m) are kept.
OTHER = re.compile(r"\x1b\[[0-9;?]*[A-Za-ln-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07|\r")
COLOUR = re.compile(r"\x1b\[([0-9;]*)m")


def palette(number):
    """One of the 256 colours."""
    if number < 16:
        return BASE[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = (0, 95, 135, 175, 215, 255)
    number -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6))


def extended(codes):
    """The colour after 38 or 48, taking its codes from the list."""
    if codes and codes.pop(0) == 5:
        return palette(codes.pop(0))
    red, green, blue = codes[:3]
    del codes[:3]
    return f"#{red:02x}{green:02x}{blue:02x}"


def apply(style, codes):
    codes = codes or [0]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code == 1:
            style["font-weight"] = "bold"
        elif code == 2:
            style["opacity"] = "0.6"
        elif code == 22:
            style.pop("font-weight", None)
            style.pop("opacity", None)
        elif 30 <= code <= 37:
            style["color"] = BASE[code - 30]
        elif 90 <= code <= 97:
            style["color"] = BASE[code - 82]
        elif 40 <= code <= 47:
            style["background"] = BASE[code - 40]
        elif 100 <= code <= 107:
            style["background"] = BASE[code - 92]
        elif code in (38, 48):
            style["color" if code == 38 else "background"] = extended(codes)
        elif code in (39, 49):
            style.pop("color" if code == 39 else "background", None)


def convert(text):
    text = OTHER.sub("", text)
    pieces, style, last = [], {}, 0
    for match in [*COLOUR.finditer(text), None]:
        part = html.escape(text[last:match.start() if match else len(text)])
        if part:
            css = ";".join(f"{key}:{value}" for key, value in style.items())
            pieces.append(f'<span style="{css}">{part}</span>' if css else part)
        if match:
            apply(style, [int(code or 0) for code in match[1].split(";")])
            last = match.end()
    return "".join(pieces)


def main():
    print('<!doctype html><meta charset="utf-8"><style>'
          "body{margin:0;padding:16px 20px;background:#1b1d23;color:#d7dae0}"
          "pre{margin:0;font:15px/1.25 'DejaVu Sans Mono',monospace}</style>"
          f"<pre>{convert(sys.stdin.read())}</pre>")


if __name__ == "__main__":
    main()
