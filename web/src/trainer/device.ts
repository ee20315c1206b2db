// Where training runs: on the CPU, on the graphics processor, or on the faster of the two. What the latter needs is loaded
// where it is asked for, and only there; where there is none, training runs on the CPU, and why is said.

import * as sn from 'sinter';
import type { TrainedOn } from '../state/protocol.ts';

/** For init: undefined where only the CPU is asked for. */
export async function deviceFor(asked: TrainedOn): Promise<sn.Device | undefined> {
  if (asked === 'cpu') return undefined;
  const { webgpu } = await import('sinter/webgpu');
  return webgpu({ fallback: true });
}

/** After init: what there is of what was asked for. */
export const deviceFound = (asked: TrainedOn): TrainedOn => (sn.info().device === null ? 'cpu' : asked);

const timed = (ms: number | undefined): string => (ms === undefined ? '' : ` (${ms.toPrecision(3)} ms)`);

/** In a sentence, after a program was made: where it runs, and why there; '' where nothing else was asked for. */
export function sayDevice(asked: TrainedOn): string {
  if (asked === 'cpu') return '';
  const { device, reasons } = sn.info();
  if (device === null) {
    const why = reasons.find((reason) => reason.includes('device: ')) ?? 'there is no graphics processor';
    return `Runs on the CPU: ${why.replace(/^.*?device: /, '')}.`;
  }
  const { adapter, choices } = device;
  if (asked === 'webgpu') return `Runs on the graphics processor: ${adapter}.`;
  const choice = choices.filter(({ op }) => op === 'trainStep').at(-1);
  if (choice === undefined) return `Runs on the CPU, until it is known whether ${adapter} is faster.`;
  if (choice.reason !== 'measured') return `Runs on the CPU: ${choice.reason}.`;
  const [cpu, there] = [`the CPU${timed(choice.cpuMs)}`, `${adapter}${timed(choice.deviceMs)}`];
  return choice.device === 'cpu' ? `Runs on ${cpu}, which is faster than ${there}.` : `Runs on ${there}, which is faster than ${cpu}.`;
}
