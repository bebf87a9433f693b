"""A segment of rounds of the relational denoiser, forwards and backwards, compiled.

Torch goes through memory once for every operation of every round. Here a state goes through its rounds and back while
it is in the cache, as in `dibs.guide.native`, so that an update takes a third of the time. Says the same as
`relational.Relational` with torch's gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dibs.compiled import entry, part
from dibs.guide.native import scores
from dibs.guide.tiles import (
    LOWEST,
    ROWS,
    ZERO,
    add,
    copy,
    crossed,
    fill,
    moments,
    norm,
    product,
    receive,
    send,
    shift,
    total,
    where,
)
from dibs.guide.weights import Weights

if TYPE_CHECKING:
    from dibs.model.pool import Pool
    from dibs.model.relational import Relational

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@part
def _network(s, link, at, begin, groups, wide, edge, local, first):  # type: ignore[no-untyped-def]
    """Where the groups of each literal of state s are, in bytes (`edge`, from `local` on); each kind is whole tiles."""
    place, kinds = 0, groups.shape[1]
    for k in range(kinds):
        first[k] = place
        place += groups[s + 1, k] - groups[s, k]
        place += -place % ROWS
    first[kinds] = place
    edges = 0
    for i in range(begin[s], begin[s + 1]):
        local[i - begin[s]] = edges
        for e in range(at[i], at[i + 1]):
            k = 0
            while k < kinds - 1 and not (groups[s, k] <= link[e] < groups[s + 1, k]):
                k += 1
            edge[edges] = (first[k] + link[e] - groups[s, k]) * 4 * wide
            edges += 1
    local[begin[s + 1] - begin[s]] = edges


@part
def _added(features, i0, count, weight, wide, out):  # type: ignore[no-untyped-def]
    """out[:count] += features[i0 : i0 + count] @ weight."""
    for i in range(count):
        row = np.uintp(i * wide)
        for f in range(features.shape[1]):
            value = features[i0 + i, f]
            for j in range(np.uintp(wide)):
                out[row + j] += value * weight[f, j]


@part
def _spread(features, i0, count, weight, wide, out):  # type: ignore[no-untyped-def]
    """out[:count] = features[i0 : i0 + count] @ weight."""
    for i in range(count * wide):
        out[i] = 0
    _added(features, i0, count, weight, wide, out)


@part
def _gathered(features, i0, count, grad, wide, out):  # type: ignore[no-untyped-def]
    """out += features[i0 : i0 + count].T @ grad[:count]."""
    for i in range(count):
        row = np.uintp(i * wide)
        for f in range(features.shape[1]):
            value = features[i0 + i, f]
            for j in range(np.uintp(wide)):
                out[f, j] += value * grad[row + j]


@part
def _loss(logit, i0, count, cell, cells, cell0, free, target, scale, top, mass, wanted, slope):  # type: ignore[no-untyped-def]
    """Cross-entropy of the cells with `target`, summed; `slope` [count] is its derivative by the logits, times `scale`.

    Also whether the likeliest literal of every cell has some of the target. In a cell that is `free` what is left of
    the target is for none of its literals, whose logit is 0.
    """
    for c in range(cells):
        top[c], mass[c], wanted[c] = ZERO if free[cell0 + c] else LOWEST, ZERO, ZERO
    for i in range(count):
        c = cell[i0 + i] - cell0
        top[c] = max(top[c], logit[i])
        wanted[c] += target[i0 + i]
    for i in range(count):
        slope[i] = np.exp(logit[i] - top[cell[i0 + i] - cell0])
        mass[cell[i0 + i] - cell0] += slope[i]
    loss, right = 0.0, True
    for c in range(cells):
        if free[cell0 + c]:
            none, left = np.exp(-top[c]), max(np.float32(1) - wanted[c], ZERO)
            mass[c] += none
            loss += left * (top[c] + np.log(mass[c]))
            right = right and (none < np.float32(1) or left > 0)
            wanted[c] += left
    for i in range(count):
        c = cell[i0 + i] - cell0
        loss -= target[i0 + i] * (logit[i] - top[c] - np.log(mass[c]))
        right = right and (logit[i] < top[c] or target[i0 + i] > 0)
        slope[i] = (slope[i] / mass[c] * wanted[c] - target[i0 + i]) * scale
    return loss, right


@part
def _unnorm(h, at_h, wide, width, gain, dz, count, dgain, dbias, dh):  # type: ignore[no-untyped-def]
    """dh += the gradient of a layer norm's input, from dz, that of its output; `at_h` is where h begins."""
    some = np.float32(1) / np.float32(width)
    for i in range(count):
        row = np.uintp(i * wide)
        mean, scale = moments(at_h + 4 * i * wide, wide, width)
        one = other = np.float32(0)
        for j in range(np.uintp(wide)):
            slope = dz[row + j]
            place = (h[row + j] - mean) * scale
            dgain[j] += slope * place
            dbias[j] += slope
            one += slope * gain[j]
            other += slope * gain[j] * place
        one, other = one * some, other * some
        for j in range(np.uintp(wide)):
            place = (h[row + j] - mean) * scale
            dh[row + j] += scale * (dz[row + j] * gain[j] - one - place * other)


