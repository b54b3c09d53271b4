"""Attention and the transformer: masks, layouts, causality."""

import flambeau as fb
import pytest
from flambeau import nn

INF = float("inf")


def close(a, b):
    return fb.allclose(a, b, atol=1e-5)


ATTENTION = nn.MultiheadAttention(8, 2)
Q, K = fb.randn(3, 2, 8), fb.randn(5, 2, 8)


def test_attention_is_the_formula_head_by_head():
    w, b = ATTENTION.in_proj_weight, ATTENTION.in_proj_bias
    q, k, v = (x @ w[i * 8 : i * 8 + 8].T + b[i * 8 : i * 8 + 8] for i, x in enumerate((Q, K, K)))
    heads, weights = [], []
    for h in (slice(0, 4), slice(4, 8)):
        scores = fb.einsum("lnd,snd->nls", q[..., h], k[..., h]) / 2
        weights.append(scores.softmax(-1))
        heads.append(fb.einsum("nls,snd->lnd", weights[-1], v[..., h]))
    want = ATTENTION.out_proj(fb.cat(heads, -1))
    output, attention = ATTENTION(Q, K, K)
    assert close(output, want) and close(attention, (weights[0] + weights[1]) / 2)
    each = ATTENTION(Q, K, K, average_attn_weights=False)[1]
    assert close(each, fb.stack(weights, 1))
    lean, none = ATTENTION(Q, K, K, need_weights=False)
    assert close(lean, want) and none is None


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("as_bool", [True, False])
def test_hidden_keys_do_not_count(need_weights, as_bool):
    hidden = fb.tensor([[False, True, False, False, True]] * 2)
    mask = hidden if as_bool else fb.zeros(2, 5).masked_fill(hidden, -INF)
    want = ATTENTION(Q, K[[0, 2, 3]], K[[0, 2, 3]])[0]
    assert close(ATTENTION(Q, K, K, key_padding_mask=mask, need_weights=need_weights)[0], want)
    square = mask[0].expand(3, 5)
    assert close(ATTENTION(Q, K, K, attn_mask=square, need_weights=need_weights)[0], want)
    assert close(ATTENTION(Q, K, K, attn_mask=square.expand(4, 3, 5), need_weights=need_weights)[0], want)
    one, other = (mask.clone() for _ in range(2))
    one[:, 1] = other[:, 4] = 0  # each hides one of the two keys
    both = ATTENTION(Q, K, K, attn_mask=one[0].expand(3, 5), key_padding_mask=other, need_weights=need_weights)[0]
    assert close(both, want)


@pytest.mark.parametrize("need_weights", [True, False])
def test_layouts_change_nothing_but_the_layout(need_weights):
    turned = nn.MultiheadAttention(8, 2, batch_first=True)
    turned.load_state_dict(ATTENTION.state_dict())
    want = ATTENTION(Q, K, K, need_weights=need_weights)[0]
    q, k = Q.transpose(0, 1), K.transpose(0, 1)
    assert close(turned(q, k, k, need_weights=need_weights)[0].transpose(0, 1), want)
    assert close(ATTENTION(Q[:, 1], K[:, 1], K[:, 1], need_weights=need_weights)[0], want[:, 1])
    same = ATTENTION(Q, Q, Q, need_weights=need_weights)[0]
    assert close(same, ATTENTION(Q, Q.clone(), Q.clone(), need_weights=need_weights)[0])


def test_separate_projections_do_what_the_packed_one_does():
    apart = nn.MultiheadAttention(8, 2, kdim=8, vdim=7)
    with fb.no_grad():
        v_in = fb.randn(5, 2, 7)
        for i, w in enumerate((apart.q_proj_weight, apart.k_proj_weight)):
            w.copy_(ATTENTION.in_proj_weight[8 * i : 8 * i + 8])
        apart.v_proj_weight.zero_()
    assert close(apart(Q, K, v_in)[1], ATTENTION(Q, K, K)[1])


