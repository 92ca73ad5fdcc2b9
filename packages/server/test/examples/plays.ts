import { hasExample, type Language, LANGUAGES } from './run-example.ts'

/** An example that runs to its end, or one that is started, and goes on while others run. */
export type Step = string | { start: string; meanwhile: readonly string[] }

export interface Play {
  /** Folder below docs/examples, and page of docs/jobs. */
  job: string
  /** Scenes in their order. Each is played once in every language that its examples have. */
  scenes: readonly (readonly Step[])[]
}

/** The jobs in their order. All of them play in one world, with the account of ada@gmail.test. */
export const PLAYS: readonly Play[] = [
  { job: 'first-mailbox', scenes: [['account'], ['read'], ['send']] },
  { job: 'receive-by-webhook', scenes: [['register', { start: 'receive', meanwhile: ['deliver'] }, 'stop']] },
  { job: 'follow-changes', scenes: [[{ start: 'follow', meanwhile: ['deliver'] }]] },
  { job: 'send-once', scenes: [['send']] },
  { job: 'reply-in-thread', scenes: [[{ start: 'answer', meanwhile: ['deliver'] }]] },
  { job: 'mail-merge', scenes: [['merge']] },
  { job: 'connect-users', scenes: [['link', 'sign-in', 'outcome']] },
  { job: 'search', scenes: [['search']] },
  { job: 'ci', scenes: [['test']] },
  { job: 'go-to-production', scenes: [['look']] },
  { job: 'connect-microsoft', scenes: [['app', 'link', 'sign-in', 'outcome']] },
  { job: 'address-book', scenes: [[{ start: 'sync', meanwhile: ['change'] }]] },
  { job: 'events', scenes: [['series'], ['invite']] },
  { job: 'find-a-time', scenes: [['find']] },
]

/** The examples of a scene, in their order. */
export function namesOf(scene: readonly Step[]): string[] {
  return scene.flatMap(step => (typeof step === 'string' ? [step] : [step.start, ...step.meanwhile]))
}

/** The languages in which a scene is played: those that any of its examples has. */
export function languagesOf(job: string, scene: readonly Step[]): Language[] {
  const names = namesOf(scene)
  return LANGUAGES.filter(language => names.some(name => hasExample(job, name, language)))
}

/** An example that is not written in the language of its scene is a command for the shell, or else a server in TypeScript. */
export function languageOf(job: string, name: string, language: Language): Language {
  return [language, 'sh' as const, 'ts' as const].find(each => hasExample(job, name, each)) ?? language
}
