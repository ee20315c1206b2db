// Pictures to learn: some to choose from, and their form in addresses.

/** Cells per side of a drawn picture. */
export const SIDE = 12;

const GLYPHS: Record<string, string> = {
  heart: `
    ............
    ..##....##..
    .####..####.
    .##########.
    .##########.
    .##########.
    ..########..
    ...######...
    ....####....
    .....##.....
    ............
    ............`,
  smile: `
    ............
    ...######...
    ..#......#..
    .#.#....#.#.
    .#........#.
    .#........#.
    .#.#....#.#.
    .#..####..#.
    ..#......#..
    ...######...
    ............
    ............`,
  invader: `
    ............
    ..#......#..
    ...#....#...
    ..########..
    .##.####.##.
    ############
    #.########.#
    #.#......#.#
    ...##..##...
    ............
    ............
    ............`,
  ring: `
    ............
    ....####....
    ..########..
    ..###..###..
    .###....###.
    .##......##.
    .##......##.
    .###....###.
    ..###..###..
    ..########..
    ....####....
    ............`,
};

const rowsOf = (text: string): number[][] =>
  text
    .trim()
    .split('\n')
    .map((row) => [...row.trim()].map((sign) => Number(sign === '#')));

/** Pictures by name. */
export const PICTURES: ReadonlyMap<string, number[][]> = new Map(Object.entries(GLYPHS).map(([name, text]) => [name, rowsOf(text)]));

export const emptyPicture = (): number[][] => Array.from({ length: SIDE }, () => new Array<number>(SIDE).fill(0));

/** The picture as text: three hexadecimal digits per row. */
export const writePicture = (picture: readonly number[][]): string =>
  picture.map((row) => parseInt(row.join(''), 2).toString(16).padStart(SIDE / 4, '0')).join('');

/** The picture in a text; null if the text is not valid, or the picture is empty. */
export function readPicture(text: string): number[][] | null {
  const digits = SIDE / 4;
  if (!new RegExp(`^[0-9a-f]{${digits * SIDE}}$`).test(text)) return null;
  const row = (y: number): number[] =>
    [...parseInt(text.slice(digits * y, digits * (y + 1)), 16).toString(2).padStart(SIDE, '0')].map(Number);
  const picture = Array.from({ length: SIDE }, (_, y) => row(y));
  return isEmpty(picture) ? null : picture;
}

export const isEmpty = (picture: readonly number[][]): boolean => !picture.some((row) => row.includes(1));
