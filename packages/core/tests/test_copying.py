"""Copies and pickles of tensors, and the storages under them."""

import copy
import pickle

import flambeau as fb
import pytest

autograd = pytest.importorskip("flambeau.autograd")


class Tagged(fb.Tensor):
    pass


def by_pickle(protocol):
    return lambda obj: pickle.loads(pickle.dumps(obj, protocol))


def out_of_band(obj):
    buffers = []
    data = pickle.dumps(obj, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(b) for b in buffers])


WAYS = {"deepcopy": copy.deepcopy, **{f"pickle {p}": by_pickle(p) for p in range(2, 6)}, "pickle out of band": out_of_band}
each_way = pytest.mark.parametrize("way", WAYS)


@each_way
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float16", "bfloat16", "float32", "complex128", "float8_e5m2"])
def test_a_copy_equals_its_original_and_has_its_own_memory(way, dtype):
    t = fb.tensor([[1, 0, 1], [0, 1, 1]]).to(getattr(fb, dtype))
    for x in (t, t.t(), t[1:, ::2], t[:0], t[0, 0]):
        y = WAYS[way](x)
        assert type(y) is fb.Tensor and y.dtype is x.dtype and y.shape == x.shape and y.stride() == x.stride()
        assert y.to(fb.complex64).tolist() == x.to(fb.complex64).tolist()
        assert not x.numel() or y.data_ptr() != x.data_ptr()


@each_way
def test_copies_of_views_share_memory_as_the_views_did(way):
    x = fb.arange(6.0).view(2, 3)
    a, b, c = WAYS[way]([x, x.t(), x])
    a[0, 1] = 9
    assert b[1, 0] == 9 and c is a and x[0, 1] == 1


@each_way
def test_a_copy_keeps_the_flag_the_class_and_attributes(way):
    x = fb.ones(2, requires_grad=True)
    x.note = {"t": fb.zeros(1)}
    x.shape  # noqa: B018 - may be cached in the instance
    y = WAYS[way](x)
    assert y.requires_grad and y.is_leaf and y.note["t"].tolist() == [0] and y.note is not x.note
    z = WAYS[way](fb.ones(3).as_subclass(Tagged))
    assert type(z) is Tagged and z.tolist() == [1, 1, 1]


def test_what_the_binding_caches_is_not_copied():
    x = fb.ones(2)
    x.__dict__["shape"] = fb.Size([2])
    x.resize_(2, 1)
    for y in (copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert y.shape == (2, 1)
    assert x.shape == (2, 1) and b"shape" not in pickle.dumps(x)
    x.note = 1
    assert pickle.loads(pickle.dumps(x)).note == 1 and b"shape" not in pickle.dumps(x)


def test_deepcopy_copies_the_gradient_and_pickle_does_not():
    x = fb.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [3, 3] and y.grad is not x.grad
    assert pickle.loads(pickle.dumps(x)).grad is None


def test_deepcopy_of_a_result_is_refused():
    x = fb.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
    assert copy.deepcopy((x * 2).detach()).tolist() == [2, 2]


def test_a_shallow_copy_shares_memory():
    x = fb.zeros(3)
    y = copy.copy(x)
    y[0] = 1
    assert y is not x and x[0] == 1


def test_hooks_are_not_pickled_and_that_is_said():
    x = fb.ones(2, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="hooks"):
        pickle.dumps(x)


def test_tensors_on_meta_are_copied_without_data():
    x = fb.empty(2, 3, device="meta").t()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.is_meta and y.shape == (3, 2) and y.stride() == (1, 3)


# ---- storages ----


def test_views_have_one_storage():
    x = fb.arange(6, dtype=fb.int32)
    s = x.untyped_storage()
    assert s is x[2:].untyped_storage() and s is not x.clone().untyped_storage()
    assert s.nbytes() == len(s) == 24 and s.data_ptr() == x.data_ptr()
    s[0] = 5
    assert x[0] == 5 and s[0] == 5
    assert fb.is_storage(s) and fb.is_storage(x.storage()) and not fb.is_storage(x)


def test_a_typed_storage_reads_elements():
    x = fb.arange(6.0).view(2, 3)
    s = x[1].storage()
    assert s.tolist() == [0, 1, 2, 3, 4, 5] and s.dtype is fb.float32 and s.size() == 6 and s[1] == 1
    s[5] = -1
    assert x[1, 2] == -1
    assert isinstance(fb.FloatStorage([1, 2]), fb.TypedStorage) and fb.LongStorage(3).nbytes() == 24


def test_set_makes_a_tensor_of_a_storage():
    s = fb.tensor([1.0, 2.0, 3.0]).untyped_storage()
    t = fb.empty(0).set_(s, 1, (2,), (1,))
    assert t.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="out of bounds"):
        fb.empty(0).set_(s, 2, (2,), (1,))


def test_a_storage_that_shrinks_stays_safe_and_can_grow():
    x = fb.arange(1000.0)
    s = x.untyped_storage()
    s.resize_(0)
    assert s.nbytes() == 0 and s.tolist() == []
    x.sum()  # the memory is there still
    s.resize_(8000)
    assert s.nbytes() == 8000
    x.fill_(1)
    assert x.sum() == 1000 and len(s) == 8000
    with pytest.raises(RuntimeError, match="not resizable"):
        fb.from_numpy(pytest.importorskip("numpy").zeros(2)).untyped_storage().resize_(64)
    with pytest.raises(ValueError, match="negative"):
        s.resize_(-1)


def test_a_storage_outlives_its_tensor():
    s = fb.tensor([7, 8], dtype=fb.uint8).untyped_storage()
    fb.zeros(100)
    assert s.tolist() == [7, 8]
    assert s.clone().tolist() == [7, 8] and copy.deepcopy(s).data_ptr() != s.data_ptr()
