import { hasExample, type Language, LANGUAGES } from './run-example.ts'

/** An example that runs to its end, or one that goes on until those after it in its scene have run. */
export type Step = string | { during: string }

export interface Play {
  /** Folder below docs/examples, and page of docs/jobs. */
  job: string
  /** The address of the account `ACCOUNT`. */
  mailbox: string
  /** Scenes in their order. Each is played once in every language that one of its examples has. */
  scenes: readonly (readonly Step[])[]
}

/** The jobs in their order. All of them play in one world. */
export const PLAYS: readonly Play[] = [
  { job: 'first-mailbox', mailbox: 'ada@gmail.test', scenes: [['account'], ['read'], ['send']] },
]

export function nameOf(step: Step): string {
  return typeof step === 'string' ? step : step.during
}

/** The languages in which a scene is played. */
export function languagesOf(job: string, scene: readonly Step[]): Language[] {
  return LANGUAGES.filter(language => scene.some(step => hasExample(job, nameOf(step), language)))
}

/** A step that is not written in the language of its scene is a command for the shell. */
export function languageOf(job: string, step: Step, language: Language): Language {
  return hasExample(job, nameOf(step), language) ? language : 'sh'
}
