// The part of the page's address that belongs to the tab: its page, the automaton's target and settings, or the example or text
// of rules. Its content is untrusted; missing parts have defaults.

import { changeQuery } from '../views/dom.ts';
import { beginningOf } from '../views/format.ts';
import { readPicture, writePicture } from './automaton/pictures.ts';
import { MOST_TEMPERATURE, isSemantics, type Semantics } from './rules/protocol.ts';
import { FIRST, MOST_BATCH, MOST_RATE, MOST_SEED, TARGETS, defaults, isTarget, type Settings } from './automaton/targets.ts';

/** The most characters of a text in the address. The browser's tab keeps a longer one, and the address says so. */
const MOST_TEXT = 4000;
const KEPT = 'sinter-rules';
const LONG = 'too-long';

export type LogicPage = 'automaton' | 'rules';

const query = (): URLSearchParams => new URLSearchParams(location.search);

/** Sets the parameters with a value, and removes those that are null. */
const put = (values: Record<string, string | null>): void =>
  changeQuery((next) => {
    for (const [name, value] of Object.entries(values))
      if (value === null) next.delete(name);
      else next.set(name, value);
  });

export const readPage = (): LogicPage => (query().get('logic') === 'rules' ? 'rules' : 'automaton');

/** The beginning of what the address asks for, if there is no such page; otherwise null. */
export const unknownPage = (): string | null => {
  const asked = query().get('logic');
  return asked === null || asked === readPage() ? null : beginningOf(asked);
};

export const writePage = (page: LogicPage): void => put({ logic: page === 'rules' ? page : null });

export interface Asked {
  settings: Settings;
  /** Names of what could not be read. */
  damaged: string[];
}

export function readSettings(picture: number[][]): Asked {
  const given = query();
  const damaged: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | null, otherwise: T): T => {
    const text = given.get(name);
    if (text === null) return otherwise;
    const value = parse(text);
    if (value === null) damaged.push(name);
    return value ?? otherwise;
  };
  const whole = (least: number, most: number) => (text: string) =>
    /^\d{1,7}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : null;
  const share = (text: string): number | null => (/^[\d.e-]{1,12}$/.test(text) && Number(text) > 0 && Number(text) <= MOST_RATE ? Number(text) : null);
  const target = read('target', (text) => (isTarget(text) ? text : null), FIRST);
  const first = defaults(target, picture);
  const settings: Settings = {
    target,
    seed: read('seed', whole(0, MOST_SEED), first.seed),
    learningRate: read('rate', share, first.learningRate),
    batch: read('batch', whole(1, MOST_BATCH), first.batch),
    asynchronous: read('cells', (text) => (text === 'some' ? TARGETS[target].canBeAsynchronous : null), first.asynchronous),
    picture: read('picture', readPicture, picture),
  };
  return { settings, damaged };
}

/** Writes only what differs from the target's defaults. */
export function writeSettings(settings: Settings): void {
  const first = defaults(settings.target, settings.picture);
  const unless = (same: boolean, text: string): string | null => (same ? null : text);
  put({
    target: unless(settings.target === FIRST, settings.target),
    seed: unless(settings.seed === first.seed, String(settings.seed)),
    rate: unless(settings.learningRate === first.learningRate, String(settings.learningRate)),
    batch: unless(settings.batch === first.batch, String(settings.batch)),
    cells: unless(!settings.asynchronous, 'some'),
    picture: TARGETS[settings.target].drawn ? writePicture(settings.picture) : null,
  });
}

export interface AskedRules {
  example: string | null;
  text: string | null;
  /** null: that of the example. */
  semantics: Semantics | null;
  temperature: number | null;
}

/** Keeps a long text for a reload of the tab. Returns what the address says of it. */
function keepLong(text: string): string {
  try {
    sessionStorage.removeItem(KEPT); // not to be taken for a text that does not fit
    sessionStorage.setItem(KEPT, text);
  } catch {
    // A browser without storage, or a full one: a reload begins with the example.
  }
  return LONG;
}

function keptLong(): string | null {
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** What the address asks for, and the names of what could not be read. */
export function readRules(): AskedRules & { damaged: string[] } {
  const given = query();
  const damaged: string[] = [];
  const read = <T>(name: string, parse: (text: string) => T | null): T | null => {
    const text = given.get(name);
    const value = text === null ? null : parse(text);
    if (text !== null && value === null) damaged.push(name);
    return value;
  };
  return {
    example: given.get('rules'),
    text: read('program', (text) => (text === LONG ? keptLong() : text.length <= MOST_TEXT ? text : null)),
    semantics: read('semantics', (name) => (isSemantics(name) ? name : null)),
    temperature: read('temperature', (heat) => (/^\d[\d.e-]{0,23}$/.test(heat) && Number(heat) <= MOST_TEMPERATURE ? Number(heat) : null)),
    damaged,
  };
}

/** Writes the example, and what replaces its text and settings; null: those of the example. */
export const writeRules = ({ example, text, semantics, temperature }: AskedRules): void =>
  put({
    rules: example,
    program: text !== null && text.length > MOST_TEXT ? keepLong(text) : text,
    semantics,
    temperature: temperature === null ? null : String(temperature),
  });
