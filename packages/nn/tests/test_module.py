"""The module protocol: registration, attributes, state, walking, converting, copying."""

import copy
import pickle

import flambeau as fb
import pytest
from flambeau import nn
from flambeau.nn import Buffer, Module, Parameter
from hypothesis import given
from hypothesis import strategies as st


class Net(Module):
    """A module with one of everything."""

    def __init__(self, n=3):
        super().__init__()
        self.weight = Parameter(fb.ones(n))
        self.register_parameter("absent", None)
        self.register_buffer("mean", fb.zeros(n))
        self.register_buffer("hidden", fb.zeros(n), persistent=False)
        self.count = Buffer(fb.tensor(0))
        self.linear = nn.Linear(n, 2)
        self.plain = "text"

    def forward(self, x):
        return self.linear(x * self.weight)


# -- attributes --------------------------------------------------------------------------------------------------------


def shown(module, name):
    """What every way to ask for an attribute gives, which must be one object."""
    value = getattr(module, name)
    for kind in ("_parameters", "_buffers", "_modules"):
        if name in getattr(module, kind):
            assert getattr(module, kind)[name] is value
    return value


WAYS = {
    "assignment": lambda m, p: setattr(m, "weight", p),
    "the table": lambda m, p: m._parameters.__setitem__("weight", p),
    "table update": lambda m, p: m._parameters.update(weight=p),
    "register_parameter": lambda m, p: m.register_parameter("weight", p),
    "delete, then assign": lambda m, p: (delattr(m, "weight"), setattr(m, "weight", p)),
    "delete in the table, then register": lambda m, p: (m._parameters.pop("weight"), m.register_parameter("weight", p)),
    "another table": lambda m, p: setattr(m, "_parameters", {"weight": p}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("source", ["new", "deepcopy", "pickle"])
def test_a_replaced_parameter_is_seen_everywhere(way, source):
    net = {"new": lambda n: n, "deepcopy": copy.deepcopy, "pickle": lambda n: pickle.loads(pickle.dumps(n))}[source](
        Net()
    )
    new = Parameter(fb.zeros(3))
    WAYS[way](net, new)
    assert shown(net, "weight") is new and dict(net.named_parameters())["weight"] is new
    assert fb.equal(net.eval()(fb.ones(1, 3)), net.linear(fb.zeros(1, 3)))


@pytest.mark.parametrize("kind, name", [("_parameters", "weight"), ("_buffers", "mean"), ("_modules", "linear")])
@pytest.mark.parametrize(
    "delete", [delattr, lambda m, n: [t.pop(n, None) for t in (m._parameters, m._buffers, m._modules)]]
)
def test_a_deleted_entry_is_gone_everywhere(kind, name, delete):
    net = Net()
    delete(net, name)
    assert (
        not hasattr(net, name)
        and name not in getattr(net, kind)
        and not any(k.startswith(name) for k in net.state_dict())
    )
    with pytest.raises(AttributeError, match=f"'Net' object has no attribute '{name}'"):
        getattr(net, name)


def test_clearing_a_table_takes_its_entries_away():
    net = Net()
    net._buffers.clear()
    assert not hasattr(net, "mean") and hasattr(net, "weight")
    name, value = net._parameters.popitem()
    assert (name, value) == ("absent", None) and not hasattr(net, "absent")
    assert net._modules.setdefault("linear", None) is net.linear
    net._modules |= {"other": nn.Tanh()}
    assert isinstance(net.other, nn.Tanh)


def test_a_name_moves_between_kinds_when_it_is_assigned():
    net = Net()
    net.thing = 3
    net.thing = Parameter(fb.ones(1))
    assert "thing" in net._parameters
    net.thing = nn.ReLU()
    assert "thing" not in net._parameters and isinstance(shown(net, "thing"), nn.ReLU)
    net.thing = Parameter(fb.ones(2))
    assert "thing" not in net._modules and shown(net, "thing").shape == (2,)
    net.mean = fb.ones(3)  # a plain tensor goes into the buffer of that name
    assert shown(net, "mean").sum() == 3
    net.weight = None
    assert net._parameters["weight"] is None and net.weight is None


def test_a_plain_attribute_hides_an_entry_until_it_is_taken_away():
    net = Net()
    del net._parameters["weight"]
    net.weight = fb.zeros(3)  # a plain tensor: no parameter any more
    net._parameters["weight"] = Parameter(fb.ones(3))
    assert net.weight.sum() == 0
    del net.__dict__["weight"]
    assert net.weight.sum() == 3


def test_what_the_class_defines_hides_an_entry():
    class Holder(Module):
        def keys(self):
            return "method"

    holder = Holder()
    holder._modules["keys"] = nn.ReLU()
    assert holder.keys() == "method"


@pytest.mark.parametrize(
    "name, value, error",
    [
        ("weight", fb.ones(3), TypeError),
        ("linear", 3, TypeError),
        ("mean", "text", TypeError),
    ],
)
def test_an_entry_takes_only_its_kind(name, value, error):
    with pytest.raises(error, match=name):
        setattr(Net(), name, value)


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
@pytest.mark.parametrize(
    "name, error", [("a.b", KeyError), ("", KeyError), (3, TypeError), ("plain", KeyError), ("forward", KeyError)]
)
def test_a_bad_name_is_refused(register, name, error):
    with pytest.raises(error):
        getattr(Net(), register)(name, None)


@pytest.mark.parametrize(
    "register, value",
    [("register_parameter", 3), ("register_parameter", fb.ones(2)), ("register_buffer", 3), ("add_module", 3)],
)
def test_a_bad_value_is_refused(register, value):
    with pytest.raises(TypeError):
        getattr(Net(), register)("new", value)


def test_a_parameter_must_be_a_leaf():
    grown = Parameter(fb.ones(2)) * 2
    grown._is_param = True  # what marks a tensor of a user's class
    with pytest.raises(ValueError, match="non-leaf"):
        Net().register_parameter("new", grown)


@pytest.mark.parametrize("value", [Parameter(fb.ones(1)), nn.ReLU(), Buffer(fb.ones(1))])
def test_nothing_is_registered_before_init(value):
    class Early(Module):
        def __init__(self):
            self.thing = value

    with pytest.raises(AttributeError, match="before Module.__init__"):
        Early()


def test_init_refuses_arguments_unless_they_are_to_be_passed_on():
    with pytest.raises(TypeError, match="unexpected keyword argument 'n'"):
        Module(n=1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 3"):
        Module(1, 2)

    class Base:
        def __init__(self, n):
            self.n = n

    class Both(Module, Base):
        call_super_init = True

    assert Both(4).n == 4


def test_an_attribute_error_in_a_property_is_not_taken_for_a_missing_property():
    class Shapeless(Module):
        @property
        def size(self):
            return self.weight.shape

    with pytest.raises(AttributeError, match="no attribute 'weight'"):
        print(Shapeless().size)


def test_dir_names_the_entries_but_no_numbers():
    names = dir(nn.ModuleList([nn.ReLU()]))
    assert "0" not in names and "append" in names
    assert {"weight", "mean", "linear", "plain", "_forward_hooks"} <= set(dir(Net()))


# -- walking -----------------------------------------------------------------------------------------------------------


def shared():
    relu, linear = nn.ReLU(), nn.Linear(2, 2)
    return nn.Sequential(relu, linear, relu, nn.Sequential(linear))


def test_each_module_and_parameter_comes_once_unless_duplicates_are_asked_for():
    net = shared()
    assert [n for n, _ in net.named_modules()] == ["", "0", "1", "3"]
    assert [n for n, _ in net.named_modules(remove_duplicate=False)] == ["", "0", "1", "2", "3", "3.0"]
    assert [n for n, _ in net.named_children()] == ["0", "1", "3"]
    assert [n for n, _ in net.named_parameters()] == ["1.weight", "1.bias"]
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert len(list(net.modules())) == 4 and len(list(net.children())) == 3
    assert list(net.parameters(recurse=False)) == []
    assert [n for n, _ in net.named_parameters(prefix="net")] == ["net.1.weight", "net.1.bias"]


def test_lookups_follow_dotted_paths():
    net = nn.Sequential(Net())
    assert net.get_submodule("") is net and net.get_submodule("0.linear") is net[0].linear
    assert net.get_parameter("0.linear.weight") is net[0].linear.weight
    assert net.get_buffer("0.mean") is net[0].mean
    net.set_submodule("0.linear", nn.ReLU())
    assert isinstance(net[0].linear, nn.ReLU)


@pytest.mark.parametrize(
    "call",
    [
        lambda n: n.get_submodule("0.nowhere"),
        lambda n: n.get_submodule("0.plain"),
        lambda n: n.get_parameter("0.mean"),
        lambda n: n.get_parameter("0.nowhere"),
        lambda n: n.get_buffer("0.weight"),
        lambda n: n.get_buffer("0.nowhere"),
        lambda n: n.set_submodule("0.plain", nn.ReLU()),
        lambda n: n.set_submodule("0.new", nn.ReLU(), strict=True),
    ],
)
def test_a_path_that_leads_elsewhere_is_an_attribute_error(call):
    with pytest.raises(AttributeError):
        call(nn.Sequential(Net()))


def test_set_submodule_wants_a_path_and_a_module():
    with pytest.raises(ValueError):
        Net().set_submodule("", nn.ReLU())
    with pytest.raises(ValueError):
        Net().set_submodule("linear", 3)


def test_apply_goes_children_first():
    seen = []
    net = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Tanh())
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["ReLU", "Sequential", "Tanh", "Sequential"]


def test_train_wants_a_bool():
    with pytest.raises(ValueError, match="boolean"):
        Net().train(1)


# -- state -------------------------------------------------------------------------------------------------------------

KEYS = ["weight", "mean", "count", "linear.weight", "linear.bias"]


def test_the_state_has_parameters_then_persistent_buffers_then_submodules():
    net = Net()
    assert list(net.state_dict()) == KEYS
    assert list(net.state_dict(prefix="net.")) == ["net." + k for k in KEYS]
    assert [n for n, _ in net.named_buffers()] == ["mean", "hidden", "count"]
    assert net.state_dict()._metadata == {"": {"version": 1}, "linear": {"version": 1}}
    assert not net.state_dict()["weight"].requires_grad and net.state_dict(keep_vars=True)["weight"] is net.weight
    assert net.state_dict()["weight"].data_ptr() == net.weight.data_ptr()


def test_loading_copies_and_assigning_replaces():
    net, state = Net(), {k: v + 1 for k, v in Net().state_dict().items()}
    weight = net.weight
    assert repr(net.load_state_dict(state)) == "<All keys matched successfully>"
    assert net.weight is weight and fb.equal(weight, state["weight"])
    net.load_state_dict(state, assign=True)
    assert net.weight is not weight and isinstance(net.weight, Parameter) and net.weight.requires_grad
    assert net.mean is state["mean"] and net.weight.data_ptr() == state["weight"].data_ptr()


def test_names_and_shapes_that_differ_are_listed():
    state = Net().state_dict()
    state["extra"] = fb.ones(1)
    state["linear.odd"] = fb.ones(1)
    del state["weight"]
    state["mean"] = fb.ones(4)
    with pytest.raises(RuntimeError) as error:
        Net().load_state_dict(state)
    text = str(error.value)
    assert text.startswith('Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "weight". \n\t')
    assert 'Unexpected key(s) in state_dict: "extra", "linear.odd". ' in text
    assert (
        "size mismatch for mean: copying a param with shape torch.Size([4]) from checkpoint, the shape in current model"
        in text
    )
    del state["mean"]
    missing, unexpected = Net().load_state_dict(state, strict=False)
    assert missing == ["weight", "mean"] and unexpected == ["extra", "linear.odd"]


def test_a_state_must_be_a_mapping_of_tensors():
    with pytest.raises(TypeError, match="dict-like"):
        Net().load_state_dict([1])
    with pytest.raises(RuntimeError, match='named "weight", expected'):
        Net().load_state_dict({**Net().state_dict(), "weight": 3})


def test_a_one_element_vector_loads_into_a_scalar():
    net = Net()
    net.load_state_dict({**net.state_dict(), "count": fb.tensor([7])})
    assert net.count == 7


def test_extra_state_travels_with_the_state():
    class Counter(Module):
        value = 0

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    a, b = Counter(), Counter()
    a.value = 5
    assert list(a.state_dict()) == ["_extra_state"]
    b.load_state_dict(a.state_dict())
    assert b.value == 5
    with pytest.raises(RuntimeError, match="_extra_state"):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match="_extra_state"):
        Module().load_state_dict(a.state_dict())


def test_state_hooks_see_and_change_the_state():
    net, seen = Net(), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("pre", prefix)))
    post = net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__delitem__(prefix + "mean"))
    inner = net._register_state_dict_hook(lambda m, state, prefix, meta: {**state, "new": 1})
    assert net.state_dict(prefix="a.")["new"] == 1 and seen == [("pre", "a.")]
    post.remove()
    inner.remove()
    state = net.state_dict()
    assert "mean" in state and "new" not in state
    net.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.setdefault("mean", fb.ones(3)))
    handle = net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    del state["mean"], state["weight"]
    net.load_state_dict(state)
    assert net.mean.sum() == 3
    handle.remove()
    with pytest.raises(RuntimeError, match="weight"):
        net.load_state_dict(state)


