"""Who works: this process, processes of this machine, or a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from dope.data import DataError
from dope.studies.cell import Cell, Failure, Row, alike, run_block, use_one_thread

Outcome = list[Row] | Failure
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# Solution operators that train side by side: on a GPU more than keep it busy, few enough that a block lasts about a
# minute; on a core enough to share what a step costs besides arithmetic.
_NETWORKS = {"cuda": 2500, "cpu": 20}


def outcomes(cells: Sequence[Cell], executor: str, workers: int | None, code: str) -> Iterator[tuple[Cell, Outcome]]:
    """Every cell with what came out of it, in the order in which they end."""
    parts = blocks(cells)
    if executor == "serial":
        for block in parts:
            yield from zip(block, run_block(block, code), strict=True)
        return
    if executor == "local":
        count = min(workers or cores(), len(parts))
        with _processes(count) as pool:
            yield from _through(pool, parts, 2 * count, code)
        return
    scheme, _, address = executor.partition(":")
    if scheme != "dask" or not address:
        raise DataError(f"executor must be serial, local or dask:ADDRESS, got {executor!r}.")
    with _dask(address) as (pool, count):
        yield from _through(pool, parts, 2 * (workers or count), code)


def blocks(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that are trained side by side, the earliest repeats first."""
    together: dict[tuple, list[Cell]] = {}
    for cell in cells:
        together.setdefault(alike(cell), []).append(cell)
    out = []
    for group in together.values():
        networks = _NETWORKS["cuda" if group[0].device.startswith("cuda") else "cpu"]
        size = max(1, networks // (group[0].protocol.folds * group[0].protocol.splits))
        out += [group[start : start + size] for start in range(0, len(group), size)]
    return sorted(out, key=lambda block: block[0].repeat)


def _through(pool: Executor, parts: Sequence[list[Cell]], ahead: int, code: str) -> Iterator[tuple[Cell, Outcome]]:
    """A few blocks in flight at a time: an interrupted run then has little to take back."""
    waiting, flying = deque(parts), {}
    try:
        while waiting or flying:
            while waiting and len(flying) < ahead:
                block = waiting.popleft()
                flying[pool.submit(run_block, block, code)] = block
            done: set[Future] = wait(flying, return_when=FIRST_COMPLETED).done
            for future in done:
                yield from zip(flying.pop(future), future.result(), strict=True)
    except BrokenProcessPool:
        raise DataError(
            "a worker process ended abruptly, most likely for lack of memory. Finished cells are kept: run the same "
            "command again with fewer --workers."
        ) from None


@contextlib.contextmanager
def _processes(count: int) -> Iterator[Executor]:
    before = {name: os.environ.get(name) for name in _THREADS}
    others = set(multiprocessing.active_children())
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # read when a worker loads its numerical libraries
    # fresh processes: a fork of one that has computed with torch may hang
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin)
    try:
        yield pool
    except BaseException:
        # what is in flight is not waited for: it was not acknowledged, and will be done again
        pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    else:
        pool.shutdown()
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _begin() -> None:
    """A worker's first steps: one thread, ctrl-C left to the parent, and no life after the parent's."""
    use_one_thread()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent) -> None:
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ImportError:
        raise DataError("executor dask:ADDRESS needs Dask: pip install 'dope[dask]'.") from None
    try:
        client = Client(address, timeout=30)
    except (OSError, ValueError) as error:
        raise DataError(f"no Dask scheduler answers at {address!r}: {error}") from None
    with client:
        client.run(use_one_thread)
        threads = client.nthreads()
        # cells are pure, but two equal ones are never asked for: no need for Dask to compare them
        with client.get_executor(pure=False) as pool:
            yield pool, max(1, sum(threads.values()))


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
