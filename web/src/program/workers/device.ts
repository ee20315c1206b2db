// The graphics processor of workers that run programs. Its code is loaded only where it is requested.

import * as sn from 'sinter';

/** A device for init; init continues without one if there is none. */
export async function graphicsDevice(): Promise<sn.Device> {
  const { webgpu } = await import('sinter/webgpu');
  return webgpu({ fallback: true });
}

/** After init: the reason why there is no device. */
export function whyNoDevice(): string {
  const why = sn.info().reasons.find((reason) => reason.includes('device: '));
  return why?.replace(/^.*?device: /, '') ?? 'there is no graphics processor';
}
