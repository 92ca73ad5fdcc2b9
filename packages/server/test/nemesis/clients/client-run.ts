import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../seeded.ts'
import type { TestUser } from '../../servers/mail-server.ts'
import type { TrueMailbox, TrueMessage } from '../../servers/reference.ts'
import type { AddressBook } from '../address-books.ts'
import type { Bed } from '../bed.ts'
import type { History } from '../history.ts'
import type { RunCalendars } from '../run-calendars.ts'
import type { ApiClient } from './api-client.ts'

/** An account of a run. */
export interface RunAccount {
  id: string
  user: TestUser
  /** Whether the account itself mails invitations, since its calendar server does not. */
  isInviting?: boolean
}

/** An account that is compared with its provider in the end. */
export interface ComparedAccount extends RunAccount {
  /** All that the provider has, read past the service. */
  readTruth(): Promise<TrueMailboxes>
  /** The address book of the account; null if it has none. */
  book: AddressBook | null
  /** The calendars of the account; null if it has none that are followed. */
  calendars: RunCalendars | null
}

/** Mailboxes as their provider has them, with the flags of messages in the words of IMAP. */
export type TrueMailboxes = ReadonlyArray<
  Pick<TrueMailbox, 'path' | 'unseenCount'> & {
    messages: ReadonlyArray<Pick<TrueMessage, 'subject' | 'flags'>>
  }
>

/** Context of one client until the signal ends the run. */
export interface ClientRun {
  name: string
  bed: Bed
  api: ApiClient
  accounts: readonly RunAccount[]
  history: History
  random: Random
  signal: AbortSignal
}

/** A client that does one thing after the other until the run is over. */
export type RunClient = (run: ClientRun) => Promise<void>

/** Does something again and again, with a pause after each time, until the run is over. */
export async function keepDoing(
  { random, signal }: Pick<ClientRun, 'random' | 'signal'>,
  [from, to]: readonly [number, number],
  act: () => Promise<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    await act()
    await sleep(random.between(from, to), null, { signal }).catch(() => {})
  }
}
