"""Sequential, lists and dicts of modules and parameters."""

from collections import OrderedDict

import flambeau as fb
import pytest
from flambeau import nn
from hypothesis import given
from hypothesis import strategies as st


def layers(n):
    return [nn.Linear(1, i + 1) for i in range(n)]


# What a list does, a ModuleList does: each step is applied to both.
STEPS = {
    "append": lambda x, m: x.append(m),
    "insert 1": lambda x, m: x.insert(min(1, len(x)), m),
    "insert -1": lambda x, m: x.insert(-1, m) if len(x) else x.append(m),
    "extend": lambda x, m: x.extend([m, m]),
    "pop": lambda x, m: x.pop(0) if len(x) else None,
    "set": lambda x, m: x.__setitem__(-1, m) if len(x) else None,
    "delete": lambda x, m: x.__delitem__(len(x) // 2) if len(x) else None,
    "delete slice": lambda x, m: x.__delitem__(slice(0, None, 2)),
}


@pytest.mark.parametrize("cls", [nn.ModuleList, nn.Sequential])
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
def test_a_list_of_modules_is_a_list(cls, steps):
    plain, modules = layers(3), None
    modules = nn.ModuleList(plain) if cls is nn.ModuleList else nn.Sequential(*plain)
    for step in steps:
        module = nn.Linear(1, 1)
        STEPS[step](plain, module)
        STEPS[step](modules, module)
        assert list(modules) == plain and len(modules) == len(plain)
        assert list(modules._modules) == [str(i) for i in range(len(plain))]
        assert all(modules[i] is plain[i] for i in range(-len(plain), len(plain)))
        assert list(modules[1:]) == plain[1:]
    with pytest.raises(IndexError):
        modules[len(plain)]


def test_sequential_runs_its_modules_in_turn():
    a, b = nn.Linear(2, 3), nn.Linear(3, 1)
    x = fb.ones(1, 2)
    assert fb.equal(nn.Sequential(a, nn.ReLU(), b)(x), b(a(x).relu()))
    named = nn.Sequential(OrderedDict(first=a, second=b))
    assert named.first is a and [n for n, _ in named.named_children()] == ["first", "second"]
    assert [n for n, _ in named[:1].named_children()] == ["first"]


def test_sequentials_add_and_multiply():
    a, b = nn.Sequential(*layers(2)), nn.Sequential(*layers(1))
    assert list(a + b) == [*a, *b] and list(a * 2) == [*a, *a] == list(2 * a)
    before = [*a]
    a += b
    assert list(a) == [*before, *b]
    b *= 3
    assert len(b) == 3 and b[0] is b[2]
    for bad, error in ((0, ValueError), ("2", TypeError)):
        with pytest.raises(error):
            a * bad
    with pytest.raises(ValueError):
        a + layers(1)


def test_a_list_of_equal_modules_is_printed_short():
    text = repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()]))
    assert text == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_a_module_dict_keeps_its_order():
    modules = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    assert list(modules) == ["b", "a"] and "b" in modules and len(modules) == 2
    modules.update([("c", nn.ReLU())])
    modules["b"] = nn.Tanh()
    assert list(modules.keys()) == ["b", "a", "c"] and isinstance(modules.b, nn.Tanh)
    assert isinstance(modules.pop("a"), nn.Tanh) and [k for k, _ in modules.items()] == ["b", "c"]
    modules.clear()
    assert list(modules.values()) == [] and not hasattr(modules, "b")
    for bad, error in ((3, TypeError), ([1], TypeError), ([("a",)], ValueError)):
        with pytest.raises(error):
            modules.update(bad)


def test_a_parameter_list_registers_tensors_and_keeps_the_rest():
    params = nn.ParameterList([fb.ones(2), 3])
    params.append(nn.Parameter(fb.ones(3)))
    params += [fb.zeros(1)]
    assert len(params) == 4 and list(params.state_dict()) == ["0", "2", "3"] and params[1] == 3
    params[0] = fb.ones(5)
    assert params[0].shape == (5,) and isinstance(params[-1], nn.Parameter)
    assert [p.shape[0] for p in params[2:]] == [3, 1] and params[2] is params[2:][0]
    assert "(1): Object of type: int" in repr(params) and "containing: [torch.float32 of size 3]" in repr(
        params
    ).replace("flambeau.", "torch.")
    for call in (lambda: params[9], lambda: params["0"], lambda: params.extend(3), lambda: params(1)):
        with pytest.raises((IndexError, TypeError, RuntimeError)):
            call()


def test_a_parameter_dict_is_a_dict():
    params = nn.ParameterDict({"b": fb.ones(2), "a": 3})
    assert list(params) == ["a", "b"] and list(reversed(params)) == ["b", "a"]  # plain dicts are sorted
    assert list(nn.ParameterDict(OrderedDict(b=1, a=2))) == ["b", "a"]
    params["c"] = fb.zeros(1)
    assert "c" in params and list(params.state_dict()) == ["b", "c"] and params.get("x", 7) == 7
    assert params.setdefault("d", 1) == 1 and params.popitem() == ("d", 1) and params.pop("a") == 3
    merged = params | nn.ParameterDict({"z": 1})
    assert list(merged) == ["b", "c", "z"] and merged["b"] is params["b"] and len(params) == 2
    params |= nn.ParameterDict({"y": 2})
    assert params.fromkeys(["k"], 1)["k"] == 1 and list(params.values())[-1] == 2
    params.clear()
    assert len(params) == 0 and params.state_dict() == {}
    for call, error in (
        (lambda: params.update(3), TypeError),
        (lambda: params["q"], AttributeError),
        (lambda: params(1), RuntimeError),
    ):
        with pytest.raises(error):
            call()
