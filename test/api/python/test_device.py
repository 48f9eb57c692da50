"""Arrays in device memory: the protocols by objects that only claim to be there, and real ones where CUDA is."""

import ctypes

import numpy as np
import pytest
import sapporo
from reference import plummer
from sapporo import _device
from sapporo._device import device_array, require


class Claims:
    """Host memory that claims to be device memory, by `__cuda_array_interface__`."""

    def __init__(self, array, **changes):
        self.array = array
        told = dict(array.__array_interface__, version=3, **changes)
        self.__cuda_array_interface__ = {k: v for k, v in told.items() if k != "descr"}


class ClaimsByDLPack:
    """The same by DLPack."""

    def __init__(self, array, kind=2):
        self.array = array
        self.kind = kind
        self.stream = None

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        self.stream = stream
        return self.array.__dlpack__()


@pytest.mark.parametrize("claims", [Claims, ClaimsByDLPack])
def test_protocols(claims):
    x = np.arange(30.0).reshape(10, 3)
    for array in (x, x[::2], x.T, x.astype(np.float32), np.arange(4, dtype=np.int32), x[:0], x[:1]):
        found = device_array(claims(array), "x")
        assert found.address == array.ctypes.data and found.shape == array.shape and found.dtype == array.dtype
        assert found.contiguous == array.flags.c_contiguous and found.writable
    assert device_array(x, "x") is None and device_array([1.0], "x") is None and device_array(None, "x") is None


def test_what_protocols_cannot_say():
    x = np.zeros((4, 3))
    assert not device_array(Claims(x, data=(x.ctypes.data, True)), "x").writable
    with pytest.raises(TypeError, match="mask"):
        device_array(Claims(x, mask=x), "x")
    with pytest.raises(TypeError, match="DLPack type 10"):  # ROCm
        device_array(ClaimsByDLPack(x, 10), "x")
    assert device_array(ClaimsByDLPack(x, 1), "x") is None
    with pytest.raises(TypeError, match="DLPack"):
        device_array(ClaimsByDLPack(np.zeros(4, complex)), "x")
    asked = ClaimsByDLPack(x)
    device_array(asked, "x")
    assert asked.stream == -1


def test_device_memory_is_not_converted():
    x = np.zeros((4, 3))
    require(device_array(Claims(x), "x"), "x", (None, 3), np.float64, writable=True)
    for wrong in (np.zeros((8, 3))[::2], np.zeros((4, 3), np.float32), np.zeros(4), np.zeros((4, 2))):
        with pytest.raises(ValueError, match="x is in device memory"):
            require(device_array(Claims(wrong), "x"), "x", (None, 3), np.float64)
    with pytest.raises(ValueError, match="read-only"):
        require(device_array(Claims(x, data=(x.ctypes.data, True)), "x"), "x", (4, 3), np.float64, writable=True)


def test_an_engine_without_device_memory_says_so():
    x, _, mass = plummer(100)
    with sapporo.Tree(100) as tree:
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            tree.set(Claims(x), Claims(mass))
        tree.set(x, mass)
        tree.build()
        before = tree.force()
        out = {"acc": Claims(np.zeros((100, 3))), "pot": Claims(np.zeros(100))}
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            tree.force(out=out)
        assert (out["acc"].array == 0).all()
        assert (tree.force().acc == before.acc).all()


def test_a_context_elsewhere_refuses_device_memory():
    x, _, mass = plummer(100)
    with sapporo.Context(order=2, backend="cpu") as context:
        with pytest.raises(sapporo.ArgumentError, match="mass is missing"):
            context.set_particles(Claims(x))
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            context.set_particles(Claims(x), Claims(mass))
        with pytest.raises(TypeError, match="x in device memory, mass in host memory"):
            context.set_particles(Claims(x), mass)
        with pytest.raises(TypeError, match="eps and address"):
            context.set_particles(Claims(x), Claims(mass), eps=0.5)
        with pytest.raises(ValueError, match="mass is in device memory"):
            context.set_particles(Claims(x), Claims(mass[:9]))
        with pytest.raises(TypeError, match="mass is in device memory"):
            context.set_particles(x, Claims(mass))
        context.set_particles(x, mass)
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            context.force(Claims(x))
        with pytest.raises(TypeError, match="eps_i"):
            context.force(Claims(x), eps_i=0.5)
        out = {"acc": Claims(np.zeros((100, 3))), "pot": Claims(np.zeros(100))}
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            context.force(x, out=out)
        assert (out["acc"].array == 0).all()
        with pytest.raises(TypeError, match="it must hold arrays for pot"):
            context.force(x, out={"acc": out["acc"]})


