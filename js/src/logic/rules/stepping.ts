// Runs the rounds of solve one by one, each a call of a compiled program: for pages that show facts as they are derived, and to
// find the round in which a fact was derived.

import * as sn from '../../index.js';
import type { Tensor } from '../../index.js';
import type { Relation } from './check.js';
import { differs, isOfRules, naiveRound, roundOf, union, type Setting, type Tensors } from './fixpoint.js';
import type { Component } from './strata.js';

/** The inputs of the programs of all rounds. */
export interface Inputs<F> {
  readonly facts: F;
  readonly params: Readonly<Record<string, Tensor>>;
  readonly temperature: Tensor | null;
}

export interface Step {
  /** The number of rounds so far that derived something; 0 for the facts alone. */
  readonly iteration: number;
  readonly known: Tensors;
  /** The relations of the round's component. */
  readonly of: readonly Relation[];
  /** What is new, in the form in which relations are kept; null for semantics with numbers. */
  readonly deltas: Tensors | null;
}

interface Made {
  known: Tensors;
  deltas: Tensors | null;
  goesOn: Tensor;
}

type Round<F> = ((inputs: Inputs<F>, known: Tensors, deltas: Tensors | null) => Made) & { dispose(): void };

export class Stepping<F> {
  readonly #relations: readonly Relation[];
  readonly #components: readonly Component[];
  readonly #begin: ((inputs: Inputs<F>) => Tensors) & { dispose(): void };
  readonly #rounds: Round<F>[];
  readonly #maxRounds: number;
  readonly #endless: () => Error;

  constructor(
    relations: readonly Relation[],
    components: readonly Component[],
    limit: { maxRounds: number; endless: () => Error },
    enter: (inputs: Inputs<F>) => { setting: Setting; facts: Tensors },
  ) {
    this.#relations = relations;
    this.#components = components;
    this.#maxRounds = limit.maxRounds;
    this.#endless = limit.endless;
    this.#begin = sn.jit((inputs: Inputs<F>) => {
      const { setting, facts } = enter(inputs);
      return Object.fromEntries(relations.map((relation) => [relation.name, facts[relation.name] ?? setting.empty(relation)]));
    });
    this.#rounds = components.map((component) => sn.jit((inputs: Inputs<F>, known: Tensors, deltas: Tensors | null): Made => {
      const { setting, facts } = enter(inputs);
      if (setting.algebra.dtype !== 'bool' || !isOfRules(component)) {
        const next = { ...known, ...naiveRound(component, setting, facts, known) };
        const changes = component.relations.map(({ name }) => differs(next[name]!, known[name]!, setting.tolerance));
        return { known: next, deltas: null, goesOn: changes.reduce((a, b) => sn.logicalOr(a, b)) };
      }
      const made = roundOf(component, setting, known, deltas);
      const goesOn = Object.values(made).map((t) => sn.any(t)).reduce((a, b) => sn.logicalOr(a, b), sn.tensor(false));
      return { known: { ...known, ...union(known, made) }, deltas: made, goesOn };
    }));
  }

  /** Yields what is known at the start, and after each round that derives something. The tensors are disposed before the
   *  next round is yielded. */
  *run(inputs: Inputs<F>): Generator<Step> {
    let state: Made = { known: sn.keep(this.#begin(inputs)), deltas: null, goesOn: sn.keep(sn.tensor(true)) };
    let iteration = 0;
    try {
      yield { iteration, known: state.known, of: this.#relations, deltas: null };
      for (const [i, component] of this.#components.entries()) {
        for (let round = 0; ; round++) {
          const next = sn.keep(sn.tidy(() => this.#rounds[i]!(inputs, state.known, round === 0 ? null : state.deltas)));
          sn.dispose(state);
          state = next;
          if (!state.goesOn.item()) break;
          if (round >= this.#maxRounds) throw this.#endless();
          yield { iteration: ++iteration, known: state.known, of: component.relations, deltas: state.deltas };
          if (!component.recursive) break;
        }
      }
    } finally {
      sn.dispose(state);
    }
  }

  dispose(): void {
    for (const f of [this.#begin, ...this.#rounds]) f.dispose();
  }
}
