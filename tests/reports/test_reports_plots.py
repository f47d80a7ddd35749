"""Plots: they draw where they are told to, and leave everything else alone."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dope
from dope.reports import palette, plots
from dope.scores import Prediction


@pytest.fixture(autouse=True)
def _nothing_global_changes():
    # asking for the backend would choose one
    settings = {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}
    shown = sys.modules["matplotlib.pyplot"].get_fignums() if "matplotlib.pyplot" in sys.modules else None
    yield
    assert all(matplotlib.rcParams[k] == v for k, v in settings.items())
    if shown is None:
        assert "matplotlib.pyplot" not in sys.modules
    else:
        assert sys.modules["matplotlib.pyplot"].get_fignums() == shown


@pytest.fixture
def ax():
    return Figure().subplots()


def test_plots_return_the_axes_they_were_given(ax, line_estimate, line_fit):
    assert plots.forest(line_estimate, ax) is ax
    assert plots.scores(line_estimate, Figure().subplots(), "soft maximum").get_title(loc="left") == "soft maximum"
    prediction = line_fit.prediction()
    for draw in (lambda a: plots.field(prediction, 3, a), lambda a: plots.weights(prediction, a)):
        own = Figure().subplots()
        assert draw(own) is own
    several = Figure().subplots(1, 2)
    assert list(plots.fields(prediction, [4, 1], several)) == list(several)


def test_a_band_holds_the_share_of_observations_that_it_says(line_fit, plane_fit):
    prediction = line_fit.prediction()
    low, high = plots.residual_band(prediction)
    data = prediction.data
    nodes = data.grid.axes[0].nodes
    at, residual = data.points[data.observed][:, 0], prediction.residual[data.observed]
    inside = (np.interp(at, nodes, low) <= residual) & (residual <= np.interp(at, nodes, high))
    # quantiles of 40 neighbours, off by a place or two at either end
    assert 0.88 <= inside.mean() <= 0.99
    assert plots.residual_band(plane_fit.prediction()) is None
    drawn = plots.field(prediction, 0, Figure().subplots(), band=(low, high), labels=("TIME ($h$)", "DV"))
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == ("TIME ($h$)", "DV")


def test_plots_make_axes_where_none_are_given(line_estimate, line_fit, plane_fit):
    assert len(line_estimate.plot()) == 3
    assert isinstance(line_estimate["soft maximum"].plot(), Axes)
    assert len(line_fit.plot(4)) == 4
    assert len(plane_fit.plot([0, 5])) == 2
    assert isinstance(plots.weights(plane_fit.prediction()), Axes)
    assert isinstance(plots.scores(line_estimate), Axes)


def test_a_forest_shows_estimate_interval_plugin_and_truth(ax, line_estimate):
    plots.forest(line_estimate, ax, truth={"soft maximum": 0.46})
    drawn = np.concatenate([np.atleast_1d(line.get_xdata()) for line in ax.lines])
    for value in (*line_estimate.value, *line_estimate.conf_int().ravel(), *line_estimate.plugin, 0.46):
        assert np.isclose(drawn, value).any()
    assert [t.get_text() for t in ax.get_yticklabels()] == list(line_estimate.names)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["debiased, 95 % interval", "plug-in"]


def test_a_forest_says_when_no_interval_is_bounded(ax, bare_estimate):
    weak = bare_estimate.contrast([[1, 0], [1, -0.56]], names=("a", "b")).ratio(0, 1, method="fieller")
    if np.isfinite(weak.conf_int()).all():
        pytest.skip("this denominator can be told from 0")
    plots.forest(weak, ax)
    assert "no bounded interval" in [t.get_text() for t in ax.texts]
    ax.figure.canvas.draw()


def test_fields_are_drawn_with_their_own_observations(ax, line_fit):
    prediction = line_fit.prediction()
    plots.field(prediction, 7, ax)
    curve, points = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), prediction.field[7])
    np.testing.assert_allclose(points.get_ydata(), prediction.data.values[7])
    np.testing.assert_allclose(points.get_xdata(), prediction.data.points[7, :, 0])


def test_units_run_from_the_best_to_the_worst_predicted(line_fit):
    prediction = line_fit.prediction()
    rms = np.sqrt((prediction.residual**2).mean(1))
    chosen = plots.representative(prediction, 5)
    assert len(chosen) == 5
    assert (np.diff(rms[chosen]) > 0).all()
    assert rms[chosen[0]] == rms.min()
    assert rms[chosen[-1]] == rms.max()


def test_units_without_observations_are_drawn_last_or_not_at_all(line_fit, ax):
    d = line_fit.data
    values = d.values.copy()
    values[2] = np.nan
    data = dope.OperatorData(d.inputs, d.points, values, grid=d.grid)
    prediction = Prediction(data, line_fit.prediction().field, None)
    assert 2 not in plots.representative(prediction, 12)
    plots.field(prediction, 2, ax)
    with pytest.raises(ValueError, match="no design factor"):
        plots.weights(prediction)


def test_three_dimensions_show_their_middle():
    grid = dope.Grid.product(*(dope.Grid.uniform(0, 1, s) for s in (4, 5, 3)))
    rng = np.random.default_rng(0)
    data = dope.OperatorData(rng.normal(size=(4, 1, 4, 5, 3)), rng.uniform(size=(4, 6, 3)), rng.normal(size=(4, 6)),
                             grid=grid)  # fmt: skip
    prediction = Prediction(data, rng.normal(size=(4, 4, 5, 3)), np.ones((4, 4, 5, 3)))
    for axes in plots.fields(prediction, 3):
        np.testing.assert_allclose(axes.collections[0].get_array().T, prediction.field[_unit(axes)][:, :, 1])
    plots.weights(prediction).figure.canvas.draw()


def _unit(axes):
    return int(axes.get_title(loc="left").split()[1].rstrip(","))


def test_even_points_have_relative_density_one():
    from dope.reports.plots.weights import relative_density

    grid = dope.Grid.cells(0, 2, 60)
    points = np.tile(grid.points[:, 0], (3, 1))
    data = dope.OperatorData(np.ones((3, 1, 60)), points, np.ones((3, 60)), grid=grid)
    edges, density = relative_density(data)
    np.testing.assert_allclose(density, 1)
    assert (edges[0], edges[-1]) == (0, 2)


def _luminance(colour):
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return float(np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_words_and_marks_stand_out_from_the_page(colours):
    paper = _luminance(colours.paper)
    contrast = lambda c: (max(_luminance(c), paper) + 0.05) / (min(_luminance(c), paper) + 0.05)  # noqa: E731
    assert min(contrast(c) for c in (colours.ink, colours.muted, colours.debiased)) >= 4.5
    assert min(contrast(c) for c in (colours.plugin, colours.truth)) >= 3
