import type { OwnedAccount } from '../../accounts/halves/ownership.ts'
import type { Db } from '../../database/pool.ts'
import type { Doubts } from '../doubts.ts'

/** A half of an account that is followed by looks over one connection. */
export interface LookSession<Provider> {
  db: Db
  owned: OwnedAccount
  provider: Provider
  /** Whether the first sync is complete: before it, nothing is announced. */
  isInitialized: boolean
  /** Whether somebody asked for this look, or the provider pushed that something changed. */
  isAsked: boolean
  signal: AbortSignal
  /** Called with every step that makes progress; a session that makes none is ended. */
  progressed(): void
  /** Allows a wait of this length, up to the next progress. */
  allow(seconds: number): void
  doubts: Doubts
}
