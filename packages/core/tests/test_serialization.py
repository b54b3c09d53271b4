"""save and load: files of PyTorch, files of our own, and files that are neither."""

import base64
import collections
import io
import json
import os
import pathlib
import pickle
import struct
import zipfile

import flambeau as fb
import pytest
from hypothesis import given
from hypothesis import strategies as st

THEIRS = json.loads((pathlib.Path(__file__).parent / "torch_files.json").read_text())["files"]


def theirs(name, **options):
    return fb.load(io.BytesIO(base64.b64decode(THEIRS[name])), **options)


def saved(obj, **options):
    buffer = io.BytesIO()
    fb.save(obj, buffer, **options)
    return buffer.getvalue()


def back(obj, **options):
    return fb.load(io.BytesIO(saved(obj)), **options)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride() and a.tolist() == b.tolist()


either = pytest.mark.parametrize("weights_only", [True, False])


# ---- PyTorch's files ----


@either
@pytest.mark.parametrize("name", ["views", "old"])
def test_views_in_a_file_of_pytorch_share_memory(name, weights_only):
    d = theirs(name, weights_only=weights_only)
    assert d["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert d["t"].stride() == (1, 3) and d["wide"].stride() == (0,)
    d["x"][1, 0] = 9
    assert d["t"][0, 1] == 9 and d["row"][0, 0] == 9


@either
def test_every_dtype_of_pytorch_is_read(weights_only):
    for name, t in theirs("dtypes", weights_only=weights_only).items():
        assert t.dtype is getattr(fb, name)
        assert t.float().tolist() == [0, 1, 1 if name == "bool" else 2] if not t.is_complex() else t.tolist() == [0, 1, 2]


@either
def test_a_state_dict_keeps_its_order_and_metadata(weights_only):
    d = theirs("state", weights_only=weights_only)
    assert type(d) is collections.OrderedDict and list(d) == ["weight", "bias"]
    assert d["weight"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    if not weights_only:
        assert d._metadata == {"": {"version": 1}}


@either
def test_plain_objects_of_pytorch_are_read(weights_only):
    d = theirs("plain", weights_only=weights_only)
    assert (d["f"], d["i"], d["big"], d["c"], d["b"], d["set"], d["none"], d["t"]) == (1.5, -5, 2**70, 1j, b"a\xff", {1, 2}, None, (1, ("two",)))
    assert d["count"] == {"a": 2, "b": 1} and d["dtype"] is fb.bfloat16 and d["layout"] is fb.strided and d["bytes"] == b"12"
    assert type(d["size"]) is fb.Size and d["device"] == fb.device("cuda", 1)


@either
def test_odd_tensors_of_pytorch_are_read(weights_only):
    d = theirs("odd", weights_only=weights_only)
    assert d["empty"].shape == (0,) and d["scalar"].item() == 3 and d["meta"].device.type == "meta"
    assert d["tagged"].note == "kept"
    assert d["conj"].tolist() == [1 - 2j] and d["neg"].tolist() == [-2]
    assert list(d["bytes"]) == [1, 2, 3]


# ---- our own ----

DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


@either
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_every_dtype_comes_back(dtype, weights_only):
    t = fb.tensor([[1, 0, 1], [0, 1, 1]]).to(getattr(fb, dtype))
    for x in (t, t.t(), t[:, 1:], t[:0], t[1, 2]):
        y = back(x, weights_only=weights_only)
        assert y.dtype is x.dtype and y.shape == x.shape and y.stride() == x.stride()
        assert y.to(fb.complex64).tolist() == x.to(fb.complex64).tolist()


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner) | st.sets(st.integers()),
    max_leaves=20,
)


@given(json_like, st.sampled_from([2, 3, 4, 5]))
def test_containers_and_numbers_come_back(obj, protocol):
    assert fb.load(io.BytesIO(saved(obj, pickle_protocol=protocol))) == obj


def test_an_object_that_is_shared_or_holds_itself_still_does():
    a = []
    a.append(a)
    shared = {"k": 1}
    r = back([a, shared, shared])
    assert r[0][0] is r[0] and r[1] is r[2]


