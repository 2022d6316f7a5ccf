"""Colours, hatches and axes of every figure."""

from __future__ import annotations

from matplotlib.axes import Axes

PAPER, INK, MARGIN, WITHHELD = "#ffffff", "#1b2a38", "#e9eef2", "#35506b"
ALARM, ASKED = "#b3261e", "#e0a458"
# Colour and hatch of each series; the hatches differ, so that figures can be read without colour.
LOOKS = ((ALARM, ""), ("#8fa3b5", "///"), (ASKED, "..."), ("#3d6b8f", "\\\\\\"), ("#6b4d8f", "xxx"))


def plain(axes: Axes, title: str = "", axis: str = "") -> None:
    """Remove the box around axes, and set their title and the label of their heights."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)
    axes.set_ylabel(axis, color=INK, fontsize=9)
    axes.set_title(title, color=INK, fontsize=10, loc="left")
