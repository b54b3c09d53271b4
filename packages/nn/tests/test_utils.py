"""nn.utils: clipping, vectors, reparametrizations, fusion, calls with other parameters."""

import copy
import math

import flambeau as fb
import pytest
from flambeau import nn
from flambeau.nn import utils
from flambeau.nn.utils import parametrizations, parametrize
from flambeau.nn.utils.stateless import functional_call
from hypothesis import given
from hypothesis import strategies as st


def close(a, b):
    return fb.allclose(a, b, atol=1e-5)


def with_grads(*grads):
    params = [nn.Parameter(fb.zeros(len(g))) for g in grads]
    for p, g in zip(params, grads):
        p.grad = fb.tensor(g, dtype=fb.float32)
    return params


# -- gradients and vectors ---------------------------------------------------------------------------------------------

grads = st.lists(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=3), min_size=1, max_size=3)


@given(grads, st.floats(0.1, 9), st.sampled_from([1.0, 2.0, 3.0, math.inf]))
def test_clipped_gradients_have_the_norm_that_is_allowed(values, limit, order):
    params = with_grads(*values)
    flat = fb.cat([p.grad for p in params])
    before = utils.clip_grad_norm_(params, limit, order)
    after = fb.linalg.vector_norm(fb.cat([p.grad for p in params]), order)
    assert close(before, fb.linalg.vector_norm(flat, order))
    assert after <= limit * 1.0001 and (before > limit or close(fb.cat([p.grad for p in params]), flat))


def test_clipping_takes_one_tensor_a_list_or_a_generator():
    (p,) = with_grads([3.0, 4.0])
    assert utils.clip_grad_norm_(p, 1.0) == 5 and close(p.grad, fb.tensor([0.6, 0.8]))
    utils.clip_grads_with_norm_([p], 0.5, fb.tensor(1.0))
    assert close(p.grad, fb.tensor([0.3, 0.4]))
    utils.clip_grad_value_(iter([p, nn.Parameter(fb.ones(1))]), 0.35)
    assert close(p.grad, fb.tensor([0.3, 0.35]))
    assert utils.clip_grad_norm_([], 1.0) == 0 and utils.get_total_norm([fb.ones(4)]) == 2
    with pytest.warns(UserWarning, match="empty generator"):
        utils.clip_grad_norm_((x for x in []), 1.0)
    with pytest.warns(FutureWarning):
        utils.clip_grad_norm(p, 1.0)


def test_a_norm_that_is_no_number_can_be_an_error():
    params = with_grads([math.nan])
    assert utils.clip_grad_norm_(params, 1.0).isnan()
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


def test_a_vector_of_parameters_goes_back_where_it_came_from():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vec = utils.parameters_to_vector(net.parameters())
    assert vec.shape == (13,)
    utils.vector_to_parameters(vec.detach() + 1, net.parameters())
    assert close(utils.parameters_to_vector(net.parameters()), vec + 1)
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], net.parameters())


# -- parametrize -------------------------------------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


class Halves(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, x):
        return x / 2, x / 2


def test_a_parametrized_weight_is_computed_and_assigned_through_its_inverse():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert fb.equal(layer.weight, layer.weight.T) and layer.parametrizations.weight.original is weight
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear" and parametrize.type_before_parametrizations(layer) is nn.Linear
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "bias")
    layer.weight = fb.ones(3, 3)
    assert fb.equal(layer.weight, fb.ones(3, 3)) and fb.equal(weight, fb.ones(3, 3).triu())
    layer(fb.ones(1, 3)).sum().backward()
    assert weight.grad is not None and "weight" not in dict(layer.named_parameters(recurse=False))


def test_parametrizations_are_applied_in_order_and_cached_on_request():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    before = layer.weight.detach()
    parametrize.register_parametrization(layer, "weight", Twice())
    assert close(layer.weight, 2 * before)
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    with pytest.raises(RuntimeError, match="right_inverse"):
        layer.weight = fb.ones(3, 3)


