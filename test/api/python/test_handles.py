"""Closing, threads, the interpreter's lock, fork, messages."""

import gc
import os
import sys
import threading

import numpy as np
import pytest
import sapporo
from reference import plummer
from sapporo import _library
from sapporo._library import lib, text_of

N = 400


def is_open(handle):
    return text_of(lib.sapporo_kind(handle)) != ""


def opened(n=N, **options):
    x, v, mass = plummer(n)
    context = sapporo.Context(**options)
    context.set_particles(x, v=v, mass=mass)
    return context, x, v


def test_with_closes_also_after_an_exception():
    with pytest.raises(ZeroDivisionError), sapporo.Context() as context:
        assert is_open(context._handle)
        raise ZeroDivisionError
    assert context.closed and not is_open(context._handle)


def test_an_object_that_goes_closes_its_handle():
    context = sapporo.Context()
    handle = context._handle
    assert is_open(handle)
    del context
    assert not is_open(handle)
    context, tree = sapporo.Context(), sapporo.Tree(10)
    context.circle, tree.circle = tree, context
    handles = context._handle, tree._handle
    del context, tree
    gc.collect()
    assert not is_open(handles[0]) and text_of(lib.sapporo_tree_kind_text(handles[1])) == ""


def test_a_job_keeps_its_context():
    job = opened()[0].begin(np.ones((1, 3)))
    gc.collect()
    assert np.isfinite(job.result().acc).all()


def test_forces_release_the_interpreters_lock():
    """With a switch interval of an hour another thread runs only while a call has released the lock."""
    context, x, v = opened(8000, precision="dp", threads=1)
    asked, answered = threading.Event(), []

    def answer():
        asked.wait()
        answered.append(True)

    interval = sys.getswitchinterval()
    other = threading.Thread(target=answer)
    other.start()
    try:
        sys.setswitchinterval(3600)
        job = context.begin(x, v=v)
        asked.set()
        sum(k for k in range(100000))
        early = bool(answered)
        for _ in range(50):
            job.result()
            if answered:
                break
            job = context.begin(x, v=v)
        late = bool(answered)
    finally:
        sys.setswitchinterval(interval)
        other.join()
    context.close()
    assert late and not early


def test_threads_with_a_context_each_and_with_one_for_all():
    shared, x, v = opened(threads=1)
    right = shared.force(x, v=v, index=np.arange(N), eps=0.1).acc
    wrong = []

    def work(context):
        for _ in range(20):
            if not (context.force(x, v=v, index=np.arange(N), eps=0.1).acc == right).all():
                wrong.append(context)

    own = [opened(threads=1)[0] for _ in range(3)]
    threads = [threading.Thread(target=work, args=(c,)) for c in [shared, shared, shared, *own]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_uses_the_contexts_of_its_parent():
    context, x, v = opened()
    right = context.force(x, v=v).acc
    child = os.fork()
    if child == 0:
        same = (context.force(x, v=v).acc == right).all()
        handle = context._handle
        del context
        os._exit(0 if same and is_open(handle) else 1)  # a child leaves handles open that it did not open
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (context.force(x, v=v).acc == right).all()


@pytest.fixture
def messages():
    heard = []
    yield heard
    sapporo.set_log(None)


def test_messages(messages, monkeypatch):
    sapporo.set_log(lambda level, text: messages.append((level, text)))
    monkeypatch.setenv("SAPPORO_NO_SUCH", "1")
    lib.sapporo_log(1, b"a warning, \xc3\xa9")
    assert (1, "a warning, \u00e9") in messages
    with pytest.raises(sapporo.ArgumentError):
        sapporo.Context(order=5)
    assert any(level == 0 and "order" in text for level, text in messages)


def test_an_exception_in_a_log_function_harms_nothing(messages, capfd, monkeypatch):
    def fails(level, text):
        raise KeyError(text)

    monkeypatch.setattr(sys, "unraisablehook", lambda told: messages.append(told.exc_type))
    sapporo.set_log(fails)
    lib.sapporo_log(0, b"spoken")
    assert messages == [KeyError]
    sapporo.set_log(None)
    lib.sapporo_log(0, b"to stderr")
    assert "to stderr" in capfd.readouterr().err


def test_handles_that_go_while_a_message_is_given_wait(messages):
    def collects(level, text):
        messages.append(text)
        circle = sapporo_context.pop()
        del circle
        gc.collect()

    sapporo_context = [sapporo.Context()]
    handle = sapporo_context[0]._handle
    sapporo.set_log(collects)
    lib.sapporo_log(0, b"collect")
    sapporo.set_log(None)
    assert messages == ["collect"] and is_open(handle) and len(_library._late) == 1
    sapporo.Context().close()
    assert not is_open(handle) and not _library._late


def test_objects_say_what_they_are():
    x, v, mass = plummer(20)
    with sapporo.Context(precision="dp") as context:
        context.set_particles(x, v=v, mass=mass)
        assert repr(context) == f"<sapporo.Context: {context.kind}, n 20, order 4>"
        assert context.kind.startswith("cpu ") and " dp " in context.kind
        with context.begin(x[:7], h2=1.0) as job:
            assert repr(job) == f"<sapporo.Job: {context.kind}, n 7>"
            force = job.result(lists=True, nearest=True)
            entries = len(force.lists.entries)
        assert repr(job) == "<sapporo.Job: closed>"
        assert repr(force) == "<sapporo.Force: n 7, acc, jerk, pot, nearest, nearest_r2, lists>"
        assert repr(force.lists) == f"<sapporo.NeighbourLists: n 7, {entries} entries>"
        assert repr(sapporo.Force({}, True)) == "<sapporo.Force: partial>"
        assert repr(context.get_particles([0, 1])) == (
            "<sapporo.Particles: derivative: (2, 8, 3), mass: (2,), time: (2,), eps: (2,), index: (2,)>"
        )
    assert repr(context) == "<sapporo.Context: closed>"
    with sapporo.Context(order=2, precision="sp") as context:
        small = sapporo.SmallForce(x[:3], x=x, mass=1.0)
        assert repr(small) == "<sapporo.SmallForce: targets: (3, 3), x: (20, 3), mass: 1.0, eps: 0.0, floor2: 0.0>"
        with context.begin_batch([small, small]) as batch:
            assert repr(batch) == f"<sapporo.Batch: {context.kind}, 2 lists, n 6>"
            assert repr(batch.result()) == "<sapporo.BatchForce: acc: (6, 3), pot: (6,), first: (3,)>"
    with sapporo.Tree(30, precision="dp") as tree:
        tree.set(x, mass)
        tree.build()
        assert repr(tree) == f"<sapporo.Tree: {tree.kind}, n 20>" and " dp " in tree.kind
    with sapporo.Stepper(20, 0.25, precision="dp") as stepper:
        assert repr(stepper) == f"<sapporo.Stepper: {stepper.kind}, n 0, time nan>"
        stepper.set(x, v, mass)
        assert repr(stepper) == f"<sapporo.Stepper: {stepper.kind}, n 20, time 0>" and " dp " in stepper.kind
        assert "x: (20, 3)" in repr(stepper.get()) and "label: (20,)" in repr(stepper.get())
    assert repr(stepper) == "<sapporo.Stepper: closed>"
