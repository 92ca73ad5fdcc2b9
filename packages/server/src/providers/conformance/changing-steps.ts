import type { MessageSet } from '../changing.ts'
import { ProviderFailure } from '../failure.ts'
import type { MailProvider, MessageKey } from '../mail.ts'
import { type ChangingArrangement, requireMailbox } from './arrangement.ts'

export async function all<T>(steps: AsyncGenerator<T, void, void>): Promise<T[]> {
  const yielded: T[] = []
  for await (const step of steps) yielded.push(step)
  return yielded
}

/** Messages of INBOX, as an index has them. */
export async function inInbox(
  arranged: ChangingArrangement,
  keys: readonly MessageKey[],
): Promise<MessageSet> {
  const { source, cursor } = await arranged.index('INBOX')
  return { source, cursor, keys }
}

export async function keyOf(
  arranged: ChangingArrangement,
  mail: MailProvider,
  mailbox: string,
): Promise<string> {
  return requireMailbox(await mail.listMailboxes(), arranged.world.listedAs(mailbox)).key
}

export async function failureOf(promise: Promise<unknown>): Promise<ProviderFailure> {
  const outcome = await promise.then(
    () => new Error('nothing failed'),
    (error: unknown) => error,
  )
  if (outcome instanceof ProviderFailure) return outcome
  throw outcome
}