def test_arrays_of_a_call_are_in_one_memory():
    x, _, mass = plummer(100)
    active = Claims(np.arange(5, dtype=np.int32))
    with sapporo.Tree(100) as tree:
        with pytest.raises(TypeError, match="x in device memory, mass in host memory"):
            tree.set(Claims(x), mass)
        tree.set(x, mass)
        tree.build()
        with pytest.raises(TypeError, match="out must hold arrays for acc and pot"):
            tree.force(active)
        with pytest.raises(TypeError, match="out must hold arrays for pot"):
            tree.force(active, out={"acc": Claims(np.zeros((5, 3)))})
        with pytest.raises(TypeError, match="acc in host memory"):
            tree.force(active, out={"acc": np.zeros((5, 3))})
        with pytest.raises(ValueError, match="out of acc"):
            tree.force(active, want=["acc"], out={"acc": Claims(np.zeros((6, 3)))})
        with pytest.raises(TypeError, match="targets must be in host memory"):
            tree.force(targets=x, want=["acc"], out={"acc": Claims(np.zeros((100, 3)))})


def test_a_stepper_elsewhere_refuses_device_memory():
    x, v, mass = plummer(50)
    with sapporo.Stepper(50, 1 / 64, eps=0.1, backend="cpu") as stepper:
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            stepper.set(Claims(x), Claims(v), Claims(mass))
        with pytest.raises(TypeError, match="x, mass in device memory, v in host memory"):
            stepper.set(Claims(x), v, Claims(mass))
        with pytest.raises(ValueError, match="v is in device memory"):
            stepper.set(Claims(x), Claims(v[:9]), Claims(mass))
        stepper.set(x, v, mass)
        right = stepper.get()
        out = {"x": np.zeros((50, 3)), "pot": np.zeros(50), "label": np.zeros(50, np.int64)}
        found = stepper.get(out=out)
        assert all(getattr(found, name) is array for name, array in out.items())
        assert all((getattr(found, name) == getattr(right, name)).all() for name in ("x", "v", "acc", "pot", "label"))
        there = Claims(np.zeros((50, 3)))
        with pytest.raises(sapporo.UnsupportedError, match="memory"):
            stepper.get(out={"x": there})
        assert (there.array == 0).all()
        with pytest.raises(TypeError, match="mass must be in host memory"):
            stepper.get(out={"mass": Claims(np.zeros(50))})
        with pytest.raises(TypeError, match="all arrays of a call"):
            stepper.get(out={"x": there, "v": np.zeros((50, 3))})
        with pytest.raises(ValueError, match="out has 'y'"):
            stepper.get(out={"y": there})


class Driver:
    """A CUDA driver that records its calls."""

    def __init__(self, context=7, failing=None):
        self.context, self.failing, self.calls = context, failing, []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(name)
            if name == "cuPointerGetAttribute":
                answer = arguments[0]._obj
                answer.value = self.context if isinstance(answer, ctypes.c_void_p) else 0
            if name == "cuDevicePrimaryCtxRetain":
                arguments[0]._obj.value = 9
            return 700 if name == self.failing else 0

        return call


