// tasks.ts - work in several tasks, between which the browser paints and answers.

/** What is awaited so goes on in a task of its own. Not a timer: those wait for a second in tabs that nobody sees. */
export const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
