// A program of the documentation that is served beside the page: ?doc=tutorials-memory-2. It comes from the same server as the
// page. The module is loaded when an address asks for one.

export async function read(name: string): Promise<string> {
  if (!/^[\w-]{1,80}$/.test(name)) throw new Error('the address has the name of a program that is damaged');
  const answer = await fetch(new URL(`docs/programs/${name}.js`, location.href)).catch(() => null);
  if (!answer?.ok || !/javascript/.test(answer.headers.get('content-type') ?? ''))
    throw new Error(`there is no program ${name} in the documentation beside this page`);
  return answer.text();
}
