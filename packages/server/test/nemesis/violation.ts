import type { Evidence } from './evidence.ts'

/** The promise that a check watches; docs/nemesis.md has each in words. */
export type Invariant =
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  | 'I7'
  | 'I8'
  | 'I9'
  | 'I12'
  | 'I13'
  | 'I14'
  | 'I15'
  | 'I16'
  | 'I17'

export interface Violation {
  invariant: Invariant
  message: string
}

/** Judges a run. It is pure: the same evidence always has the same violations. */
export type Check = (evidence: Evidence) => Violation[]
