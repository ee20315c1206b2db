// The questions to the TypeScript service, with their answers. Each question carries the whole text: it is short, and so nobody
// has to track changes. Positions are numbers of characters from the beginning.

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

export interface Proposal {
  label: string;
  /** The kind, 'function', 'property', ...: one for which the editor has an icon. */
  type: string;
  /** Smaller ones stand first. */
  order: number;
}

export interface Proposals {
  from: number;
  options: Proposal[];
}

export interface Description {
  from: number;
  to: number;
  /** The declaration, as TypeScript writes it. */
  code: string;
  text: string;
}

export interface LanguageMethods {
  mistakes(text: string): Mistake[];
  /** explicit: the user asked for proposals. */
  proposals(text: string, at: number, explicit: boolean): Proposals | null;
  /** The details of one proposal at a position. */
  details(text: string, at: number, name: string): { code: string; text: string } | null;
  describe(text: string, at: number): Description | null;
}
