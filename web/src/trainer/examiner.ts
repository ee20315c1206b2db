// Looks at a network during training: regular examinations, done in parts so that commands get in between, and other things
// that the network can show. The state that it looks at is on the CPU; the session's `bring` copies it there.

export interface Examiner {
  /** Compiles the programs of examinations, so that memory stays constant from the first steps on. */
  rehearse(): void;
  /** Shows everything before the next step; called when training begins or pauses. */
  atRest?(): void;
  readonly due: boolean;
  /** Does the next part of an examination; call until `due` is false. */
  advance(): void;
  /** Does a short examination at once. */
  quick(): void;
  /** Whether `show` has something to do. */
  readonly wantsToShow: boolean;
  /** Called between slices of training; may take about this many ms. */
  show(forMs: number): void;
  /** The class probabilities of an image with values in [0, 1]; null if the examiner knows no images. */
  classify(pixels: Float32Array): Float32Array | null;
  dispose(): void;
}

/** Combines several examiners into one. */
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
