// Names for the inputs of an automaton's circuit: the channel, and the place in the window.

const ARROWS = '↖↑↗←·→↙↓↘';
const SIDES = ['above left', 'above', 'above right', 'left', 'here', 'right', 'below left', 'below', 'below right'];

/** The channel, and an arrow for the place in the window. */
export const inputName = (signal: number): string => `${Math.floor(signal / 9)} ${ARROWS[signal % 9]}`;

export const inputTitle = (name: string): string => {
  const [channel, arrow] = name.split(' ');
  return `channel ${channel}, ${SIDES[ARROWS.indexOf(arrow)]}`;
};