def test_the_gradient_flag_and_attributes_are_kept():
    x = fb.ones(2)
    x.note = [1, {"a": fb.zeros(1)}]
    y = back(x)
    assert y.note[0] == 1 and y.note[1]["a"].tolist() == [0]
    assert y.shape == (2,) and vars(y).keys() <= {"note", "shape"}
    assert not y.requires_grad


def test_parameters_come_back():
    nn = pytest.importorskip("flambeau.nn")
    p = nn.Parameter(fb.ones(2))
    p.note = 1
    assert p.shape == (2,)  # cached in the instance: no attribute of the user's
    for weights_only in (True, False):
        q = back({"p": p, "q": nn.Parameter(fb.zeros(1), requires_grad=False)}, weights_only=weights_only)
        assert type(q["p"]) is nn.Parameter and q["p"].requires_grad and q["p"].note == 1 and q["p"].tolist() == [1, 1]
        assert type(q["q"]) is nn.Parameter and not q["q"].requires_grad
    text = saved(p)
    assert b"torch._utils\n_rebuild_parameter" in text and b"shape" not in text
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_storages_come_back_and_stay_shared_with_their_tensors():
    x = fb.arange(3, dtype=fb.int16)
    typed, y = back([x.storage(), x])
    assert typed.tolist() == [0, 1, 2]
    y[0] = 7
    assert typed[0] == 7


