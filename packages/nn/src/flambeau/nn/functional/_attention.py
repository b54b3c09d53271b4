"""Multi-head attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math
import warnings

import flambeau as fb
from flambeau import Tensor, _nn

from ._activation import softmax
from ._dropout import dropout

scaled_dot_product_attention = _nn.scaled_dot_product_attention
_linear, _pad = _nn.linear, _nn.pad


def _check_mask(mask: Tensor | None, name: str) -> None:
    if mask is not None and mask.dtype != fb.bool and not fb.is_floating_point(mask):
        raise AssertionError(f"only bool and floating types of {name} are supported, got {mask.dtype}")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: fb.dtype | None,
    other_name: str,
    target_type: fb.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as numbers to add: a bool one, True for what is hidden, becomes 0 and -inf."""
    if mask is None:
        return None
    _check_mask(mask, mask_name)
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.dtype == fb.bool:
        return fb.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask


def _none_or_dtype(input: Tensor | None) -> fb.dtype | None:
    return None if input is None else input.dtype


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs have a batch dimension; AssertionError for shapes that don't fit together."""
    ndim = query.dim()
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    batched = ndim == 3
    kind = "batched" if batched else "unbatched"
    if key.dim() != ndim or value.dim() != ndim:
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `key` and `value` to be {ndim}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != ndim - 1:
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} ({ndim}-D) `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{attn_mask.dim()}-D tensor instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}")
    return batched


def _parts(x: Tensor, n: int) -> tuple:
    """The last dimension cut into ``n``, each part in memory of its own: heads are made by views of them."""
    length, batch, width = x.shape
    return x.view(length, batch, n, width // n).permute(2, 0, 1, 3).contiguous().unbind(0)


def _project_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None) -> tuple:
    """The three projections by one weight (3E, E), in as few products as the inputs' sameness allows."""
    e = q.size(-1)
    if k is v:
        if q is k:
            return _parts(_linear(q, w, b), 3)
        w_q, w_kv = w.split([e, e * 2])
        b_q, b_kv = (None, None) if b is None else b.split([e, e * 2])
        return _linear(q, w_q, b_q), *_parts(_linear(k, w_kv, b_kv), 2)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    w_q, w_k, w_v = w.chunk(3)
    return _linear(q, w_q, b_q), _linear(k, w_k, b_k), _linear(v, w_v, b_v)


def _project(q: Tensor, k: Tensor, v: Tensor, weights: tuple, b: Tensor | None) -> tuple:
    """The three projections by a weight each."""
    e, k_in, v_in = q.size(-1), k.size(-1), v.size(-1)
    for name, w, n in zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), weights, (e, k_in, v_in)):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name} is None")
        if tuple(w.shape) != (e, n):
            raise AssertionError(f"expecting {name} shape of {(e, n)}, but got {tuple(w.shape)}")
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return _linear(q, weights[0], b_q), _linear(k, weights[1], b_k), _linear(v, weights[2], b_v)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What ``nn.MultiheadAttention`` computes, from its weights.

    Shapes: ``query`` (L, N, E) or (L, E), ``key`` and ``value`` (S, N, ...) -> (L, N, E), and with ``need_weights`` the
    attention (N, L, S), or (N, heads, L, S) unless ``average_attn_weights``. ``attn_mask`` (L, S) or (N * heads, L, S)
    and ``key_padding_mask`` (N, S) hide where True, or are added. ``is_causal`` says that ``attn_mask`` is the causal
    one, which lets it go unread.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len = key.shape[0]
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the kernel makes its own
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False  # both masks together are not the causal one
    if embed_dim != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}")
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
        q, k, v = _project(query, key, value, (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project_packed(query, key, value, in_proj_weight, in_proj_bias)

    attn_mask = _mask_3d(attn_mask, tgt_len, src_len, bsz * num_heads)
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = fb.cat([k, bias_k.repeat(1, bsz, 1)])
        v = fb.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    elif bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")

    # (length, N, E) -> (N * heads, length, E / heads)
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    k = _heads(k, static_k, "static_k", bsz, num_heads, head_dim)
    v = _heads(v, static_v, "static_v", bsz, num_heads, head_dim)
    if add_zero_attn:
        zeros = (bsz * num_heads, 1, head_dim)
        k = fb.cat([k, fb.zeros(zeros, dtype=k.dtype, device=k.device)], dim=1)
        v = fb.cat([v, fb.zeros(zeros, dtype=v.dtype, device=v.device)], dim=1)
        attn_mask, key_padding_mask = _one_more(attn_mask), _one_more(key_padding_mask)
    src_len = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (bsz, src_len):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(bsz, src_len)}, but got {tuple(key_padding_mask.shape)}"
            )
        padding = key_padding_mask.view(bsz, 1, 1, src_len).expand(-1, num_heads, -1, -1)
        padding = padding.reshape(bsz * num_heads, 1, src_len)
        attn_mask = padding if attn_mask is None else attn_mask + padding
    if not training:
        dropout_p = 0.0

    if need_weights:
        if is_causal and attn_mask is None:
            raise AssertionError("is_causal needs attn_mask when the weights are asked for")
        q = q * math.sqrt(1.0 / float(head_dim))
        if attn_mask is None:
            weights = fb.bmm(q, k.transpose(-2, -1))
        else:
            weights = fb.baddbmm(attn_mask, q, k.transpose(-2, -1))
        weights = softmax(weights, dim=-1)
        if dropout_p > 0.0:
            weights = dropout(weights, p=dropout_p)
        output = fb.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len * bsz, embed_dim)
        output = _linear(output, out_proj_weight, out_proj_bias).view(tgt_len, bsz, -1)
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        return (output, weights) if batched else (output.squeeze(1), weights.squeeze(0))

    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    q = q.view(bsz, num_heads, tgt_len, head_dim)
    k = k.view(bsz, num_heads, src_len, head_dim)
    v = v.view(bsz, num_heads, src_len, head_dim)
    output = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).contiguous().view(bsz * tgt_len, embed_dim)
    output = _linear(output, out_proj_weight, out_proj_bias).view(tgt_len, bsz, -1)
    return (output if batched else output.squeeze(1)), None


def _mask_3d(mask: Tensor | None, tgt_len: int, src_len: int, heads: int) -> Tensor | None:
    """An attention mask with a leading dimension of 1 or N * heads."""
    if mask is None:
        return None
    expected = (tgt_len, src_len) if mask.dim() == 2 else (heads, tgt_len, src_len)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {tuple(mask.shape)}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _one_more(mask: Tensor | None) -> Tensor | None:
    """The mask for keys with one more, visible, at the end."""
    return None if mask is None else _pad(mask, (0, 1))


def _heads(x: Tensor, static: Tensor | None, name: str, bsz: int, num_heads: int, head_dim: int) -> Tensor:
    if static is None:
        return x.view(x.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
    if static.size(0) != bsz * num_heads or static.size(2) != head_dim:
        raise AssertionError(
            f"expecting {name} of shape ({bsz * num_heads}, length, {head_dim}), but got {tuple(static.shape)}"
        )
    return static
