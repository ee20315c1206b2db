// The graphics processor of workers that run programs. What it needs is loaded where it is asked for, and only there.

import * as sn from 'sinter';

/** For init; where there is none, that goes on without. */
export async function graphicsDevice(): Promise<sn.Device> {
  const { webgpu } = await import('sinter/webgpu');
  return webgpu({ fallback: true });
}

/** After init: why there is none. */
export function whyNoDevice(): string {
  const why = sn.info().reasons.find((reason) => reason.includes('device: '));
  return why?.replace(/^.*?device: /, '') ?? 'there is no graphics processor';
}