def test_memory_that_is_seen_as_two_dtypes_is_refused():
    x = fb.zeros(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([x, x.view(fb.int32)])


def test_pickle_names_are_pytorchs():
    obj = {"x": fb.ones(1), "d": fb.float16, "s": fb.Size([1]), "l": fb.strided, "u": fb.zeros(1, dtype=fb.uint16)}
    with zipfile.ZipFile(io.BytesIO(saved(obj))) as z:
        text = z.read("archive/data.pkl")
    for name in (b"torch._utils\n_rebuild_tensor_v2", b"torch\nFloatStorage", b"torch\nfloat16", b"torch\nSize", b"torch.serialization\n_get_layout",
                 b"torch._utils\n_rebuild_tensor_v3", b"torch.storage\nUntypedStorage"):  # fmt: skip
        assert b"c" + name + b"\n" in text
    assert b"flambeau" not in text


def test_every_entry_starts_at_a_multiple_of_64():
    data = saved([fb.ones(3), fb.zeros(5, dtype=fb.int8), fb.ones(100)])
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        assert z.testzip() is None
        for info in z.infolist():
            name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
            assert (info.header_offset + 30 + name + extra) % 64 == 0


def test_a_file_is_the_same_bytes_each_time():
    assert saved({"a": fb.ones(3)}) == saved({"a": fb.ones(3)})


# ---- files ----


@pytest.mark.parametrize("kind", [str, pathlib.Path])
def test_paths_are_saved_to_and_loaded_from(tmp_path, kind):
    path = kind(tmp_path / "a.pt")
    fb.save({"x": fb.ones(2)}, path)
    assert fb.load(path)["x"].tolist() == [1, 1]
    with open(path, "rb") as f:
        assert fb.load(f)["x"].tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["a.pt"]


class Unwilling:
    def __reduce__(self):
        raise ZeroDivisionError


class Breaks(io.BytesIO):
    def write(self, data):
        raise OSError("disk full")


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    fb.save(1, path)
    with pytest.raises(ZeroDivisionError):
        fb.save([fb.ones(2), Unwilling()], path)
    with pytest.raises(OSError, match="disk full"):
        fb.save(2, Breaks())
    monkeypatch.setattr(os, "replace", lambda *names: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fb.save(3, path)
    monkeypatch.undo()
    assert fb.load(path) == 1 and os.listdir(tmp_path) == ["a.pt"]


def test_saving_keeps_permissions_and_links(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    fb.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    fb.save(2, link)
    assert link.is_symlink() and fb.load(path) == 2 and path.stat().st_mode & 0o777 == 0o640


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        fb.save(1, tmp_path / "nowhere" / "a.pt")
    with pytest.raises(FileNotFoundError):
        fb.load(tmp_path / "nowhere.pt")


def test_a_file_object_without_seek_can_be_written():
    class Pipe:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)
            return len(data)

        def flush(self):
            pass

    pipe = Pipe()
    fb.save([fb.arange(3)], pipe)
    assert fb.load(io.BytesIO(pipe.data))[0].tolist() == [0, 1, 2]


def test_a_mapped_file_is_read_and_not_written(tmp_path):
    path = tmp_path / "a.pt"
    fb.save(fb.arange(1000), path)
    before = path.read_bytes()
    x = fb.load(path, mmap=True)
    x += 1
    assert x.sum().item() == 500500 and path.read_bytes() == before
    with pytest.raises(ValueError, match="file path"):
        fb.load(io.BytesIO(before), mmap=True)


# ---- where to ----


def test_map_location_places_storages():
    data = saved({"x": fb.ones(2), "y": fb.zeros(3)})
    for where in ("meta", fb.device("meta"), {"cpu": "meta"}):
        d = fb.load(io.BytesIO(data), map_location=where)
        assert d["x"].device.type == "meta" and d["x"].shape == (2,)
    assert fb.load(io.BytesIO(data), map_location={"cuda:0": "meta"})["x"].device.type == "cpu"
    seen = []

    def place(storage, location):
        seen.append((storage.nbytes(), location))
        return fb.UntypedStorage(storage.nbytes(), device="meta") if storage.nbytes() == 8 else None

    d = fb.load(io.BytesIO(data), map_location=place)
    assert seen == [(8, "cpu"), (12, "cpu")] and d["x"].is_meta and not d["y"].is_meta
    with pytest.raises(TypeError, match="map_location"):
        fb.load(io.BytesIO(data), map_location=3)


def test_memory_of_a_missing_device_is_refused_but_can_be_mapped():
    data = saved({"x": fb.ones(2)})
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        entries = {i.filename: z.read(i) for i in z.infolist()}
    entries["archive/data.pkl"] = entries["archive/data.pkl"].replace(b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:0")
    other = archive(entries)
    with pytest.raises(RuntimeError, match="CUDA device .* map_location"):
        fb.load(io.BytesIO(other))
    assert fb.load(io.BytesIO(other), map_location="cpu")["x"].tolist() == [1, 1]


def test_the_other_byte_order_is_read():
    data = saved({"x": fb.tensor([1.0, 2.0]), "z": fb.tensor([1 + 2j])})
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        entries = {i.filename: z.read(i) for i in z.infolist()}
    entries["archive/byteorder"] = b"big"
    for key in ("archive/data/0", "archive/data/1"):
        entries[key] = struct.pack(f">{len(entries[key]) // 4}f", *struct.unpack(f"<{len(entries[key]) // 4}f", entries[key]))
    d = fb.load(io.BytesIO(archive(entries)))
    assert d["x"].tolist() == [1, 2] and d["z"].tolist() == [1 + 2j]


# ---- files that should not be trusted ----


def archive(entries, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as z:
        for name, data in entries.items():
            z.writestr(name, data)
    return buffer.getvalue()


def with_pickle(text, storages=None):
    return archive({"a/data.pkl": text, "a/byteorder": b"little", "a/version": b"3\n", **{f"a/data/{k}": v for k, v in (storages or {}).items()}})


STORAGE = b"((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\x000X\3\0\0\0cpuK%ctQ"
REBUILD = b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n"
ODICT = b"ccollections\nOrderedDict\n)R"


def tensor_pickle(numel=2, offset=b"K\0", size=b"K\2\x85", stride=b"K\1\x85", flag=b"\x89"):
    return REBUILD + STORAGE % numel + offset + size + stride + flag + ODICT + b"tR."


def test_the_hand_written_pickle_is_a_tensor():
    assert fb.load(io.BytesIO(with_pickle(tensor_pickle(), {"0": struct.pack("<2f", 1, 2)}))).tolist() == [1, 2]


FORGED = {
    "an offset beyond the storage": (tensor_pickle(offset=b"K\1"), RuntimeError, "out of bounds"),
    "a negative offset": (tensor_pickle(offset=b"J\xff\xff\xff\xff"), pickle.UnpicklingError, "storage_offset"),
    "a size beyond the storage": (tensor_pickle(size=b"K\3\x85"), RuntimeError, "out of bounds"),
    "a negative size": (tensor_pickle(size=b"J\xff\xff\xff\xff\x85"), pickle.UnpicklingError, "size"),
    "a stride beyond the storage": (tensor_pickle(stride=b"K\2\x85"), RuntimeError, "out of bounds"),
    "a negative stride": (tensor_pickle(stride=b"J\xff\xff\xff\xff\x85"), pickle.UnpicklingError, "stride"),
    "an overflowing stride": (tensor_pickle(stride=b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"), RuntimeError, None),
    "a stride too long for int64": (tensor_pickle(stride=b"\x8a\x09\0\0\0\0\0\0\0\0\x01\x85"), pickle.UnpicklingError, "stride"),
    "an overflowing size": (tensor_pickle(size=b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fM\xff\xff\x86", stride=b"K\0K\0\x86"), RuntimeError, None),
    "sizes and strides of different length": (tensor_pickle(size=b"K\1K\1\x86"), pickle.UnpicklingError, "same length"),
    "a boolean as size": (tensor_pickle(size=b"\x88\x85"), pickle.UnpicklingError, "size"),
    "a number as a flag": (tensor_pickle(flag=b"K\1"), pickle.UnpicklingError, "requires_grad"),
    "a storage that is too short": (tensor_pickle(numel=3), RuntimeError, "12 are needed"),
    "a storage that is missing": (tensor_pickle().replace(b"X\1\0\0\x000", b"X\1\0\0\x007"), RuntimeError, "not found"),
    "a path out of the archive": (tensor_pickle().replace(b"X\1\0\0\x000", b"X\5\0\0\0../.."), RuntimeError, "not found"),
    "a function": (b"\x80\2cos\nsystem\nX\4\0\0\0echo\x85R.", pickle.UnpicklingError, "os.system"),
    "a builtin": (b"\x80\2cbuiltins\neval\nX\1\0\0\x001\x85R.", pickle.UnpicklingError, "builtins.eval"),
    "our own function": (b"\x80\2cflambeau\nload\nX\1\0\0\x001\x85R.", pickle.UnpicklingError, "flambeau.load"),
    "a function of PyTorch's": (b"\x80\2ctorch.hub\nload\nX\1\0\0\x001\x85R.", pickle.UnpicklingError, "torch.hub.load"),
    "a private name": (b"\x80\2ctorch\n__builtins__\n.", pickle.UnpicklingError, "not an allowed global"),
    "a call of data": (b"\x80\2K\1)R.", pickle.UnpicklingError, "not an allowed function"),
    "a call of a class that is only a name": (b"\x80\2ctorch\nTensor\n)R.", pickle.UnpicklingError, "not an allowed function"),
    "a state for a class": (b"\x80\2ctorch\nTensor\n}X\3\0\0\0addK\1sb.", pickle.UnpicklingError, "only build"),
    "a state for a function": (b"\x80\2ctorch._utils\n_rebuild_tensor_v2\n}b.", pickle.UnpicklingError, "only build"),
    "a state that hides a method": (tensor_pickle()[:-1] + b"}X\5\0\0\0numelK\1sb.", pickle.UnpicklingError, "hide"),
    "an encoding that is no bytes": (b"\x80\2c_codecs\nencode\nX\1\0\0\0aX\4\0\0\0zlib\x86R.", pickle.UnpicklingError, "latin1"),
    "a huge bytearray": (b"\x80\2c__builtin__\nbytearray\n\x8a\x06\0\0\0\0\0\x7f\x85R.", pickle.UnpicklingError, "bytearray"),
    "a huge string": (b"\x80\2X\xff\xff\xff\xff.", pickle.UnpicklingError, "bytes in a pickle"),
    "an unknown opcode": (b"\x80\2P1\n.", pickle.UnpicklingError, "Unsupported operand"),
    "an empty stack": (b"\x80\2.", pickle.UnpicklingError, "stack"),
    "no end": (b"\x80\2K\1", EOFError, "STOP"),
    "a memo that is not set": (b"\x80\2h\7.", pickle.UnpicklingError, "memo"),
    "a persistent id that is none": (b"\x80\2K\1Q.", pickle.UnpicklingError, "persistent id"),
    "text that is no UTF-8": (b"\x80\2X\1\0\0\0\xff.", pickle.UnpicklingError, "damaged"),
    "a list as a key": (b"\x80\2}]K\1s.", pickle.UnpicklingError, "key"),
    "items set on a string": (b"\x80\2X\1\0\0\0aK\1K\1s.", pickle.UnpicklingError, "can only set items"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused(what):
    text, error, message = FORGED[what]
    with pytest.raises(error, match=message):
        fb.load(io.BytesIO(with_pickle(text, {"0": struct.pack("<2f", 1, 2)})))


def test_memory_is_not_taken_for_claims():
    fb.empty_cache()
    # a storage of 2**40 elements
    claim = REBUILD + STORAGE.replace(b"K%c", b"\x8a\x06\0\0\0\0\0\x01") + b"K\0K\2\x85K\1\x85\x89" + ODICT + b"tR."
    with pytest.raises(RuntimeError, match="are needed"):
        fb.load(io.BytesIO(with_pickle(claim, {"0": b"12345678"})))
    assert fb.memory_stats()["allocated"] < 2**30


@pytest.mark.parametrize("data,error", [(b"", EOFError), (b"abc", pickle.UnpicklingError), (b"PK\3\4abcdef", RuntimeError)])
def test_a_file_that_is_none_is_refused(data, error):
    with pytest.raises(error):
        fb.load(io.BytesIO(data))


def test_a_zip_file_of_something_else_is_refused():
    with pytest.raises(RuntimeError, match="data.pkl"):
        fb.load(io.BytesIO(archive({"a/readme": b"hello"})))
    with pytest.raises(RuntimeError, match="jit.load"):
        fb.load(io.BytesIO(archive({"a/data.pkl": b"\x80\2N.", "a/constants.pkl": b""})))


def test_a_compressed_archive_is_read():
    data = archive({"a/data.pkl": tensor_pickle(), "a/data/0": struct.pack("<2f", 1, 2)}, zipfile.ZIP_DEFLATED)
    assert fb.load(io.BytesIO(data)).tolist() == [1, 2]


@given(st.data())
def test_damaged_files_never_do_more_than_raise(data):
    source = bytearray(base64.b64decode(THEIRS[data.draw(st.sampled_from(["views", "odd", "old"]))]))
    for _ in range(data.draw(st.integers(1, 3))):
        source[data.draw(st.integers(0, len(source) - 1))] = data.draw(st.integers(0, 255))
    try:
        fb.load(io.BytesIO(bytes(source[: data.draw(st.integers(1, len(source)))])))
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError):
        pass


# ---- what a user allows ----


class Thing:
    def __init__(self, a=0):
        self.a = a


def test_a_class_is_loaded_once_allowed():
    data = saved([Thing(3)])
    with pytest.raises(pickle.UnpicklingError, match="Thing was not an allowed global"):
        fb.load(io.BytesIO(data))
    with fb.serialization.safe_globals([Thing]):
        (thing,) = fb.load(io.BytesIO(data))
        assert type(thing) is Thing and thing.a == 3 and fb.serialization.get_safe_globals() == [Thing]
    assert fb.serialization.get_safe_globals() == []
    assert fb.load(io.BytesIO(data), weights_only=False)[0].a == 3
    assert fb.load(io.BytesIO(data), pickle_module=pickle)[0].a == 3


def test_arguments_that_contradict_are_refused():
    with pytest.raises(RuntimeError, match="pickle_module"):
        fb.load(io.BytesIO(saved(1)), pickle_module=pickle, weights_only=True)
    with pytest.raises(AttributeError, match="'f'"):
        fb.save(1, 3)
    with pytest.raises(AttributeError, match="'read'"):
        fb.load(3)
