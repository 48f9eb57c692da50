"""Steppers from Python: a run in parts, energy, fields, errors."""

import numpy as np
import pytest
import sapporo


def sphere(n=200):
    rng = np.random.default_rng(3)
    return rng.normal(size=(n, 3)), 0.4 * rng.normal(size=(n, 3)), np.full(n, 1 / n)


def stepper(n=200, **options):
    return sapporo.Stepper(n, 1 / 32, eps=0.1, backend="cpu", **options)


def test_shared_steps_are_those_of_a_loop_over_forces():
    x, v, mass = sphere()
    with stepper(rebuild=1) as s, sapporo.Tree(200, eps=0.1, backend="cpu") as tree:
        s.set(x, v, mass, time=1)
        tree.set(x, mass)
        tree.build()
        acc = tree.force().acc
        for _ in range(4):
            v = v + acc / 64
            x = x + v / 32
            tree.set(x)
            tree.build()
            acc = tree.force().acc
            v = v + acc / 64
        assert s.advance(1.125) == 1.125 == s.time
        now = s.get()
        assert np.array_equal(now.x, x) and np.array_equal(now.v, v) and np.array_equal(now.acc, acc)
        assert s.backend == "cpu" and "octree" in s.kind and "time 1.125" in repr(s)


def test_a_run_in_parts(tmp_path):
    x, v, mass = sphere()
    runs = [stepper(scheme="block", criterion="change", eta=0.05, levels=6) for _ in range(3)]
    for s in runs[:2]:
        s.set(x, v, mass, label=np.arange(200) + 7)
    start = runs[0].energy()
    runs[0].advance(0.25)
    runs[1].advance(np.inf, 5)
    runs[1].save(tmp_path / "run")
    runs[2].restore(tmp_path / "run")
    runs[2].advance(0.25)
    whole, parts = runs[0].get("own"), runs[2].get("own")
    for name in sapporo.Orbits.__dataclass_fields__:
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    assert whole.label[3] == 10 and runs[2].statistics().steps == runs[0].statistics().steps > 8
    assert sum(runs[0].statistics().level) == 200
    assert min(runs[0].statistics().seconds) >= 0 and len(runs[0].statistics().seconds) == 4
    assert abs(runs[0].energy().energy / start.energy - 1) < 1e-2
    later = runs[0].get(runs[0].time + 1 / 256)
    assert 0 < np.abs(later.x - runs[0].get().x).max() < 0.1


def test_a_particle_in_a_field():
    field = sapporo.Field("plummer", 1.0, a=0.5)
    with stepper(1, method="direct", fields=[field]) as s:
        s.set([[1.0, 0, 0]], [[0, 0.8, 0]], 1.0)
        start = s.energy()
        s.advance(4)
        end = s.energy()
        assert abs(end.energy / start.energy - 1) < 1e-3 and start.field == pytest.approx(-1 / np.sqrt(1.25))
        assert end.angular_momentum[2] == pytest.approx(start.angular_momentum[2], rel=1e-12)


def test_particles_come_and_go():
    x, v, mass = sphere()
    with stepper(scheme="hermite4", nearest=True) as s:
        s.set(x[:198], v[:198], mass[:198], label=np.arange(198))
        s.advance(1 / 32)
        before = s.get("own")
        s.remove([5, 3])
        s.add(x[198:], v[198:], 1 / 200, label=[198, 199])
        after = s.get("own")
        kept = np.delete(np.arange(198), [3, 5])
        assert np.array_equal(after.x[:196], before.x[kept]) and np.array_equal(after.acc[:196], before.acc[kept])
        assert after.label.tolist() == [*kept, 198, 199] and (after.nearest[196:] >= 0).all()
        s.remove(197)
        assert s.advance(0.25) == 0.25 and s.statistics().n == 197
        for address in (197, -1, [0, 0], np.arange(197)):
            with pytest.raises(sapporo.ArgumentError):
                s.remove(address)
        with pytest.raises(sapporo.ArgumentError, match="room"):
            s.add(x, v, mass)
        with pytest.raises(sapporo.NotFiniteError):
            s.add([[np.nan, 0, 0]], [[0.0, 0, 0]], 1.0)