@pytest.mark.parametrize("leave", [True, False])
def test_removing_gives_the_plain_module_back(leave):
    layer = nn.Linear(3, 3)
    original = layer.weight
    raw = original.detach().clone().triu()
    parametrize.register_parametrization(layer, "weight", Symmetric())
    value = layer.weight.detach()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert type(layer) is nn.Linear and layer.weight is original and not hasattr(layer, "parametrizations")
    assert fb.equal(layer.weight, value if leave else raw)


def test_several_originals():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Halves())
    assert list(layer.state_dict())[1:] == [f"parametrizations.weight.original{i}" for i in (0, 1)]
    assert close(layer.weight, before)
    with pytest.raises(ValueError, match="sequence"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    assert close(layer.weight, before) and isinstance(layer.weight, nn.Parameter)


def test_parametrized_modules_are_copied_but_not_pickled():
    import pickle

    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    twin = copy.deepcopy(layer)
    assert fb.equal(twin.weight, layer.weight)
    twin.weight = fb.zeros(3, 3)
    assert layer.weight.abs().sum() > 0
    with pytest.raises(RuntimeError, match="state_dict"):
        pickle.dumps(layer)
    other = parametrize.transfer_parametrizations_and_params(layer, nn.Linear(3, 3))
    assert fb.equal(other.weight, layer.weight)


class Changes(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, x):
        return self.change(x)


@pytest.mark.parametrize("change", [lambda x: x[0], lambda x: x.double(), lambda x: 3])
def test_a_parametrization_that_changes_the_kind_of_tensor_is_refused(change):
    with pytest.raises(ValueError):
        parametrize.register_parametrization(nn.Linear(3, 3), "weight", Changes(change))
    with pytest.raises(ValueError, match="'nothing'"):
        parametrize.register_parametrization(nn.Linear(3, 3), "nothing", Twice())


# -- norms of weights --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1, None])
def test_weight_norm_keeps_the_weight_and_splits_it(dim):
    layer = nn.Linear(3, 4)
    weight = layer.weight.detach().clone()
    parametrizations.weight_norm(layer, dim=dim)
    g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    assert close(layer.weight, weight) and fb.equal(v, weight)
    assert g.shape == {0: (4, 1), 1: (1, 3), -1: (), None: ()}[dim]
    v.data *= 7
    assert close(layer.weight, weight)
    g.data *= 2
    assert close(layer.weight, 2 * weight)


def test_the_two_forms_of_weight_norm_read_each_others_state():
    with pytest.warns(FutureWarning):
        old = utils.weight_norm(nn.Linear(3, 4))
    assert list(old.state_dict()) == ["bias", "weight_g", "weight_v"]
    new = parametrizations.weight_norm(nn.Linear(3, 4))
    new.load_state_dict(old.state_dict())
    x = fb.randn(2, 3)
    assert close(new(x), old(x))
    old.weight_g.data *= 2
    assert close(old(x), 2 * (new(x) - new.bias) + new.bias)
    weight = old.weight.detach()
    assert utils.remove_weight_norm(old) is old and close(old.weight, weight) and isinstance(old.weight, nn.Parameter)
    with pytest.raises(ValueError):
        utils.remove_weight_norm(old)


@pytest.mark.parametrize("make", [parametrizations.spectral_norm, utils.spectral_norm])
def test_spectral_norm_divides_by_the_largest_singular_value(make):
    layer = make(nn.Conv2d(2, 3, 2), n_power_iterations=50)
    layer(fb.ones(1, 2, 4, 4))
    largest = fb.linalg.matrix_norm(layer.weight.flatten(1), 2)
    assert close(largest, fb.ones(()))
    layer.eval()
    weight = layer.weight.detach()
    layer(fb.ones(1, 2, 4, 4))
    assert close(layer.weight, weight)


def test_the_older_spectral_norm_can_be_removed():
    layer = utils.spectral_norm(nn.Linear(3, 4))
    state = layer.state_dict()
    assert list(state) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    with pytest.raises(RuntimeError, match="two spectral_norm"):
        utils.spectral_norm(layer)
    utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
    with pytest.raises(ValueError):
        utils.remove_spectral_norm(layer)


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivialization", [True, False])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_orthogonal_weights_stay_orthogonal(how, trivialization, shape):
    layer = nn.Linear(*shape)
    parametrizations.orthogonal(layer, orthogonal_map=how, use_trivialization=trivialization)
    for _ in range(2):
        w = layer.weight
        gram = w @ w.T if w.size(0) <= w.size(1) else w.T @ w
        assert close(gram, fb.eye(min(shape)))
        w[0, 0].backward()
        original = layer.parametrizations.weight.original
        original.data -= original.grad  # a step of training


# -- the rest ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer, x", [
    (nn.Conv2d(2, 3, 2), fb.ones(1, 2, 4, 4)),
    (nn.Conv2d(2, 3, 2, bias=False), fb.ones(1, 2, 4, 4)),
    (nn.ConvTranspose2d(2, 3, 2), fb.ones(1, 2, 4, 4)),
])  # fmt: skip
def test_a_fused_convolution_does_what_the_two_layers_did(layer, x):
    norm = nn.BatchNorm2d(3).eval()
    for t in (norm.running_mean, norm.bias.data, norm.weight.data):
        t.normal_()
    norm.running_var.uniform_(0.5, 2)
    fused = utils.fuse_conv_bn_eval(layer.eval(), norm, transpose=isinstance(layer, nn.ConvTranspose2d))
    assert close(fused(x), norm(layer(x)))


