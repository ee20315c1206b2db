// A loop is one node; what it does in a round is inside.
// Its gradient is another one, from the last round back
// to the first, of the values that the first one keeps.

import * as sn from 'sinter';

const dt = 0.02;

function swing(angle: sn.Tensor, friction: sn.Tensor) {
  const step = ([angle, speed]: readonly [sn.Tensor, sn.Tensor]) => {
    const force = sn.sin(angle).mul(-9.81)
      .sub(speed.mul(friction));
    const faster = speed.add(force.mul(dt));
    const next = angle.add(faster.mul(dt));
    return [[next, faster], next] as const;
  };
  const start = [angle, sn.tensor(0)] as const;
  const [, path] = sn.scan(step, start, null, { length: 200 });
  return path.square().mean();
}

export const program = sn.valueAndGrad(swing, { argnums: [0, 1] });

export const inputs = [sn.tensor(1.2), sn.tensor(0.3)];
