"""Pictures of a study: they show the table's numbers, and change nothing else."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from dope.data import DataError
from dope.studies import STUDIES, pictures, save_figures
from dope.studies import panels as draw
from dope.studies.results import Results
from dope.studies.slopes import slopes
from dope.studies.table import summarise


@pytest.fixture
def found(rows_of):
    def make(name, **how):
        rows = rows_of(name, **how)
        return Results(tuple(summarise(rows)), tuple(slopes(rows)))

    return make


@pytest.fixture
def ax():
    return Figure().add_subplot()


def group_of(found, functional, setting=None):
    return [s for s in found.table if s.functional == functional and setting in (None, s.setting)]


def lines_of(ax):
    """{label: (x, y)} of everything in the legend; error bars are containers of a line."""
    handles, labels = ax.get_legend_handles_labels()
    lines = [h[0] if isinstance(h, tuple) else h for h in handles]
    return {label: (line.get_xdata(), line.get_ydata()) for label, line in zip(labels, lines, strict=True)}


@pytest.mark.parametrize(
    ("measure", "number"), [(draw.rmse, "rmse"), (draw.ratio, "ratio_to_floor"), (draw.coverage, "coverage")]
)
def test_a_line_holds_the_tables_numbers(found, ax, measure, number):
    group = group_of(found("rates"), "tat", "n")
    assert measure(group, ax) is ax
    x, y = lines_of(ax)["plug-in"]
    ours = [s for s in group if s.estimator == "plugin"]
    assert list(x) == [s.value for s in ours] == [64, 256, 1024, 4096]
    assert list(y) == [getattr(s, number) for s in ours]


def test_published_figures_are_hollow_and_the_floor_is_dashed(found, ax):
    group = group_of(found("pk-ppi"), "auc")
    draw.rmse(group, ax)
    handles, labels = ax.get_legend_handles_labels()
    published = handles[labels.index("plug-in, published")]
    assert published.get_markerfacecolor() == "none"
    assert list(published.get_ydata()) == [s.published_rmse for s in group if s.estimator == "plugin"]
    floor = handles[labels.index("floor (true values)")]
    assert floor.is_dashed()
    assert list(floor.get_ydata()) == [s.rmse for s in group if s.estimator == "floor"]


def test_bars_are_two_standard_errors_and_stay_above_zero(found, ax, row):
    rows = [row(repeat=k, value=v, estimate=0.2 + e) for v in (0.0, 1.0) for k, e in enumerate((0.01, 0.012, 0.011))]
    rows += [row(repeat=k, value=v, estimator="direct", estimate=0.2 + e) for v in (0.0, 1.0)
             for k, e in enumerate((0.0, 0.0, 0.3))]  # fmt: skip
    table = summarise(rows)
    draw.rmse(table, ax)
    for bars, name in zip(ax.containers, ("plugin", "direct"), strict=True):
        s = next(s for s in table if s.estimator == name)
        low, high = bars[2][0].get_segments()[0][:, 1]
        assert high == pytest.approx(s.rmse + 2 * s.rmse_se)
        assert low > 0
    assert ax.containers[0][2][0].get_segments()[0][0, 1] == pytest.approx(table[0].rmse - 2 * table[0].rmse_se)


def test_robustness_shows_the_bias_and_a_line_of_the_fitted_slope(row, ax):
    rows = [row(study="robustness", setting="delta", value=d, repeat=k, estimator=e, estimate=x)
            for k in range(3) for d in (0.0, 0.2, 0.5)
            for e, x in (("floor", 0.1 * k), ("plugin S", 0.1 * k - 0.01 * (1 + d)))]  # fmt: skip
    assert draw.robustness(slopes(rows), ax) is ax
    (label,) = lines_of(ax)
    assert label == "plug-in, S: 1.00 (0.00)"
    x, y = lines_of(ax)[label]
    np.testing.assert_allclose(x, [1.0, 1.2, 1.5])
    np.testing.assert_allclose(y, [0.01, 0.012, 0.015])
    fitted = ax.lines[-1].get_ydata()
    np.testing.assert_allclose(fitted, y)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    ticks = [ax.xaxis.get_major_formatter()(v, 0) for v in ax.get_xticks()]
    assert ticks == ["0", "0.2", "0.5"]


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_has_pictures_that_can_be_drawn(found, name):
    made = list(pictures(found(name, repeats=2)))
    assert made
    assert len({p.name for p in made}) == len(made)
    for picture in made:
        fig = Figure(figsize=picture.size, layout="constrained")
        picture.draw(fig)
        assert all(ax.has_data() for ax in fig.axes)
        fig.canvas.draw()
        width = fig.get_figwidth() * fig.dpi
        for legend in fig.legends:  # no entry is cut off
            box = legend.get_window_extent()
            assert box.x0 >= 0
            assert box.x1 <= width


def test_shift_has_a_column_for_each_size_of_the_shift(found):
    (tat,) = [p for p in pictures(found("shift", repeats=2)) if p.name == "shift-tat-recommended"]
    fig = Figure(figsize=tat.size)
    tat.draw(fig)
    assert [ax.get_title(loc="left") for ax in fig.axes][:3] == ["tat, s=0", "tat, s=0.1", "tat, s=0.25"]
    assert [fig.axes[k].get_ylabel() for k in (0, 3)] == ["RMSE", "coverage"]


def test_one_setting_has_no_picture(row):
    assert list(pictures(Results(tuple(summarise([row(), row(repeat=1)]))))) == []


def test_figures_are_written_as_svg_and_png_and_again_the_same(found, tmp_path):
    results = found("robustness")
    files = save_figures(results, tmp_path / "new" / "folder")
    assert [f.name for f in files] == ["robustness-recommended.svg", "robustness-recommended.png"]
    assert files[0].read_text("utf-8").lstrip().startswith("<?xml")
    assert files[1].read_bytes().startswith(b"\x89PNG")
    before = [f.read_bytes() for f in files]
    assert [f.read_bytes() for f in save_figures(results, tmp_path / "new" / "folder")] == before


def test_nothing_global_changes(found, tmp_path):
    before = dict(matplotlib.rcParams)
    save_figures(found("darcy", repeats=2), tmp_path)
    assert dict(matplotlib.rcParams) == before


def test_a_folder_that_cannot_be_written_is_told(found, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="figures cannot be written to"):
        save_figures(found("darcy", repeats=2), tmp_path / "file")
