// The right-hand sides of the equations, and their initial states, as functions of the parameters.

import * as sn from 'sinter';
import type { EquationName } from '../equations.ts';

/** The two observed variables. In an epidemic, those who are neither infected nor recovered are susceptible. */
export type State = [sn.Tensor, sn.Tensor];

export interface System {
  begin(parameters: sn.Tensor[]): State;
  slope(state: State, parameters: sn.Tensor[]): State;
}

export const SYSTEMS: Record<EquationName, System> = {
  prey: {
    begin: ([, , , , x0, y0]) => [x0, y0],
    slope([x, y], [alpha, beta, gamma, delta]) {
      const met = x.mul(y);
      return [alpha.mul(x).sub(beta.mul(met)), delta.mul(met).sub(gamma.mul(y))];
    },
  },
  pendulum: {
    begin: ([, , angle, speed]) => [angle, speed],
    slope: ([angle, speed], [k, c]) => [speed, sn.neg(k.mul(sn.sin(angle)).add(c.mul(speed)))],
  },
  epidemic: {
    begin: ([, , infected]) => [infected, infected.mul(0)],
    slope([infected, recovered], [beta, gamma]) {
      const susceptible = sn.sub(1, infected).sub(recovered);
      const recoveries = gamma.mul(infected);
      return [beta.mul(susceptible).mul(infected).sub(recoveries), recoveries];
    },
  },
};
