// Work in several tasks, between which the browser paints and handles events.

/** Await this to continue in a new task. It is not a timer: in hidden tabs, those wait for a second. */
export const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