def test_state_post_hooks_return_nothing():
    net = Net()
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    with pytest.raises(RuntimeError, match="must return None"):
        net.state_dict()
    net = Net()
    net.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(RuntimeError, match="not expected to return"):
        net.load_state_dict(net.state_dict())


def test_positional_arguments_of_state_dict_still_work():
    with pytest.warns(FutureWarning):
        assert list(Net().state_dict({}, "x."))[0] == "x.weight"


# -- converting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "convert, dtype",
    [
        (lambda m: m.double(), "float64"),
        (lambda m: m.half(), "float16"),
        (lambda m: m.bfloat16(), "bfloat16"),
        (lambda m: m.double().float(), "float32"),
        (lambda m: m.to(fb.float64), "float64"),
        (lambda m: m.to("cpu", fb.float64), "float64"),
        (lambda m: m.to(dtype=fb.float64, device="cpu"), "float64"),
        (lambda m: m.to(fb.ones(1, dtype=fb.float64)), "float64"),
        (lambda m: m.to(fb.float64, True), "float64"),
    ],
)
def test_converting_keeps_the_objects_and_spares_integers(convert, dtype):
    net = Net()
    weight = net.weight
    net(fb.ones(1, 3)).sum().backward()
    assert convert(net) is net and net.weight is weight
    assert net.weight.dtype == net.mean.dtype == net.weight.grad.dtype == getattr(fb, dtype)
    assert net.count.dtype == fb.int64