def test_a_fused_linear_layer_does_what_the_two_layers_did():
    layer, norm, x = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval(), fb.randn(2, 3)
    norm.running_mean.normal_()
    assert close(utils.fuse_linear_bn_eval(layer, norm)(x), norm(layer(x)))
    with pytest.raises(AssertionError):
        utils.fuse_linear_bn_eval(layer.train(), norm)


def test_functional_call_uses_other_tensors_and_leaves_the_module():
    layer = nn.Linear(3, 2)
    before = layer.weight
    new = {"weight": fb.zeros(2, 3, requires_grad=True), "bias": fb.ones(2)}
    out = functional_call(layer, new, fb.ones(1, 3))
    assert out.tolist() == [[1, 1]] and layer.weight is before is layer._parameters["weight"]
    out.sum().backward()
    assert new["weight"].grad is not None and before.grad is None
    assert functional_call(layer, {"bias": fb.zeros(2)}, (fb.zeros(1, 3),), {}).tolist() == [[0, 0]]


def test_functional_call_replaces_tied_weights_together():
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    net[1].weight = net[0].weight
    eye = fb.eye(2)
    assert fb.equal(functional_call(net, {"0.weight": 2 * eye}, eye), 4 * eye)
    assert not fb.equal(functional_call(net, {"0.weight": 2 * eye}, eye, tie_weights=False), 4 * eye)
    with pytest.raises(ValueError, match="tied"):
        functional_call(net, {"0.weight": eye, "1.weight": 2 * eye}, eye)


def test_functional_call_checks_names():
    layer = nn.Linear(3, 2)
    with pytest.raises(AttributeError):
        functional_call(layer, {"nowhere": fb.ones(1)}, fb.ones(1, 3))
    with pytest.raises(RuntimeError, match="Missing key.*bias"):
        functional_call(layer, {"weight": fb.ones(2, 3)}, fb.ones(1, 3), strict=True)
    with pytest.raises(ZeroDivisionError):
        functional_call(Raises(), {"weight": fb.ones(1)}, fb.ones(1))


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(fb.zeros(1))

    def forward(self, x):
        return 1 // 0


def test_skip_init_makes_a_real_module():
    layer = utils.skip_init(nn.Linear, 3, 2, bias=False)
    assert layer.weight.shape == (2, 3) and not layer.weight.is_meta and layer.bias is None
    with pytest.raises(RuntimeError, match="'device'"):
        utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Module"):
        utils.skip_init(dict)


def test_memory_formats_of_convolution_weights():
    net = nn.Sequential(nn.Conv2d(3, 4, 2), nn.Linear(2, 2))
    utils.convert_conv2d_weight_memory_format(net, fb.channels_last)
    assert net[0].weight.is_contiguous(memory_format=fb.channels_last) and net[1].weight.is_contiguous()
