declare module 'virtual:rules' {
  /** For each rule of the passes, what it does. */
  export const RULES: Readonly<Record<string, string | undefined>>;
}