def test_errors(tmp_path):
    x, v, mass = sphere()
    with pytest.raises(sapporo.ArgumentError, match="dt"):
        sapporo.Stepper(3, 0)
    with pytest.raises(ValueError, match="scheme"):
        stepper(scheme="individual")
    for accuracy in (0, -1.0):
        with pytest.raises(ValueError, match="accuracy"):
            stepper(accuracy=accuracy)
    s = stepper()
    with pytest.raises(sapporo.ArgumentError, match="no particles"):
        s.advance(1)
    with pytest.raises(sapporo.ArgumentError, match="no such file"):
        s.restore(tmp_path / "none")
    v[3, 1] = np.nan
    with pytest.raises(sapporo.NotFiniteError, match="velocity of particle 3"):
        s.set(x, v, mass)
    with pytest.raises(ValueError, match="when"):
        s.get("then")
    with pytest.raises(ValueError, match="without end"):
        s.advance(np.inf)
    s.close()
    with pytest.raises(sapporo.ClosedError):
        s.energy()


@pytest.mark.parametrize("softening", ["plummer", "spline"])
def test_particles_have_softening_lengths_of_their_own(tmp_path, softening):
    x, v, mass = sphere()
    h = np.where(np.arange(200) % 2, 0.05, 0.4)
    with stepper(softening=softening) as s, sapporo.Tree(200, eps=0.1, softening=softening, backend="cpu") as tree:
        s.set(x, v, mass, eps=h)
        tree.set(x, mass, eps=h)
        tree.build()
        assert np.array_equal(s.get().acc, tree.force().acc)
        assert np.array_equal(s.get().eps, h)
        s.save(tmp_path / "file")
        s.set(x, v, mass)
        assert np.all(s.get().eps == (0.1 if softening == "spline" else 0))
        s.restore(tmp_path / "file")
        assert np.array_equal(s.get().eps, h)


def test_hermite_schemes_keep_neighbours_and_stop_at_close_pairs():
    x, v = [[-1.0, 0.05, 0], [1, 0, 0], [0, 9, 0]], [[1.0, 0, 0], [-1, 0, 0], [0, 0, 0]]
    with sapporo.Stepper(3, 1 / 16, scheme="hermite4", close=0.4, backend="cpu") as s:
        s.set(x, v, 1e-6)
        assert s.get().nearest.tolist() == [1, 0, 0]
        assert len(s.pairs()[0]) == 0
        assert 0.75 < s.advance(1) < 0.9
        pair, distance = s.pairs()
        assert pair.tolist() == [[0, 1]]
        assert 0.05 < distance[0] < 0.4
        now = s.get()
        assert np.allclose(np.linalg.norm(now.x[0] - now.x[1]), distance[0])
        assert now.nearest_r2[0] == distance[0] ** 2 or np.isclose(now.nearest_r2[0], distance[0] ** 2)
    with sapporo.Stepper(3, 1 / 16, scheme="hermite6", nearest=True, iterations=2, backend="cpu") as s:
        s.set(x, v, 1e-6)
        assert s.advance(1) == 1
        nearest = np.empty(3, np.int32)
        assert s.get(out={"nearest": nearest}).nearest is nearest
        with pytest.raises(sapporo.ArgumentError, match="close pairs"):
            s.pairs()
    with stepper() as s:
        s.set(*sphere())
        assert s.get().nearest is None
    with pytest.raises(sapporo.UnsupportedError, match="leap-frogs"):
        stepper(nearest=True)
    with pytest.raises(sapporo.ArgumentError, match="iterations"):
        stepper(scheme="hermite4", iterations=17)
