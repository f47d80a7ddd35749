"""`dope info`: what a bug report needs, and what a missing feature needs."""

from __future__ import annotations

import os
import platform
import re
import textwrap
from collections.abc import Iterator

_LABEL = 16


def info() -> None:
    """Show versions, devices, threads and what is installed."""
    from dope.cli.terminal import WIDTH

    for label, text in _lines():
        # a value that is too long goes on below itself
        shown = textwrap.wrap(text, WIDTH - _LABEL, break_on_hyphens=False) or [""]
        print("\n".join(f"{label if k == 0 else '':<{_LABEL}}{line}".rstrip() for k, line in enumerate(shown)))


def _lines() -> Iterator[tuple[str, str]]:
    """Label and value; both empty between paragraphs."""
    import torch

    yield "dope", installed("dope") or "not installed: run from a source tree"
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    needed, extras = requirements()
    for name in needed:
        yield name, installed(name) or "MISSING: reinstall dope"
    yield "", ""
    yield "cores", f"{_cores()} of {os.cpu_count()}"
    yield "torch threads", str(torch.get_num_threads())
    yield "CUDA", f"torch built for {torch.version.cuda}" if torch.version.cuda else "torch built without"
    devices = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
    for k, device in enumerate(devices):
        yield f"cuda:{k}", f"{device.name}, {device.total_memory / 2**30:.0f} GiB"
    yield 'device "auto"', "cuda" if devices else "cpu"
    yield "", ""
    for extra, names in extras.items():
        have = [f"{n} {installed(n)}" for n in names if installed(n)]
        missing = [n for n in names if not installed(n)]
        parts = [", ".join(have)] if have else []
        parts += [f"{', '.join(missing)} not installed: pip install 'dope[{extra}]'"] if missing else []
        yield f"extra {extra}", "; ".join(parts)


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """What dope needs, and what each extra for users adds, as the installed package itself says."""
    from importlib.metadata import requires

    needed, extras = [], {}
    for line in requires("dope") or []:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"""extra\s*==\s*['"]([\w-]+)['"]""", line)
        if name is None or (extra and extra[1] in ("dev", "docs")):
            continue
        if extra:
            extras.setdefault(extra[1], []).append(name[0])
        else:
            needed.append(name[0])
    return needed, extras


def installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cores() -> int:
    # what this process may use, which a container or a batch system may have limited
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
