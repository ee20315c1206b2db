// Questions to what knows the language of programs. Each carries the whole text: it is short, and nobody need keep count of
// changes. Places are numbers of letters from the beginning.

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

export interface Proposal {
  label: string;
  /** 'function', 'property', ...: what the editor has signs for. */
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
  /** Its declaration, as TypeScript writes it. */
  code: string;
  text: string;
}

export interface LanguageMethods {
  mistakes(text: string): Mistake[];
  /** explicit: somebody asked for them. */
  proposals(text: string, at: number, explicit: boolean): Proposals | null;
  /** Of one proposal at a place. */
  details(text: string, at: number, name: string): { code: string; text: string } | null;
  describe(text: string, at: number): Description | null;
}