@pytest.mark.parametrize("need_weights", [True, False])
def test_appended_keys_are_seen_by_every_query(need_weights):
    more = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True)
    hidden = fb.ones(2, 5, dtype=fb.bool)  # all real keys are hidden: what was appended is left
    output, weights = more(Q, K, K, key_padding_mask=hidden, need_weights=need_weights)
    assert not output.isnan().any()
    if need_weights:
        assert weights.shape == (2, 3, 7) and close(weights[..., 5:].sum(-1), fb.ones(2, 3))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: nn.MultiheadAttention(5, 2), AssertionError),
        (lambda: nn.MultiheadAttention(0, 2), ValueError),
        (lambda: ATTENTION(Q, K, Q), AssertionError),
        (lambda: ATTENTION(Q[..., :4], K, K), AssertionError),
        (lambda: ATTENTION(Q, K[0], K[0]), AssertionError),
        (lambda: ATTENTION(fb.ones(1, 1, 1, 8), K, K), AssertionError),
        (lambda: ATTENTION(Q, K, K, attn_mask=fb.zeros(5, 3)), RuntimeError),
        (lambda: ATTENTION(Q, K, K, attn_mask=fb.zeros(2, 3, 5)), RuntimeError),
        (lambda: ATTENTION(Q, K, K, key_padding_mask=fb.zeros(3, 5)), AssertionError),
        (lambda: ATTENTION(Q, K, K, key_padding_mask=fb.zeros(2, 5).long()), AssertionError),
        (lambda: ATTENTION(Q, K, K, is_causal=True), RuntimeError),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call, error):
    with pytest.raises(error):
        call()


# -- transformer -------------------------------------------------------------------------------------------------------


def model(**kwargs):
    fb.manual_seed(0)
    return nn.Transformer(8, 2, 1, 1, 16, 0.0, **kwargs)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", fb.tanh])
def test_a_causal_mask_keeps_the_future_out(norm_first, activation):
    net = model(norm_first=norm_first, activation=activation)
    src, tgt = fb.randn(4, 2, 8), fb.randn(5, 2, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    out = net(src, tgt, tgt_mask=mask)
    changed = tgt.clone()
    changed[3:] = 0
    assert close(net(src, changed, tgt_mask=mask)[:3], out[:3])
    assert not close(net(src, changed, tgt_mask=mask)[3:], out[3:])
    assert close(net(src, tgt, tgt_mask=mask, tgt_is_causal=True), out)
    assert close(net(src, tgt, tgt_mask=mask.isinf()), out)


def test_padding_does_not_change_the_rest():
    net = model(batch_first=True)
    src, tgt = fb.randn(2, 4, 8), fb.randn(2, 3, 8)
    padding = fb.tensor([[False, False, False, True]] * 2)
    out = net(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    assert close(out, net(src[:, :3], tgt))


def test_layers_are_copies_that_start_alike_and_go_their_own_way():
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    encoder = nn.TransformerEncoder(layer, 3)
    assert len(encoder.layers) == encoder.num_layers == 3
    assert all(close(p, q) for a in encoder.layers for p, q in zip(a.parameters(), layer.parameters()))
    assert len({id(p) for p in encoder.parameters()}) == 3 * len(list(layer.parameters()))


def test_custom_parts_are_used():
    class Same(nn.Module):
        def forward(self, x, *args, **kwargs):
            return x

    net = nn.Transformer(8, 2, custom_encoder=Same(), custom_decoder=Same())
    x = fb.randn(2, 1, 8)
    assert net(x, x) is x


@pytest.mark.parametrize(
    "call",
    [
        lambda: model()(fb.ones(2, 3, 5), fb.ones(2, 3, 8)),
        lambda: model()(fb.ones(2, 3, 8), fb.ones(2, 3, 5)),
        lambda: model()(fb.ones(2, 3, 8), fb.ones(2, 4, 8)),
        lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"),
    ],
)
def test_a_transformer_refuses_what_does_not_fit(call):
    with pytest.raises(RuntimeError):
        call()