@entry(fastmath={"contract", "reassoc", "nsz"})
def segment(  # type: ignore[no-untyped-def]
    rows,
    fresh,
    features,
    link,
    at,
    begin,
    groups,
    cell,
    free,
    target,
    group_features,
    hidden,
    weights,
    turned,
    grads,
    width,
    heads,
    scale,
):
    """The states `rows` of a pool through len(heads) rounds; `heads` says after which of them the loss is taken.

    States that are `fresh` begin anew, others with their rows of `hidden` [N, width], which becomes that of the end.
    `turned` are the transposed weights. Gradients are added to `grads`. Returns of each state the mean loss, and
    whether the likeliest value of each cell was right in the end.
    """
    rounds, wide, kinds = len(heads), weights.pre.shape[0], groups.shape[1]
    most = room = edges = 0
    for s in rows:
        most = max(most, begin[s + 1] - begin[s])
        edges = max(edges, at[begin[s + 1]] - at[begin[s]])
        some = 0
        for k in range(kinds):
            some += groups[s + 1, k] - groups[s, k]
        room = max(room, some)
    most, room = most + ROWS, room + kinds * ROWS
    lit, grp = most * wide, room * wide
    h, z, u, a = (
        np.zeros((rounds + 1) * lit, np.float32),
        np.zeros(rounds * lit, np.float32),
        np.zeros(rounds * lit, np.float32),
        np.zeros(rounds * lit, np.float32),
    )
    sums, inside = np.zeros(rounds * grp, np.float32), np.zeros(rounds * grp, np.float32)
    given, blank = np.zeros(lit, np.float32), np.zeros(lit, np.float32)
    dh, dz, dx = np.zeros(lit, np.float32), np.zeros(lit, np.float32), np.zeros(lit, np.float32)
    dgiven, message = np.zeros(lit, np.float32), np.zeros(grp, np.float32)
    dinside, dsums = np.zeros(grp, np.float32), np.zeros(grp, np.float32)
    logit, slope = np.zeros(most, np.float32), np.zeros((rounds, most), np.float32)
    top, mass, wanted = np.zeros(room, np.float32), np.zeros(room, np.float32), np.zeros(room, np.float32)
    edge, local, first = np.zeros(edges, np.intp), np.zeros(most + 1, np.intp), np.zeros(kinds + 1, np.intp)
    mean_loss, solved = np.zeros(len(rows), np.float64), np.zeros(len(rows), np.bool_)
    # Addresses from here on. Numba frees an array after the last line that names it: see the end.
    at_h, at_z, at_u, at_a = h.ctypes.data, z.ctypes.data, u.ctypes.data, a.ctypes.data
    at_sums, at_inside, at_message = sums.ctypes.data, inside.ctypes.data, message.ctypes.data
    at_given, at_blank, at_dh, at_dz = given.ctypes.data, blank.ctypes.data, dh.ctypes.data, dz.ctypes.data
    at_dx, at_dgiven, at_dinside, at_dsums = dx.ctypes.data, dgiven.ctypes.data, dinside.ctypes.data, dsums.ctypes.data
    pre, own, out = weights.pre.ctypes.data, weights.own.ctypes.data, weights.out.ctypes.data
    pre_bias, out_bias = weights.pre_bias.ctypes.data, weights.out_bias.ctypes.data
    inner, inner_bias, outer = weights.inner.ctypes.data, weights.inner_bias.ctypes.data, weights.message.ctypes.data
    at_norm, at_last = weights.norm.ctypes.data, weights.last.ctypes.data
    pre_t, own_t, out_t = turned.pre.ctypes.data, turned.own.ctypes.data, turned.out.ctypes.data
    inner_t, outer_t = turned.inner.ctypes.data, turned.message.ctypes.data
    g_pre, g_own, g_out = grads.pre.ctypes.data, grads.own.ctypes.data, grads.out.ctypes.data
    g_pre_bias, g_out_bias = grads.pre_bias.ctypes.data, grads.out_bias.ctypes.data
    g_inner, g_inner_bias, g_outer = grads.inner.ctypes.data, grads.inner_bias.ctypes.data, grads.message.ctypes.data
    square = 4 * wide * wide
    for number in range(len(rows)):
        s = rows[number]
        i0, count = begin[s], begin[s + 1] - begin[s]
        _network(s, link, at, begin, groups, wide, edge, local, first)
        _spread(features, i0, count, weights.given, wide, given)
        if fresh[number]:
            _spread(features, i0, count, weights.enter, wide, h)
        else:
            for i in range(count):
                for j in range(width):
                    h[i * wide + j] = hidden[i0 + i, j]
        looked = 0
        for turn in range(rounds):
            here, there = 4 * turn * lit, 4 * turn * grp
            h_, z_, u_, a_ = at_h + here, at_z + here, at_u + here, at_a + here
            sums_, inside_ = at_sums + there, at_inside + there
            norm(h_, at_norm, at_norm + 4 * wide, z_, count, wide, width)
            fill(u_, pre_bias, 0, count, wide)
            product(z_, pre, wide, u_, 0, count, ZERO)
            fill(sums_, at_blank, 0, first[kinds], wide)
            send(u_, edge, local, count, wide, sums_)
            for k in range(kinds):
                fill(inside_, inner_bias + 4 * k * wide, first[k], first[k + 1], wide)
                there = groups[s + 1, k] - groups[s, k]
                _added(
                    group_features, groups[s, k], there, weights.about[k], wide, inside[turn * grp + first[k] * wide :]
                )
                product(sums_, inner + k * square, wide, inside_, first[k], first[k + 1], ZERO)
                fill(at_message, at_blank, first[k], first[k + 1], wide)
                product(inside_, outer + k * square, wide, at_message, first[k], first[k + 1], LOWEST)
            receive(at_message, edge, local, count, wide, at_given, a_)
            product(z_, own, wide, a_, 0, count, ZERO)
            copy(h_ + 4 * lit, h_, count, wide)
            shift(h_ + 4 * lit, out_bias, 0, count, wide)
            product(a_, out, wide, h_ + 4 * lit, 0, count, LOWEST)
            if heads[turn]:
                norm(h_ + 4 * lit, at_last, at_last + 4 * wide, at_dz, count, wide, width)
                scores(dz, count, wide, weights.score, weights.score_bias, logit)
                cells, cell0 = groups[s + 1, 0] - groups[s, 0], groups[s, 0]
                found, right = _loss(
                    logit, i0, count, cell, cells, cell0, free, target, scale, top, mass, wanted, slope[turn]
                )
                mean_loss[number] += found
                solved[number] = right
                looked += 1
        mean_loss[number] /= max(looked, 1)
        for i in range(count):
            for j in range(width):
                hidden[i0 + i, j] = h[rounds * lit + i * wide + j]
        fill(at_dh, at_blank, 0, count, wide)
        fill(at_dgiven, at_blank, 0, count, wide)
        for back in range(rounds):
            turn = rounds - 1 - back
            here, there = 4 * turn * lit, 4 * turn * grp
            h_, z_, u_, a_ = at_h + here, at_z + here, at_u + here, at_a + here
            sums_, inside_ = at_sums + there, at_inside + there
            if heads[turn]:
                norm(h_ + 4 * lit, at_last, at_last + 4 * wide, at_dz, count, wide, width)
                for i in range(count):
                    row, value = np.uintp(i * wide), slope[turn, i]
                    grads.score_bias[0] += value
                    for j in range(np.uintp(wide)):
                        grads.score[j] += value * dz[row + j]
                        dz[row + j] = value * weights.score[j]
                _unnorm(
                    h[(turn + 1) * lit :], h_ + 4 * lit, wide, width, weights.last[0], dz, count, grads.last[0],
                    grads.last[1], dh,
                )  # fmt: skip
            total(at_dh, g_out_bias, 0, count, wide)
            crossed(a_, at_dh, wide, g_out, 0, count)
            fill(at_dx, at_blank, 0, count, wide)
            product(at_dh, out_t, wide, at_dx, 0, count, LOWEST)
            where(at_dx, a_, 0, count, wide)
            add(at_dgiven, at_dx, count, wide)
            crossed(z_, at_dx, wide, g_own, 0, count)
            fill(at_dz, at_blank, 0, count, wide)
            product(at_dx, own_t, wide, at_dz, 0, count, LOWEST)
            fill(at_message, at_blank, 0, first[kinds], wide)
            send(at_dx, edge, local, count, wide, at_message)
            for k in range(kinds):
                a0, b0 = first[k], first[k + 1]
                end = a0 + groups[s + 1, k] - groups[s, k]
                crossed(inside_, at_message, wide, g_outer + k * square, a0, end)
                fill(at_dinside, at_blank, a0, b0, wide)
                product(at_message, outer_t + k * square, wide, at_dinside, a0, b0, LOWEST)
                where(at_dinside, inside_, a0, b0, wide)
                total(at_dinside, g_inner_bias + 4 * k * wide, a0, end, wide)
                there = groups[s + 1, k] - groups[s, k]
                _gathered(group_features, groups[s, k], there, dinside[a0 * wide :], wide, grads.about[k])
                crossed(sums_, at_dinside, wide, g_inner + k * square, a0, end)
                fill(at_dsums, at_blank, a0, b0, wide)
                product(at_dinside, inner_t + k * square, wide, at_dsums, a0, b0, LOWEST)
            receive(at_dsums, edge, local, count, wide, at_blank, at_dx)
            where(at_dx, u_, 0, count, wide)
            total(at_dx, g_pre_bias, 0, count, wide)
            crossed(z_, at_dx, wide, g_pre, 0, count)
            product(at_dx, pre_t, wide, at_dz, 0, count, LOWEST)
            _unnorm(
                h[turn * lit :], h_, wide, width, weights.norm[0], dz, count, grads.norm[0], grads.norm[1], dh
            )  # fmt: skip
        _gathered(features, i0, count, dgiven, wide, grads.given)
        if fresh[number]:
            _gathered(features, i0, count, dh, wide, grads.enter)
    held = len(h) + len(z) + len(u) + len(a) + len(sums) + len(inside) + len(message) + len(given) + len(blank)
    held += len(dh) + len(dz) + len(dx) + len(dgiven) + len(dinside) + len(dsums)
    return (mean_loss, solved) if held else (mean_loss[:0], solved)