def test_streams_of_others_are_waited_for(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(_device, "_driver", lambda: driver)
    _device.wait_for(4096)
    assert driver.calls[2:] == ["cuCtxPushCurrent_v2", "cuCtxSynchronize", "cuCtxPopCurrent_v2"]
    driver = Driver(context=None)  # memory of a pool
    _device.wait_for(4096)
    assert driver.calls[2:4] == ["cuDeviceGet", "cuDevicePrimaryCtxRetain"]
    assert driver.calls[-1] == "cuDevicePrimaryCtxRelease_v2" and "cuCtxSynchronize" in driver.calls
    driver = Driver(failing="cuCtxSynchronize")
    with pytest.raises(sapporo.DeviceError, match="700"):
        _device.wait_for(4096)
    assert driver.calls[-1] == "cuCtxPopCurrent_v2"
    driver = Driver(failing="cuPointerGetAttribute")
    _device.wait_for(4096)
    assert driver.calls == ["cuPointerGetAttribute"]
    monkeypatch.setattr(_device, "_driver", lambda: None)
    _device.wait_for(4096)


# ---- real device memory


class Memory:
    """Device memory by the CUDA driver alone, with `__cuda_array_interface__`."""

    def __init__(self, cuda, array):
        self.cuda, self.array, self.address = cuda, array, ctypes.c_uint64()
        assert cuda.cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(array.nbytes)) == 0
        self.copy("cuMemcpyHtoD_v2", self.address, array.ctypes.data_as(ctypes.c_void_p))
        told = {"shape": array.shape, "typestr": array.dtype.str, "version": 3, "strides": None}
        self.__cuda_array_interface__ = dict(told, data=(self.address.value, False), stream=1)

    def copy(self, name, to, source):
        assert getattr(self.cuda, name)(to, source, ctypes.c_size_t(self.array.nbytes)) == 0

    def read(self):
        array = np.empty_like(self.array)
        self.copy("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), self.address)
        return array


def needs_cuda():
    if not sapporo.devices("cuda"):
        pytest.skip("no CUDA device")
    try:
        sapporo.Tree(1, backend="cuda", devices=[0]).close()
    except sapporo.SapporoError as error:
        pytest.skip(str(error))


@pytest.fixture
def driver_arrays():
    needs_cuda()
    cuda, context, device = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_int()
    assert cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert cuda.cuCtxPushCurrent_v2(context) == 0
    yield lambda array: Memory(cuda, array), lambda array: array.read()
    cuda.cuCtxPopCurrent_v2(ctypes.byref(context))
    cuda.cuDevicePrimaryCtxRelease_v2(device)


@pytest.fixture
def cupy_arrays():
    needs_cuda()
    cupy = pytest.importorskip("cupy")
    return cupy.asarray, cupy.asnumpy


@pytest.fixture
def torch_arrays():
    needs_cuda()
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch without CUDA")
    return lambda array: torch.from_numpy(array).cuda(), lambda array: array.cpu().numpy()


@pytest.mark.parametrize("library", ["driver_arrays", "cupy_arrays", "torch_arrays"])
def test_forces_on_arrays_in_device_memory(library, request):
    to_device, to_host = request.getfixturevalue(library)
    x, _, mass = plummer(5000)
    at = np.arange(0, 5000, 7, dtype=np.int32)
    with sapporo.Tree(5000, eps=0.01, backend="cuda", devices=[0]) as tree:
        tree.set(x, mass)
        tree.build()
        right, right_active = tree.force(), tree.force(at)
        tree.set(to_device(x), to_device(mass))
        tree.build()
        out = {"acc": to_device(np.zeros((5000, 3))), "pot": to_device(np.zeros(5000))}
        force = tree.force(out=out)
        assert force.acc is out["acc"]
        assert (to_host(force.acc) == right.acc).all() and (to_host(force.pot) == right.pot).all()
        only = tree.force(to_device(at), want=["acc"], out={"acc": to_device(np.zeros((len(at), 3)))})
        assert (to_host(only.acc) == right_active.acc).all()
        with pytest.raises(TypeError, match="host memory"):
            tree.set(to_device(x), mass)


@pytest.mark.parametrize("library", ["driver_arrays", "cupy_arrays", "torch_arrays"])
def test_neighbours_in_device_memory(library, request):
    to_device, to_host = request.getfixturevalue(library)
    x, _, mass = plummer(3000)
    at, radius = np.arange(0, 3000, 7, dtype=np.int32), np.linspace(0, 0.4, 3000)
    with sapporo.Tree(3000, backend="cuda", devices=[0]) as tree:
        tree.set(x, mass)
        tree.build()
        for active in (None, at):
            of = radius if active is None else radius[: len(active)]
            right = tree.within(of, active)
            out = {
                "first": to_device(np.zeros(len(of) + 1, dtype=np.int64)),
                "entries": to_device(np.zeros(len(right.entries) + 3, dtype=np.int32)),
            }
            found = tree.within(to_device(of), None if active is None else to_device(active), out=out)
            assert found.first is out["first"]
            assert (to_host(found.first) == right.first).all()
            assert (to_host(found.entries)[:-3] == right.entries).all()
        with pytest.raises(TypeError, match="out must hold arrays for first and entries"):
            tree.within(to_device(radius))


@pytest.mark.parametrize("library", ["driver_arrays", "cupy_arrays", "torch_arrays"])
@pytest.mark.parametrize("order", [2, 4])
def test_direct_sums_of_arrays_in_device_memory(library, order, request):
    to_device, to_host = request.getfixturevalue(library)
    x, v, mass = plummer(5000)
    index = np.arange(5000, dtype=np.int32)
    with sapporo.Context(order=order, backend="cuda", devices=[0]) as context:
        context.set_particles(x, mass, v, index=index)
        right = context.force(x[:900], v=v[:900], index=index[:900], eps=0.01, nearest=True)
        context.clear()
        context.set_particles(to_device(x), to_device(mass), to_device(v), index=to_device(index))
        names = ["acc", "pot", "nearest", "nearest_r2"] + (["jerk"] if order == 4 else [])
        out = {name: to_device(np.zeros_like(getattr(right, name))) for name in names}
        at = {"targets": to_device(x[:900]), "v": to_device(v[:900]), "index": to_device(index[:900])}
        force = context.force(**at, eps=0.01, nearest=True, out=out)
        assert all(getattr(force, name) is out[name] for name in names)
        assert all((to_host(out[name]) == getattr(right, name)).all() for name in names)
        assert (context.get_particles([4321]).x == x[4321]).all()
        context.set_particles(to_device(x[:50] + 1), to_device(mass[:50]), first=100)
        assert (context.get_particles([149]).x == x[49] + 1).all()


@pytest.mark.parametrize("library", ["driver_arrays", "cupy_arrays", "torch_arrays"])
@pytest.mark.parametrize("method", ["tree", "direct"])
def test_a_stepper_takes_and_gives_arrays_in_device_memory(library, method, request):
    to_device, to_host = request.getfixturevalue(library)
    x, v, mass = plummer(3000)
    options = {"method": method, "scheme": "block", "eps": 0.01, "rebuild": 4, "backend": "cuda", "devices": [0]}
    with sapporo.Stepper(3000, 1 / 64, **options) as here, sapporo.Stepper(3000, 1 / 64, **options) as there:
        here.set(x, v, mass)
        there.set(to_device(x), to_device(mass), to_device(v))
        assert here.advance(1 / 32) == there.advance(1 / 32)
        right = here.get()
        out = {name: to_device(np.zeros_like(getattr(right, name))) for name in ("x", "v", "acc", "pot")}
        found = there.get(out=out)
        assert all(getattr(found, name) is array for name, array in out.items())
        assert all((to_host(array) == getattr(right, name)).all() for name, array in out.items())
        assert (found.mass == mass).all() and (found.level == right.level).all()
        only = there.get(out={"x": out["x"]})
        assert only.v is None and only.acc is None and (to_host(only.x) == right.x).all()


@pytest.mark.parametrize("library", ["cupy_arrays", "torch_arrays"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_of_arrays_in_device_memory(library, kind, request):
    """Trees read and write the arrays themselves; direct sums go through host memory.  Results are where x is."""
    to_device, to_host = request.getfixturevalue(library)
    x, _, mass = plummer(3000)
    x, mass = x.astype(kind), mass.astype(kind)
    for words in {"theta": 0.5}, {"theta": 0}, {"theta": 0.5, "targets": x[:9] + 1}:
        for call in sapporo.accelerations, sapporo.potentials:
            right = call(x, mass, 0.01, backend="cuda", **words)
            at = {"targets": to_device(words["targets"])} if "targets" in words else {}
            found = call(to_device(x), to_device(mass), 0.01, backend="cuda", **{**words, **at})
            assert type(found) is type(to_device(x)) and hasattr(found, "__cuda_array_interface__")
            assert to_host(found).dtype == kind and (to_host(found) == right).all()
            every_second = call(to_device(x)[::2], 0.5, 0.01, backend="cuda", **{**words, **at})
            assert (to_host(every_second) == call(x[::2], 0.5, 0.01, backend="cuda", **words)).all()