def test_to_refuses_integers_and_too_many_arguments():
    with pytest.raises(TypeError, match="floating point or complex"):
        Net().to(fb.int32)
    with pytest.raises(TypeError):
        Net().to(fb.float64, False, 3)
    with pytest.raises(TypeError):
        Net().to(colour="red")


def test_meta_modules_are_made_real_without_values():
    net = Net().to("meta")
    assert net.weight.is_meta and net.linear.weight.is_meta
    net.to_empty(device="cpu")
    assert not net.weight.is_meta and isinstance(net.weight, Parameter)


def test_gradients_are_switched_off_and_dropped():
    net = Net()
    net(fb.ones(1, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(p.grad.abs().sum() == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())


# -- copying and printing ----------------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["linear", "weight", "mean", "plain"]), max_size=3))
def test_a_copy_has_the_same_attributes_and_none_of_the_same_tensors(names):
    net = Net()
    for name in names:
        setattr(net, name, getattr(net, name))
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert vars(twin).keys() == vars(net).keys() and list(twin.state_dict()) == KEYS
        assert twin.weight is not net.weight and twin.weight is twin._parameters["weight"]
        assert twin._non_persistent_buffers_set == {"hidden"}


def test_a_pickle_is_as_pytorch_would_write_it():
    state = Net().__getstate__()
    assert type(state["_parameters"]) is dict and "weight" not in state and "linear" not in state


def test_modules_and_parameters_that_are_shared_stay_shared_in_a_copy():
    net = Net()
    net.same, net.tied = net.linear, net.weight
    twin = copy.deepcopy(net)
    assert twin.same is twin.linear and twin.tied is twin.weight


def test_a_module_dies_with_its_last_reference():
    import weakref

    net = Net()
    ref = weakref.ref(net)
    del net
    assert ref() is None


def test_repr_shows_the_tree():
    net = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))
    assert repr(net) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): Sequential(\n    (0): ReLU()\n  )\n)"
    )

    class Described(Module):
        def extra_repr(self):
            return "one\ntwo"

    assert repr(Described()) == "Described(\n  one\n  two\n)"


def test_a_module_without_forward_says_so():
    with pytest.raises(NotImplementedError, match="Module .Module. is missing the required"):
        Module()(1)


def test_parameters_know_their_kind():
    p = Parameter(fb.ones(2))
    assert isinstance(p, Parameter) and isinstance(p, fb.Tensor) and p.requires_grad and p.is_leaf
    assert type(p + 1) is fb.Tensor and type(p.detach()) is fb.Tensor
    assert repr(p).startswith("Parameter containing:\n")
    assert Parameter().shape == (0,) and not Parameter(fb.ones(1), False).requires_grad
    buffer = Buffer(fb.ones(2))
    assert isinstance(buffer, Buffer) and not isinstance(p, Buffer) and buffer.persistent
    assert not isinstance(fb.ones(1), (Parameter, Buffer))
    again = pickle.loads(pickle.dumps(p))
    assert isinstance(again, Parameter) and fb.equal(again, p) and again.requires_grad


def test_compile_changes_nothing():
    net = Net()
    net.compile()
    assert net(fb.ones(1, 3)).shape == (1, 2)
