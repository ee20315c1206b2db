// Looks at a network while it is trained: examinations that are due now and then, in parts, so that commands
// get in between, and whatever else the network can show. The state that it looks at lies on the CPU: `bring` of a session.

export interface Examiner {
  /** Compiles what examinations run, so that memory stays constant from the first steps on. */
  rehearse(): void;
  /** Shows all that there is to see before the next step, where training begins or pauses. */
  atRest?(): void;
  readonly due: boolean;
  /** Does the next part of what is due; call until `due` is false. */
  advance(): void;
  /** A short examination, at once. */
  quick(): void;
  /** Whether `show` has something to do. */
  readonly wantsToShow: boolean;
  /** Between slices of training, for about this long. */
  show(forMs: number): void;
  /** Class probabilities of an image with values in [0, 1]; null from examiners that know no images. */
  classify(pixels: Float32Array): Float32Array | null;
  dispose(): void;
}

/** Several as one. */
export const together = (all: readonly Examiner[]): Examiner => ({
  rehearse: () => all.forEach((each) => each.rehearse()),
  atRest: () => all.forEach((each) => each.atRest?.()),
  get due() {
    return all.some((each) => each.due);
  },
  advance: () => all.find((each) => each.due)?.advance(),
  quick: () => all.forEach((each) => each.quick()),
  get wantsToShow() {
    return all.some((each) => each.wantsToShow);
  },
  show: (forMs) => all.forEach((each) => each.wantsToShow && each.show(forMs)),
  classify: (pixels) => {
    for (const each of all) {
      const found = each.classify(pixels);
      if (found !== null) return found;
    }
    return null;
  },
  dispose: () => all.forEach((each) => each.dispose()),
});
