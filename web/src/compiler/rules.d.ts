declare module 'virtual:rules' {
  /** Per rule of the passes what it does. */
  export const RULES: Readonly<Record<string, string | undefined>>;
}
