// The webcam, while it is in use. Its pictures stay in the page.

import { create } from '../views/dom.ts';

export class Camera {
  readonly video = create('video', 'camera');
  private stream: MediaStream | null = null;

  constructor() {
    this.video.muted = true;
    this.video.playsInline = true;
    this.video.hidden = true;
    this.video.setAttribute('aria-label', 'What the camera sees');
  }

  get isOn(): boolean {
    return this.stream !== null;
  }

  get size(): [number, number] {
    return [this.video.videoWidth || 1, this.video.videoHeight || 1];
  }

  async start(): Promise<void> {
    const devices = navigator.mediaDevices as MediaDevices | undefined;
    if (devices === undefined) throw new Error('This page may not use a camera: that needs https.');
    try {
      this.stream = await devices.getUserMedia({ video: true });
    } catch (error) {
      throw new Error(`There is no camera to use: ${error instanceof Error ? error.message : String(error)}.`);
    }
    this.video.srcObject = this.stream;
    this.video.hidden = false;
    await this.video.play();
  }

  stop(): void {
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.stream = null;
    this.video.srcObject = null;
    this.video.hidden = true;
  }
}
