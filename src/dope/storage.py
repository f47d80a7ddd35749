"""Saving and loading fits: safetensors for arrays, JSON for the rest; nothing is unpickled."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from dope.data import DataError, Design, Grid, OperatorData
from dope.data.grid import Axis
from dope.nuisances import Plan
from dope.operators import FNO, Asked, DeepONet, Operator, Precomputed, Pretrained
from dope.training import Ensemble, Recipe

if TYPE_CHECKING:
    from dope.fitted import Fit

_FORMAT = 1
_ARCHITECTURES: dict[str, type[Operator]] = {"FNO": FNO, "DeepONet": DeepONet}


def save(fit: Fit, path: str | Path) -> None:
    """Write a fit to a folder: `fit.safetensors` and `fit.json`."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    data, arrays, facts = fit.data, {}, {}
    arrays |= {"inputs": data.inputs, "points": data.points, "values": data.values, "fields": fit.fields, "xi": fit.xi}
    arrays |= {"fold": fit.plan.fold, "grid.weights": data.grid.weights}
    for k, axis in enumerate(data.grid.axes):
        arrays |= {f"axis{k}.nodes": axis.nodes, f"axis{k}.weights": axis.weights}
    if data.design is not None:
        parts = {
            "probability": data.design.probability,
            "inclusion": data.design.inclusion,
            "density": data.design.density,
        }
        arrays |= {f"design.{k}": v for k, v in parts.items() if v is not None}
    for name, networks in (("solution", fit.solution), ("weights", fit.weight_networks)):
        if networks is not None:
            arrays |= {f"{name}.p.{k}": v.cpu().numpy() for k, v in networks.parameters.items()}
            arrays |= {f"{name}.b.{k}": v.cpu().numpy() for k, v in networks.buffers.items()}
    facts["format"] = _FORMAT
    facts["axes"] = [{"kind": a.kind, "lower": a.lower, "upper": a.upper} for a in data.grid.axes]
    facts["measure"] = data.grid.measure
    facts["ids"], facts["groups"] = _labels(data.ids), _labels(data.groups)
    facts["plan"] = {"folds": fit.plan.folds, "seed": fit.plan.seed, "validation": fit.plan.validation}
    facts["operator"], facts["weight_operator"] = _describe(fit.operator), _describe(fit.weight_operator)
    facts["recipe"], facts["meta"] = asdict(fit.recipe), dict(fit.meta)
    save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, folder / "fit.safetensors")
    (folder / "fit.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def read(path: str | Path, operator: Pretrained | None) -> dict[str, Any]:
    """The fields of a saved fit, by name."""
    folder = Path(path)
    if not (folder / "fit.json").is_file() or not (folder / "fit.safetensors").is_file():
        raise DataError(f"{folder} holds no saved fit: expected fit.json and fit.safetensors there.")
    facts = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    if facts.get("format") != _FORMAT:
        raise DataError(f"{folder} has format {facts.get('format')!r}, this version of dope reads format {_FORMAT}.")
    try:
        return _assemble(facts, load_file(folder / "fit.safetensors"), operator)
    except (KeyError, ValueError, TypeError, SafetensorError) as error:
        raise DataError(f"the fit in {folder} is damaged or incomplete ({error}): save it again.") from error


def _assemble(facts: dict[str, Any], arrays: dict[str, np.ndarray], operator: Pretrained | None) -> dict[str, Any]:
    axes = tuple(
        Axis(a["kind"], arrays[f"axis{k}.nodes"], arrays[f"axis{k}.weights"], a["lower"], a["upper"])
        for k, a in enumerate(facts["axes"])
    )
    grid = Grid(axes, arrays["grid.weights"], facts["measure"])
    design = {k.removeprefix("design."): v for k, v in arrays.items() if k.startswith("design.")}
    groups = None if facts["groups"] is None else np.asarray(facts["groups"])
    data = OperatorData(
        arrays["inputs"],
        arrays["points"],
        arrays["values"],
        grid=grid,
        groups=groups,
        design=Design(**design) if design else None,
        ids=np.asarray(facts["ids"]),
    )
    described, brought = facts["operator"], operator
    plan = Plan(arrays["fold"], facts["plan"]["folds"], facts["plan"]["seed"], groups, facts["plan"]["validation"])
    if described["kind"] == "predicted" and brought is None:
        brought = Precomputed(arrays["fields"][0])
    rebuilt = _rebuild(described, brought)
    weight_operator = _rebuild(facts["weight_operator"], None)
    return {
        "data": data,
        "operator": rebuilt,
        "weight_operator": weight_operator,
        "recipe": Recipe(**facts["recipe"]),
        "plan": plan,
        "fields": arrays["fields"],
        "xi": arrays["xi"],
        "solution": _ensemble(arrays, "solution", rebuilt, data, positive=False),
        "weight_networks": _ensemble(arrays, "weights", weight_operator, data, positive=True),
        "device": torch.device("cpu"),
        "meta": facts["meta"],
    }


def _labels(labels: np.ndarray | None) -> list[Any] | None:
    """Numbers and words as they are; dates and whatever else a label may be, as words."""
    if labels is None:
        return None
    return [label if isinstance(label, (str, int, float)) else str(label) for label in labels.tolist()]


def _describe(operator: Operator) -> dict[str, Any]:
    if isinstance(operator, Pretrained):
        return {"kind": "predicted" if isinstance(operator, Precomputed) else "pretrained"}
    kind = type(operator).__name__
    if kind not in _ARCHITECTURES:
        raise DataError(f"a fit with operator {kind} cannot be saved: dope does not know how to build it again.")
    return {"kind": kind, "options": asdict(operator)}  # type: ignore[call-overload]


def _rebuild(described: dict[str, Any], brought: Pretrained | None) -> Operator:
    if described["kind"] not in ("pretrained", "predicted"):
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in described["options"].items()}
        return _ARCHITECTURES[described["kind"]](**options)
    if brought is not None:
        return brought

    def absent(_: torch.Tensor) -> torch.Tensor:
        raise DataError(
            "this fit was saved without its pretrained operator: dope.load(path, operator=dope.pretrained(...))."
        )

    return Asked(absent, "channels-first")


def _ensemble(arrays: dict[str, np.ndarray], name: str, operator: Operator, data: OperatorData, *, positive: bool):
    parameters = _state(arrays, f"{name}.p.")
    if not parameters:
        return None
    module = operator.build(data.grid, data.channels, positive=positive)
    return Ensemble(module, parameters, _state(arrays, f"{name}.b."), stackable=True)


def _state(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, torch.Tensor]:
    return {k.removeprefix(prefix): torch.as_tensor(v) for k, v in arrays.items() if k.startswith(prefix)}
