// What the landing page trains, and shows as it stands here.
import * as sn from 'sinter';

const { losses, nn, optim, random } = sn;

/** Points (2n, 2) on two spirals, and which one each is on. */
export function spirals(n) {
  const t = sn.linspace(0.15, 1, n);
  const angle = t.mul(9);
  const spiral = sn.stack([angle.sin().mul(t), angle.cos().mul(t)], { axis: 1 });
  const noise = random.normal(random.key(1), [2 * n, 2]).mul(0.015);
  const points = sn.concat([spiral, spiral.neg()]).add(noise);
  return [points, sn.concat([sn.zeros([n]), sn.ones([n])])];
}

const net = nn.sequential(
  nn.linear(2, 32), nn.tanh(),
  nn.linear(32, 32), nn.tanh(),
  nn.linear(32, 1),
);
const logits = (params, x) => net.apply(params, x.mul(3)).reshape([-1]);

export const step = sn.trainStep(
  (params, x, y) => losses.binaryCrossEntropy(logits(params, x), y),
  optim.adam({ lr: 0.01 }),
);
export const begin = (seed) => step.init(net.init(random.key(seed)));

/** How likely places (n, 2) are on the second spiral. */
export const chance = sn.jit((params, places) => sn.sigmoid(logits(params, places)));
