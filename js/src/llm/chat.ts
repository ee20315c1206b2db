// Chats: the template in the model's file, written in Jinja, turns messages into a text. The package has no dependencies, so
// the caller gives the renderer: the class Template of @huggingface/jinja, or a function.

import { SinterError, internals } from '../index.js';

export interface ChatMessage {
  role: string;
  content: string;
}

/** What a template receives. */
export interface ChatContext {
  messages: readonly ChatMessage[];
  /** Whether the text ends with the beginning of an answer. */
  add_generation_prompt: boolean;
  bos_token: string;
  eos_token: string;
}

/** A function that makes the text, or a class whose instances render a template's text. */
export type ChatTemplate = ((context: ChatContext) => string) | (new (template: string) => { render(context: Record<string, unknown>): string });

const isClass = (template: unknown): template is new (template: string) => { render(context: Record<string, unknown>): string } =>
  typeof template === 'function' && typeof (template.prototype as { render?: unknown } | undefined)?.render === 'function';

function checkMessages(op: string, messages: unknown): void {
  const isRight = Array.isArray(messages) && messages.length > 0 && messages.every((each: unknown) => {
    const { role, content } = (each ?? {}) as Partial<ChatMessage>;
    return typeof role === 'string' && typeof content === 'string';
  });
  if (!isRight) throw new SinterError('argument', op, `messages is ${internals.shown(messages)}, expected [{ role, content }]`);
}

/** What make returns, which calls the template of the file. A template may be broken, or refuse the messages. */
function rendered(op: string, make: () => unknown): unknown {
  try {
    return make();
  } catch (cause) {
    throw new SinterError('argument', op, `the chat template of the file failed: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

/** The text of messages. source: the template's text in the file, if there is one. */
export function renderChat(op: string, template: unknown, source: unknown, context: ChatContext): string {
  checkMessages(op, context.messages);
  if (typeof template !== 'function')
    throw new SinterError('argument', op, 'needs the option template', { hint: "import { Template } from '@huggingface/jinja'; { template: Template }" });
  let text: unknown;
  if (isClass(template)) {
    if (typeof source !== 'string') throw new SinterError('argument', op, 'the file has no tokenizer.chat_template', { hint: 'give a function: template: ({ messages }) => ...' });
    text = rendered(op, () => new template(source).render({ ...context }));
  } else text = (template as (context: ChatContext) => unknown)(context);
  if (text === '') throw new SinterError('argument', op, 'the template made no text of the messages');
  if (typeof text === 'string') return text;
  throw new SinterError('argument', op, `the template made ${internals.shown(text)}, expected a text`);
}