class _Segment(torch.autograd.Function):
    """The mean loss, whose gradients are known with it."""

    @staticmethod
    def forward(ctx: Any, loss: float, grads: list[Tensor], *weights: Tensor) -> Tensor:
        ctx.grads = grads
        return torch.tensor(loss, dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        return (None, None, *(grad * own for own in ctx.grads))


def loss(module: Relational, pool: Pool, rows: Ints, heads: tuple[int, ...]) -> tuple[Tensor, NDArray[np.bool_]]:
    """As `pool.loss`: the mean cross-entropy of the cells of the states `rows`, and which states are solved."""
    named = dict(module.named_parameters())
    tensors = {name: value.detach().numpy() for name, value in named.items()}
    weights = Weights.of(tensors, module.width, module.kinds, module.literal_features, module.group_features)
    turned = weights._replace(
        **{name: np.ascontiguousarray(np.swapaxes(getattr(weights, name), -1, -2)) for name in _SQUARE}
    )
    grads = Weights(*(np.zeros_like(array) for array in weights))
    looked = np.isin(np.arange(1, module.rounds + 1), heads)
    cells = pool.cells(rows)
    scale = np.float32(1 / (cells * len(heads)))
    mean, solved = segment(
        rows, pool.age[rows] == 0, *pool.arrays, pool.hidden, weights, turned, grads, module.width, looked, scale
    )
    if not module.bounds:
        grads.score_bias[:] = 0  # every cell has its softmax: it says nothing
    found = grads.tensors(module.width)
    ordered = [torch.from_numpy(found[name]) for name in named]
    value: Tensor = _Segment.apply(mean.sum() / cells, ordered, *named.values())  # type: ignore[no-untyped-call]
    return value, solved


_SQUARE = ("pre", "inner", "message", "own", "out")
